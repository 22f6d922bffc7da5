import { type Entry, newEntry } from '../cache/entry.ts';
import { plainBodyOf } from '../cache/gzip.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import { operationOf, requestIn } from '../ton/cache-key.ts';
import type { Evidence } from '../ton/evidence.ts';
import { type Call, touchedBy } from '../ton/parse-call.ts';
import type { AnswerBodyReader } from './answer-body-reader.ts';
import type { BlockJudge } from './block-proof.ts';

/** A replica may be ahead of the one from which blocks are read by this much. */
const AHEAD_MS: Ms = 32_000;

export interface RedisJudgeDependencies {
  readonly proofs: BlockJudge;
  readonly bodies: Pick<AnswerBodyReader, 'readShown'>;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
}

/**
 * Connects entries from Redis with the transactions that this instance has seen, in both directions. Call with each
 * entry before it is kept or served. An entry about accounts is judged like an answer of the indexer: by the evidence in
 * its body, and by the blocks that this instance has read. Nothing in Redis is believed but the body, its age, and that of
 * an equal answer.
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
    if (operation === undefined) return entry;
    const call: Call = { operation, request: requestIn(entry.key), tags };
    const accounts = operation.evidence === undefined ? [] : touchedBy(call);
    const judged = (evidence?: Evidence) => {
      const proof = proofs.proofOf(evidence, accounts, askedAt, entry.equalMs);
      return proof === undefined ? entry : newEntry({ ...entry, proof });
    };
    // All transactions in an older answer are in blocks that were read.
    const isOfInterest = accounts.length > 0 || askedAt >= proofs.mark - AHEAD_MS;
    if (entry.meta.status !== 200 || !isOfInterest) return judged();
    return plainBodyOf(entry.content)
      .then((body) => bodies.readShown(call, body, from))
      .then(
        ({ rows, evidence }) => {
          proofs.shown(rows);
          return judged(accounts.length > 0 ? evidence : undefined);
        },
        // Invalid gzip fails where it is sent.
        () => judged(),
      );
  };
}
