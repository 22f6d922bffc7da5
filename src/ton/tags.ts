import type { CanonicalRequest } from './canonical-request.ts';

/** The kinds of values that a purge can name, besides everything. A seqno is that of a masterchain block. */
export type Named = 'seqno' | 'hash' | 'account';

/** How an operation reads the tags of a request. */
export type ReadTags = (request: CanonicalRequest) => readonly string[];

/** The tag of entries whose requests name a value, such as `seqno:7`. Instances exchange purges with it. */
export function tagOf(named: Named, value: string | number): string {
  return `${named}:${value}`;
}

/** The accounts that the requests of entries with these tags name. */
export function accountsIn(tags: readonly string[]): readonly string[] {
  return tags.flatMap((tag) => (tag.startsWith('account:') ? [tag.slice('account:'.length)] : []));
}

/** The tags of a request, from its parameters that a purge can name. */
export function tagsOfParameters(
  { query }: CanonicalRequest,
  namedBy: Readonly<Record<string, Named>>,
): readonly string[] {
  return query.flatMap(([name, value]) => {
    const named = namedBy[name];
    return named === undefined ? [] : [tagOf(named, value)];
  });
}
