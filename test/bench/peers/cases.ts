/**
 * The kinds of cases: hits in memory; misses, and misses that nginx and Varnish store as toncache does; hits that are
 * only in Redis; hits and misses of further operations.
 */
export const KINDS = ['hits', 'misses', 'stored', 'redis', 'further'] as const;
export type Kind = (typeof KINDS)[number];
type Load = Exclude<Kind, 'further'>;

/** Typical sizes of answers in KB: small, usual, and the largest traces. */
const SIZES_KB = [2, 20, 200];

/** One load by which all servers are compared. */
export interface Case {
  /** Its name in the table; cases that differ only in size share one title. */
  readonly title: string;
  readonly load: Load;
  /** True for further operations, false for those that are always cached. */
  readonly further: boolean;
  readonly sizeKb: number;
  /** The number of URLs that hits are spread over. */
  readonly urls: number;
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
  // All answers together fit into the default of 256 MiB, and pages of blocks into their part of it.
  return SIZES_KB.map((sizeKb) => ({
    title: title + (gzip ? ', gzip' : ''),
    load,
    further,
    sizeKb,
    gzip,
    urls: sizeKb > 100 ? 200 : 500,
  }));
}
