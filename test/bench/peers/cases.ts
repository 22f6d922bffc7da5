/**
 * What can be measured alone: hits in memory; misses, and those that nginx and Varnish store as toncache does; hits that are in
 * Redis alone; hits and misses of further operations.
 */
export const KINDS = ['hits', 'misses', 'stored', 'redis', 'further'] as const;
export type Kind = (typeof KINDS)[number];
type Load = Exclude<Kind, 'further'>;

/** Sizes of answers in KB, as indexers send them: a small one, a usual one, the largest traces. */
const SIZES_KB = [2, 20, 200];

/** One load that all servers are compared by. */
export interface Case {
  /** As the table names it; cases that differ in size only have one title. */
  readonly title: string;
  readonly load: Load;
  /** Whether further operations are asked, instead of those that are always cached. */
  readonly further: boolean;
  readonly sizeKb: number;
  /** The number of URLs that hits are spread over. */
  readonly urls: number;
  /** Whether the client sends `Accept-Encoding: gzip`. */
  readonly gzip: boolean;
}

const TITLES: Readonly<Record<Load, string>> = {
  hits: 'hits, 500 URLs',
  misses: 'misses',
  stored: 'misses that are stored',
  redis: 'hits in Redis alone',
};

/** All cases of these kinds, in the order of the table. */
export function casesOf(kinds: readonly Kind[]): Case[] {
  return kinds.flatMap((kind) => {
    if (kind !== 'further') return [false, true].flatMap((gzip) => ofAllSizes(TITLES[kind], { load: kind, gzip }));
    return (['hits', 'misses'] as const).flatMap((load) =>
      ofAllSizes(`further operations, ${load}`, { load, further: true }),
    );
  });
}

function ofAllSizes(
  title: string,
  { load, further = false, gzip = false }: Pick<Case, 'load'> & Partial<Case>,
): Case[] {
  // All answers together fit into the 256 MiB that toncache has by default, and pages of blocks into their part of it.
  return SIZES_KB.map((sizeKb) => ({
    title: title + (gzip ? ', gzip' : ''),
    load,
    further,
    sizeKb,
    gzip,
    urls: sizeKb > 100 ? 200 : 500,
  }));
}
