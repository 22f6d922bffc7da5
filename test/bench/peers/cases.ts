/** The kind of load: hits in memory, misses, hits that are in Redis alone. */
export const KINDS = ['hits', 'misses', 'redis'] as const;
export type Kind = (typeof KINDS)[number];

/** Sizes of answers in KB, as indexers send them: a small one, a usual one, the largest traces. */
const SIZES_KB = [2, 20, 200];

/** One load that all servers are compared by. */
export interface Case {
  /** As the table names it; cases that differ in size only have one title. */
  readonly title: string;
  readonly kind: Kind;
  readonly sizeKb: number;
  /** The number of URLs that hits are spread over. */
  readonly urls: number;
  /** Whether the client sends `Accept-Encoding: gzip`. */
  readonly gzip: boolean;
}

const TITLES = { hits: 'hits, 500 URLs', misses: 'misses', redis: 'hits in Redis alone' };

/** All cases of these kinds, in the order of the table. */
export function casesOf(kinds: readonly Kind[]): Case[] {
  return kinds.flatMap((kind) =>
    [false, true].flatMap((gzip) => {
      const title = TITLES[kind] + (gzip ? ', gzip' : '');
      // All answers together fit into the 256 MiB that toncache has by default.
      return SIZES_KB.map((sizeKb) => ({ title, kind, sizeKb, gzip, urls: sizeKb > 100 ? 200 : 500 }));
    }),
  );
}
