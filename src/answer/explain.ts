import type { Entry } from '../cache/entry.ts';
import type { TieredCache } from '../cache/tiered-cache.ts';
import { type Freshness, freshnessOf, type ProofDoubt, usableUntil } from '../freshness.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { cacheKey, loggedKey } from '../ton/cache-key.ts';
import { type DroppedInput, droppedInputs, readPasted, rulesOf } from '../ton/explain-call.ts';
import type { GrowingPolicy, LifetimePolicies, LifetimePolicy, LifetimeRule } from '../ton/lifetime-table.ts';
import type { OperationName } from '../ton/operation-names.ts';
import { type OperationsInUse, targetOf } from '../ton/operations.ts';
import { parseCall, type RequestHeaders } from '../ton/parse-call.ts';
import type { FollowerState, ShownFollower } from './block-proof.ts';

/** A cached answer in one tier. Durations in milliseconds; negative ones have passed. */
export interface CachedAnswer {
  readonly state: Freshness;
  readonly answerClass: string;
  readonly status: number;
  /** Host and port of the indexer that answered; absent with a single indexer. */
  readonly indexer?: string;
  /** The length of the body as the indexer sent it. */
  readonly bodyBytes: number;
  readonly ageMs: Ms;
  readonly freshForMs: Ms;
  readonly usableForMs: Ms;
}

/** The meaning of a request, and the answers that a running instance has cached for it. */
export interface Explanation {
  readonly operation: OperationName;
  /** The request to the indexer: path and query, and the headers that change the answer. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly key: string;
  /** Stands for the key in lines of the log. */
  readonly loggedKey: string;
  readonly dropped: readonly DroppedInput[];
  /** The possible lifetimes of an answer; its body decides which one applies. */
  readonly lifetimes: readonly ({ readonly rule: LifetimeRule } & (LifetimePolicy | GrowingPolicy))[];
  readonly memory: CachedAnswer | 'absent';
  /** `failed`: Redis did not answer in time, or not all purges are known. */
  readonly redis: CachedAnswer | 'absent' | 'failed' | 'not configured';
  /** The proof of the answer in memory. Absent if blocks prove no answers of the operation. */
  readonly proof?: ExplainedProof;
}

/** The block up to which an answer is proven, or the reason why it is not. */
export type ExplainedProof =
  | { readonly isProven: true; readonly upToBlock: number }
  | {
      readonly isProven: false;
      readonly why: ProofDoubt | 'not-kept';
      readonly follower: FollowerState;
    };

export interface ExplainDependencies {
  readonly cache: TieredCache;
  readonly operations: OperationsInUse;
  readonly network: string;
  readonly isPassed: (operation: OperationName) => boolean;
  readonly policies: LifetimePolicies;
  /** Absent if no answers are proven. */
  readonly proof: ShownFollower | undefined;
  readonly now: () => EpochMs;
}

/**
 * Explains pasted requests (see {@link readPasted}): looks into both tiers. Rejects with a `ProxyError`,
 * `invalid-request` or `not-cacheable`, if the request would be refused or passed through.
 */
export function explainWith({
  cache,
  operations,
  network,
  isPassed,
  policies,
  proof,
  now,
}: ExplainDependencies): (text: string, headers: RequestHeaders) => Promise<Explanation> {
  const describe = (entry: Entry): CachedAnswer => ({
    state: freshnessOf(entry, now()),
    answerClass: entry.meta.answerClass,
    status: entry.meta.status,
    ...(entry.meta.indexer !== '' && { indexer: entry.meta.indexer }),
    bodyBytes: entry.content.bytes,
    ageMs: now() - entry.askedAt,
    freshForMs: entry.freshUntil - now(),
    usableForMs: usableUntil(entry) - now(),
  });
  const explainProof = (kept: Entry | undefined): ExplainedProof | undefined => {
    if (proof === undefined) return undefined;
    const unchecked = kept === undefined ? 'not-kept' : 'not-checked';
    const why = kept?.proof === undefined ? unchecked : kept.proof.doubt;
    return why === undefined
      ? { isProven: true, upToBlock: proof.blocks.newestRead }
      : { isProven: false, why, follower: proof.state };
  };
  return async (text, headers) => {
    const { operation, rawQuery } = readPasted(text, operations);
    const call = parseCall(operation, rawQuery, headers, isPassed(operation.name));
    const key = cacheKey(network, call);
    const { memory, redis } = await cache.inspect(key, call.tags);
    const explained = operation.evidence && explainProof(memory);
    return {
      operation: operation.name,
      target: targetOf(operation.name, call.request.query),
      headers: Object.fromEntries(call.request.headers),
      key,
      loggedKey: loggedKey(key),
      dropped: droppedInputs(operation, rawQuery, headers),
      lifetimes: rulesOf(call).map((rule) => ({ rule, ...policies[rule] })),
      memory: memory === undefined ? 'absent' : describe(memory),
      redis: typeof redis === 'string' ? redis : describe(redis),
      ...(explained && { proof: explained }),
    };
  };
}
