import { randomUUID } from 'node:crypto';
import type { RequestHeaders } from '../ton/parse-call.ts';

/** A request's target, taken apart. */
export interface Target {
  readonly path: string;
  /** What follows `?`, undecoded; empty when there is none. */
  readonly rawQuery: string;
  /** Path and query, byte for byte. */
  readonly originForm: string;
}

/** Splits the request target, in origin form or absolute form (RFC 9112 3.2). */
export function parseTarget(url: string): Target {
  const origin = /^https?:\/\/[^/?]*/i.exec(url)?.[0] ?? '';
  const mark = url.indexOf('?');
  const end = mark < 0 ? url.length : mark;
  const originForm = url.slice(origin.length);
  return { path: url.slice(origin.length, end), rawQuery: url.slice(end + 1), originForm };
}

/** Whether a target lies in the indexer's API at all. */
export function isOfApi({ path }: Target): boolean {
  return path.toLowerCase().startsWith('/api/v3/');
}

/** The client's own request id if it is short and plain enough to be sent back, else a new one. */
export function requestId(headers: RequestHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
}

/** The entity tags of a list, each without its `W/`. */
export function tagsIn(list: string): readonly string[] {
  // Not split at commas: an entity tag may hold one.
  return list.match(/(?:W\/)?"[^"]*"/g)?.map((tag) => tag.replace(/^W\//, '')) ?? [];
}
