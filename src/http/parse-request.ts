import { MOST_BODY_BYTES } from '../ton/operation.ts';
import type { RequestHeaders } from '../ton/parse-call.ts';

/** The parts of a request's target. */
export interface Target {
  readonly path: string;
  /** The text after `?`, undecoded; empty without one. */
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

/** True if a path in any case lies below one of these prefixes, which are in lower case and end in a slash. */
export function isBelow(prefixes: readonly string[], { path }: Target): boolean {
  const lowered = path.toLowerCase();
  return prefixes.some((prefix) => lowered.startsWith(prefix));
}

/** JSON in UTF-8, which is its only encoding. */
const OF_JSON = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i;

/** True if the body of a request may have the form of an operation, judged by its headers. */
export function mayHoldForm(headers: RequestHeaders): boolean {
  const isShort = Number(headers['content-length'] ?? 0) <= MOST_BODY_BYTES;
  return isShort && headers['content-encoding'] === undefined && OF_JSON.test(String(headers['content-type']));
}

/** The entity tags of a list, each without its `W/`. */
export function tagsIn(list: string): readonly string[] {
  // Not split at commas: an entity tag may contain one.
  return list.match(/(?:W\/)?"[^"]*"/g)?.map((tag) => tag.replace(/^W\//, '')) ?? [];
}

/**
 * One member of the list: a coding, `identity` or `*`, and its weight (RFC 9110 12.4.2). No part of it matches blanks
 * in two ways, so the time to match a member grows with its length, not with the square of its length.
 */
const MEMBER = /^[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:[ \t]*;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?[ \t]*$/i;

/**
 * True if a client gets gzip by its `Accept-Encoding` (RFC 9110 12.5.3): it accepts gzip, and does not prefer
 * `identity`, which ranks below gzip unless it or `*` is named. Malformed members are ignored; for a coding that is
 * named twice the greater weight counts.
 */
export function acceptsGzip(acceptEncoding = ''): boolean {
  const weights = new Map<string, number>();
  for (const member of acceptEncoding.split(',')) {
    const [, given, weight = '1'] = MEMBER.exec(member) ?? [];
    if (given === undefined) continue;
    const lowered = given.toLowerCase();
    // RFC 9110 8.4.1.3: `x-gzip` means gzip.
    const name = lowered === 'x-gzip' ? 'gzip' : lowered;
    weights.set(name, Math.max(weights.get(name) ?? 0, Number(weight)));
  }
  const others = weights.get('*');
  const weight = weights.get('gzip') ?? others ?? 0;
  return weight > 0 && weight >= (weights.get('identity') ?? others ?? 0);
}
