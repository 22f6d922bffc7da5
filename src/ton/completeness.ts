import { type AnswerClass, type Finality, isFinal } from './finality.ts';
import type { Call } from './parse-call.ts';

/** How complete an answer is, to compare two answers to one call: what they list counts first, their rank second. */
export interface AnswerCompleteness {
  /** 0 to 3, by the answer's class. */
  readonly rank: number;
  /** Hashes of the final transactions of a list that only ever gains rows; empty for all other answers. */
  readonly hashes: readonly string[];
  /** Hashes of the other transactions of such a list: pending ones can still be invalidated. */
  readonly tentativeHashes: readonly string[];
}

const RANKS: Record<AnswerClass, number> = { absent: 0, live: 1, 'final-page': 2, growing: 2, final: 3 };

/**
 * Ranks an answer by its finality and the parsed body that the finality was read from. All pending traces have rank 0:
 * a trace that has ended leaves the list, so an empty list is not less complete than a full one, and the latest answer
 * is the right one.
 */
export function completenessOf(
  { operation }: Call,
  { answerClass, rule }: Finality,
  body: unknown,
): AnswerCompleteness {
  const rank = operation.name === 'pendingTraces' ? 0 : RANKS[answerClass];
  // A final `direction=in` answer lists its one parent and gains no more rows.
  const gainsRows = rule === 'adjacentGrowing' || rule === 'adjacentLive';
  const rows = gainsRows ? (body as { readonly transactions: readonly unknown[] }).transactions : [];
  return {
    rank,
    hashes: hashesOf(rows.filter(isFinal)),
    tentativeHashes: hashesOf(rows.filter((row) => !isFinal(row))),
  };
}

function hashesOf(rows: readonly unknown[]): string[] {
  return rows.flatMap((row) => {
    const hash = typeof row === 'object' && row !== null && 'hash' in row ? row.hash : undefined;
    return typeof hash === 'string' ? [hash] : [];
  });
}
