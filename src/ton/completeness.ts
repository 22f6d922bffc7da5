import { isObject, type JsonObject } from '../json-object.ts';
import { lacksStateBefore } from './final-rows.ts';
import { type Finality, isFinal } from './finality.ts';
import { type AnswerClass, ROWS } from './lifetime-table.ts';

/** How complete an answer is, to compare two answers to one call: by order, then by its rows, then by rank. */
export interface AnswerCompleteness {
  /**
   * How new the state or page in the answer is: a logical time of 64 bits, or {@link orderOfPage}. Absent for 0, and if
   * answers have none.
   */
  readonly order?: bigint;
  /** 0 to 3, by the answer's class; or the seqno of its newest block. */
  readonly rank: number;
  /** Hashes of the final transactions of a list that only ever gains rows; empty for all other answers. */
  readonly hashes: readonly string[];
  /** Hashes of the other transactions of such a list: pending ones can still be invalidated. */
  readonly tentativeHashes: readonly string[];
  /** True if a row lacks the state of its account, which may be filled in: the same rows with it are more complete. */
  readonly lacksStates?: boolean;
}

/** How an operation reads the completeness of an answer, a 200 or a 404, from its finality and its body. */
export type ReadCompleteness = (finality: Finality, body: JsonObject) => AnswerCompleteness;

const LT_BITS = 64n;
const COUNT_BITS = 16n;

/**
 * The order of a page of the newest rows, by their logical times: the newest one counts first, then the number of rows,
 * then the oldest one. Rows are committed out of order, so a page can gain a row below its newest. Then it has one more
 * row, or, if it is full, its oldest row is newer.
 */
export function orderOfPage(lts: readonly bigint[]): bigint {
  if (lts.length === 0) return 0n;
  const [oldest, newest] = lts.reduce(
    ([least, greatest], lt) => [lt < least ? lt : least, lt > greatest ? lt : greatest],
    [lts[0] ?? 0n, 0n],
  );
  return (((newest << COUNT_BITS) + BigInt(lts.length)) << LT_BITS) + oldest;
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

/** The same for rows anywhere in a body. */
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
