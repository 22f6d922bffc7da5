import type { Entry } from '../cache/entry.ts';
import { type FoundEntry, foundIn, type TieredCache } from '../cache/tiered-cache.ts';
import { ProxyError } from '../errors.ts';
import type { WhyNot } from '../fleet/routes.ts';
import { type Freshness, type ProofDoubt, usableUntil } from '../freshness.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { cacheKey, loggedKey } from '../ton/cache-key.ts';
import { type DroppedInput, droppedInputs, readPasted, rulesOf } from '../ton/explain-call.ts';
import type { GrowingPolicy, LifetimePolicies, LifetimePolicy, LifetimeRule } from '../ton/lifetime-table.ts';
import type { OperationName } from '../ton/operation-names.ts';
import { type OperationsInUse, targetOf } from '../ton/operations.ts';
import { type Call, parseCall, type RequestHeaders, requestOf, whyUncached } from '../ton/parse-call.ts';
import type { FollowerState, ShownFollower } from './block-proof.ts';
import { renderCacheStatus } from './cache-status.ts';
import { hitOf } from './load.ts';
import { cacheStatusOf } from './phase.ts';

/** A cached answer in one tier. Durations in milliseconds; negative ones have passed. */
export interface CachedAnswer {
  /** Its use now. `stale-if-error` within its lifetime: it lacks a transaction that this instance has seen since. */
  readonly state: Freshness | 'proven';
  readonly answerClass: string;
  readonly status: number;
  /** Host and port of the indexer that answered; absent with a single indexer. */
  readonly indexer?: string;
  /** The length of the body as the indexer sent it. */
  readonly bodyBytes: number;
  readonly ageMs: Ms;
  readonly freshForMs: Ms;
  readonly usableForMs: Ms;
  /** The instant of its request, epoch milliseconds. */
  readonly askedAt: EpochMs;
  /** How new its state or page is: of two answers the one with the higher order is kept. Absent without an order. */
  readonly order?: string;
}

/** An indexer, and why it would not get the request now; without a reason it, or another such one, would. */
export interface ExplainedIndexer {
  /** Host and port. */
  readonly name: string;
  readonly whyNot?: WhyNot;
  /** Set if the circuit breaker of the operation is half-open there: the next request is its trial. */
  readonly isTrial?: true;
}

/** What toncache does with a request. */
export type Explanation = ExplainedCall | ExplainedPass;

/** A request that is not cached. */
export interface ExplainedPass {
  /** Path and query, which are sent unchanged. */
  readonly target: string;
  readonly notCached: 'passed through' | 'passed through, collapsed with identical requests';
  /** Why it has no cached form, if it is for a cached operation. */
  readonly why?: string;
  /** The indexers that it may be sent to; empty for a stream. */
  readonly indexers: readonly ExplainedIndexer[];
}

/** The meaning of a request, the indexers that would get it, and the answers that a running instance has cached for it. */
export interface ExplainedCall {
  readonly operation: OperationName;
  /** The request to the indexer: path and query, and the headers that change the answer. */
  readonly target: string;
  /** JSON, of a `POST`. */
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly key: string;
  /** Stands for the key in lines of the log. */
  readonly loggedKey: string;
  readonly dropped: readonly DroppedInput[];
  /** The possible lifetimes of an answer; its body decides which one applies. */
  readonly lifetimes: readonly ({ readonly rule: LifetimeRule } & (LifetimePolicy | GrowingPolicy))[];
  /** Those that it may be sent to on a miss. */
  readonly indexers: readonly ExplainedIndexer[];
  readonly memory: CachedAnswer | 'absent';
  /** `failed`: Redis did not answer in time, or not all purges are known. */
  readonly redis: CachedAnswer | 'absent' | 'failed' | 'not configured';
  /** The proof of the answer in memory. Absent if blocks prove no answers of the operation. */
  readonly proof?: ExplainedProof;
  /** The `Cache-Status` that a request would get now; absent for a miss, whose answer decides. */
  readonly cacheStatus?: string;
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
  /** The explanation of a target that is passed through, or why it is not. */
  readonly passed: (target: string, headers: RequestHeaders) => ExplainedPass | ProxyError;
  readonly indexersFor: (call: Call, key: string) => readonly ExplainedIndexer[];
  readonly policies: LifetimePolicies;
  /** Absent if no answers are proven. */
  readonly proof: ShownFollower | undefined;
  readonly now: () => EpochMs;
}

/**
 * Explains pasted requests (see {@link readPasted}): looks into both tiers. Rejects with the {@link ProxyError} of a
 * request that would be refused.
 */
export function explainWith({
  cache,
  operations,
  network,
  passed,
  indexersFor,
  policies,
  proof,
  now,
}: ExplainDependencies): (text: string, headers: RequestHeaders, body?: string) => Promise<Explanation> {
  const describe = ({ state, entry }: FoundEntry): CachedAnswer => ({
    state,
    answerClass: entry.meta.answerClass,
    status: entry.meta.status,
    ...(entry.meta.indexer !== '' && { indexer: entry.meta.indexer }),
    bodyBytes: entry.content.bytes,
    ageMs: now() - entry.askedAt,
    freshForMs: entry.freshUntil - now(),
    usableForMs: usableUntil(entry) - now(),
    askedAt: entry.askedAt,
    ...(entry.completeness.order !== undefined && { order: String(entry.completeness.order) }),
  });
  const explainProof = (kept: Entry | undefined): ExplainedProof | undefined => {
    if (proof === undefined) return undefined;
    const unchecked = kept === undefined ? 'not-kept' : 'not-checked';
    const why = kept?.proof === undefined ? unchecked : kept.proof.doubt;
    return why === undefined
      ? { isProven: true, upToBlock: proof.blocks.newestRead }
      : { isProven: false, why, follower: proof.state };
  };
  const explainCall = async (call: Call, dropped: readonly DroppedInput[]): Promise<ExplainedCall> => {
    const { operation, request, tags } = call;
    const key = cacheKey(network, call);
    const sent = requestOf(call, []);
    const { memory, redis } = await cache.inspect(key, tags);
    const explained = operation.evidence && explainProof(foundIn(memory));
    const hit = hitOf(memory, true) ?? (typeof redis === 'string' ? undefined : hitOf(redis, true));
    return {
      operation: operation.name,
      target: targetOf(operation.name, sent.query),
      ...(sent.body !== undefined && { body: sent.body }),
      headers: Object.fromEntries(request.headers),
      key,
      loggedKey: loggedKey(key),
      dropped,
      lifetimes: rulesOf(call).map((rule) => ({ rule, ...policies[rule] })),
      indexers: indexersFor(call, key),
      memory: memory.state === 'miss' ? 'absent' : describe(memory),
      redis: typeof redis === 'string' ? redis : describe(redis),
      ...(explained && { proof: explained }),
      ...(hit && { cacheStatus: renderCacheStatus(cacheStatusOf({ ...hit, collapsed: false, at: now() })) }),
    };
  };
  return async (text, headers, body) => {
    const { path, rawQuery } = readPasted(text);
    const operation = operations.at(path);
    const pass = passed(rawQuery === '' ? path : `${path}?${rawQuery}`, headers);
    try {
      if (operation !== undefined)
        return await explainCall(
          parseCall(operation, rawQuery, headers, body === undefined ? undefined : Buffer.from(body)),
          droppedInputs(operation, rawQuery, headers),
        );
    } catch (error) {
      const why = whyUncached(error);
      if (why === undefined || pass instanceof ProxyError)
        throw error instanceof ProxyError ? error.forOperators : error;
      return { ...pass, why };
    }
    if (pass instanceof ProxyError) throw pass.forOperators;
    return pass;
  };
}
