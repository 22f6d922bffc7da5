import { isObject, type JsonObject } from '../json-object.ts';
import type { CanonicalRequest } from './canonical-request.ts';
import { lacksStateBefore } from './final-rows.ts';
import { type Finality, isFinal } from './finality.ts';
import { type AnswerClass, ROWS } from './lifetime-table.ts';
import { isAscending, isFull } from './lists.ts';
import { readLt } from './lt.ts';

/** How complete an answer is, to compare two answers to one call: by order, then by its rows, then by rank. */
export interface AnswerCompleteness {
  /**
   * How new the state or page in the answer is: a logical time of 64 bits, or {@link orderOfPage}. `undefined` if it
   * cannot be read, and if answers have none.
   */
  readonly order?: bigint | undefined;
  /** 0 to 3, by the answer's class; or the seqno of its newest block. */
  readonly rank: number;
  /** Hashes of the final transactions of a list that only ever gains rows; empty for all other answers. */
  readonly hashes: readonly string[];
  /** Hashes of the other transactions of such a list: pending ones can still be invalidated. */
  readonly tentativeHashes: readonly string[];
  /**
   * The newest transaction of each account in a list that may rightly lack one: a list with an earlier one and no later
   * one is less complete. Counts instead of everything else.
   */
  readonly states?: readonly (readonly [account: string, lt: bigint])[] | undefined;
  /** True if a row lacks the state of its account, which may be filled in: the same rows with it are more complete. */
  readonly lacksStates?: boolean;
}

/** How an operation reads the completeness of an answer to a request, a 200 or a 404, from its finality and its body. */
export type ReadCompleteness = (finality: Finality, body: JsonObject, request: CanonicalRequest) => AnswerCompleteness;

const LT_BITS = 64n;
const COUNT_BITS = 16n;

const HIGHEST_LT = 2n ** LT_BITS - 1n;

/**
 * The order of the first page of rows that `sort` puts in order, by their logical times. Rows are committed out of
 * order, so a page can gain a row between its others. Then it has one more row, or, if it is full, it loses the last
 * one.
 *
 * - The newest rows first: the newest row counts first, then the number of rows, then the oldest row. A full page loses
 *   its oldest row.
 * - `sort=asc`: the number of rows counts first, then the newest row, where the lower one is more complete. A full page
 *   loses its newest row.
 */
export function orderOfPage(lts: readonly bigint[], isAscending = false): bigint {
  if (lts.length === 0) return 0n;
  const [oldest, newest] = lts.reduce(
    ([least, greatest], lt) => [lt < least ? lt : least, lt > greatest ? lt : greatest],
    [lts[0] ?? 0n, 0n],
  );
  const count = BigInt(lts.length);
  if (isAscending) return (count << LT_BITS) + HIGHEST_LT - newest;
  return (((newest << COUNT_BITS) + count) << LT_BITS) + oldest;
}

const RANKS: Record<AnswerClass, number> = { absent: 0, live: 1, 'final-page': 2, growing: 2, final: 3 };

/** For operations where only the class counts. */
export function completenessByClass({ rule }: Finality): AnswerCompleteness {
  return { rank: RANKS[ROWS[rule].answerClass], hashes: [], tentativeHashes: [] };
}

/** For operations where the latest answer is right, whatever its rows. */
export function latestCounts(): AnswerCompleteness {
  return { rank: 0, hashes: [], tentativeHashes: [] };
}

/**
 * For a list that only ever gains rows while it is growing or live: a later answer must contain all of its final rows.
 */
export function completenessOfGrowingList(name: string): ReadCompleteness {
  return completenessOfGrowingRows(({ [name]: list }) => (Array.isArray(list) ? list : []));
}

/** The same for the first page of such a list, of transactions: a full page that gains a row loses another one. */
export function completenessOfGrowingPage(name: string): ReadCompleteness {
  const completenessOfList = completenessOfGrowingList(name);
  return (finality, body, request) => {
    const { [name]: list } = body;
    const isCut = Array.isArray(list) && isFull(list, request);
    return { ...completenessOfList(finality, body, request), order: isCut ? orderOfRows(list, request) : undefined };
  };
}

function orderOfRows(rows: readonly unknown[], request: CanonicalRequest): bigint | undefined {
  const lts = rows.map((row) => (isFinal(row) ? readLt(row['lt']) : undefined));
  return lts.every((lt) => lt !== undefined) ? orderOfPage(lts, isAscending(request)) : undefined;
}

/** As {@link completenessOfGrowingList}, for rows anywhere in a body. */
export function completenessOfGrowingRows(rowsIn: (body: JsonObject) => readonly unknown[]): ReadCompleteness {
  return (finality, body) => {
    const { answerClass } = ROWS[finality.rule];
    const isOpen = answerClass === 'growing' || answerClass === 'live';
    const listed = rowsIn(body);
    const rows = isOpen ? listed : [];
    return {
      ...completenessByClass(finality),
      hashes: hashesOf(rows.filter(isFinal)),
      tentativeHashes: hashesOf(rows.filter((row) => !isFinal(row))),
      lacksStates: listed.some((row) => isObject(row) && lacksStateBefore(row)),
    };
  };
}

function hashesOf(rows: readonly unknown[]): string[] {
  return rows.flatMap((row) => (isObject(row) && typeof row['hash'] === 'string' ? [row['hash']] : []));
}
