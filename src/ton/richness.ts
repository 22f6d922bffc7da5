import type { AnswerClass, Finality } from './finality.ts';
import type { Call } from './parse-call.ts';

/** How much an answer tells beside others of its call: the greater rank, then the one that lists all of the other and more. */
export interface AnswerRichness {
  /** 0 to 3. */
  readonly rank: number;
  /** The hashes of the transactions of a growing answer, which are only ever added to; empty for all others. */
  readonly hashes: readonly string[];
}

const RANKS: Record<AnswerClass, number> = { absent: 0, live: 1, 'final-page': 2, growing: 2, final: 3 };

/**
 * Ranks an answer that was judged, by the parsed body it was judged from. A trace that leaves `pendingTraces` has come to
 * its end, so there an empty list is not poorer than a full one: the latest answer is the right one.
 */
export function richnessOf({ operation }: Call, { answerClass }: Finality, body: unknown): AnswerRichness {
  const rank = operation.name === 'pendingTraces' ? 0 : RANKS[answerClass];
  return { rank, hashes: answerClass === 'growing' ? transactionHashes(body) : [] };
}

function transactionHashes(body: unknown): string[] {
  const { transactions } = body as { readonly transactions: readonly { readonly hash?: unknown }[] };
  return transactions.flatMap(({ hash }) => (typeof hash === 'string' ? [hash] : []));
}
