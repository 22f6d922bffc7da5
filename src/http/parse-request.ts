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

/** The entity tags of a list, each without its `W/`. */
export function tagsIn(list: string): readonly string[] {
  // Not split at commas: an entity tag may hold one.
  return list.match(/(?:W\/)?"[^"]*"/g)?.map((tag) => tag.replace(/^W\//, '')) ?? [];
}
