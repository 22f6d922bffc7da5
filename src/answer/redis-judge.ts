import { type Entry, newEntry } from '../cache/entry.ts';
import { plainBodyOf } from '../cache/gzip.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import { operationOf, queryOf } from '../ton/cache-key.ts';
import { touchedBy } from '../ton/parse-call.ts';
import type { AnswerBodyReader } from './answer-body-reader.ts';
import type { BlockJudge } from './block-proof.ts';

/** A replica may be ahead of the one from which blocks are read by this much. */
const AHEAD_MS: Ms = 10_000;

export interface RedisJudgeDependencies {
  readonly proofs: BlockJudge;
  readonly bodies: Pick<AnswerBodyReader, 'readRows'>;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
}

/**
 * Connects entries from Redis with the transactions that this instance has seen, in both directions. Call with each
 * entry before it is kept or served. An entry about accounts is never proven, and outdated by every later transaction of
 * them: its body is not compared, because this instance requests the answer again anyway to prove it.
 */
export function judgeFromRedis({
  proofs,
  bodies,
  now,
  monotonic,
}: RedisJudgeDependencies): (entry: Entry, tags: readonly string[]) => Entry | Promise<Entry> {
  return (entry, tags) => {
    const from = proofs.unreadFrom;
    if (from === Number.POSITIVE_INFINITY) return entry;
    const askedAt = monotonic() - Math.max(0, now() - entry.askedAt) - entry.ageValueSeconds * 1000;
    const operation = operationOf(entry.key);
    const proof =
      operation?.evidence === undefined
        ? undefined
        : proofs.proofOf(
            undefined,
            touchedBy({ operation, request: { query: queryOf(entry.key), headers: [] }, tags }),
            askedAt,
          );
    const judged = proof === undefined ? entry : newEntry({ ...entry, proof });
    // All transactions in an older answer are in blocks that were read.
    if (entry.meta.status !== 200 || askedAt < proofs.mark - AHEAD_MS) return judged;
    return plainBodyOf(entry.content)
      .then((body) => bodies.readRows(body, from))
      .then(
        (rows) => proofs.shown(rows),
        // Invalid gzip fails where it is sent.
        () => {},
      )
      .then(() => judged);
  };
}
