import { contentOf, type Entry, newEntry, ownedBytes, sharedMeta } from '../cache/entry.ts';
import { type ErrorCode, failure, LONGEST_ERROR_BYTES, type ProxyError } from '../errors.ts';
import type { Proof } from '../freshness.ts';
import type { OurCredentials } from '../indexer/credentials.ts';
import { withoutSecrets } from '../indexer/shown-words.ts';
import type { IndexerWords, UpstreamAnswer } from '../indexer/upstream-client.ts';
import { OUTCOMES, type Outcome, outcomeOfError, outcomeOfStatus } from '../outcomes.ts';
import { unsliced } from '../sliced-strings.ts';
import type { EpochMs } from '../time-units.ts';
import { isCommitted } from '../ton/chain-point.ts';
import type { Finality } from '../ton/finality.ts';
import { finalityAtAge, lifetimeOf } from '../ton/lifetime.ts';
import { type LifetimePolicies, ROWS } from '../ton/lifetime-table.ts';
import { notServed } from '../ton/not-served.ts';
import type { Call } from '../ton/parse-call.ts';
import type { BodyFacts } from './body-facts.ts';
import type { UpstreamOperation } from './refusal-error.ts';

/** This much of an answer outside of the API is logged: enough to identify its sender. */
const EXCERPT_CHARACTERS = 100;

/** This much is searched for our secrets, which an answer may repeat. */
const SEARCHED_BYTES = 4096;

/** An indexer that has answered. */
export interface IndexerThatAnswered {
  readonly name: string;
  /** What identifies us there. */
  readonly ours?: Pick<OurCredentials, 'secrets'> | undefined;
}

/** The event of an indexer's answer that could not be used. */
export interface UselessAnswer {
  readonly name: 'upstream-useless';
  readonly indexer: string;
  readonly operation: UpstreamOperation;
  readonly code: ErrorCode;
  readonly status: number;
  /** The indexer's own words. */
  readonly says?: IndexerWords | undefined;
  /** For an answer outside of the API: its type, and its first bytes. */
  readonly contentType?: string | undefined;
  readonly begins?: string;
}

/** An answer to a call, with the facts in its body. */
export interface ReadAnswer {
  readonly call: Call;
  readonly key: string;
  readonly answer: UpstreamAnswer;
  readonly facts: BodyFacts;
  /** See `Entry.awaitedBlock`. */
  readonly awaitedBlock?: number | undefined;
  /** See `Entry.proof`. */
  readonly proof?: Proof | undefined;
}

interface ClassifyDependencies {
  /** See `Meta.indexer`. */
  readonly indexer: string;
  /** See `Meta.isLocal`. */
  readonly isLocal: boolean;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  /** See `Head.chainTime`. The age of a growing answer counts up to it. */
  readonly chainTime: EpochMs | undefined;
}

/**
 * Turns an answer of the indexer into an entry, or into the failure that clients get. Entries are a 200 that answers
 * the call, and the indexer's own 404 (`{"error": string}`); nothing else is cached. The body of an answer that becomes
 * `upstream-error` is passed on if it is a JSON object of at most 64 KiB.
 */
export function classifyAnswer(
  read: ReadAnswer,
  { indexer, isLocal, chainTime, random }: ClassifyDependencies,
  policies: LifetimePolicies,
): Entry | ProxyError {
  const { key, answer, facts, awaitedBlock, proof } = read;
  const { completeness, etag } = facts;
  const failed = failureIn(read);
  if (failed !== undefined || facts.finality === undefined) return failureOf(read, failed ?? 'invalid');
  const { askedAt, receivedAt, ageValueSeconds } = answer;
  const chainAt = facts.finality.newestNow === undefined ? undefined : chainTime;
  const instants = { askedAt, receivedAt, chainAt, ageValueSeconds };
  const finality = withBlock(finalityAtAge(facts.finality, instants), awaitedBlock);
  const { answerClass } = ROWS[finality.rule];
  const lifetime = lifetimeOf(finality, policies, instants, random);
  const meta = sharedMeta({
    status: answer.status,
    contentType: headerText(answer.contentType) ?? 'application/json',
    apiVersion: headerText(answer.apiVersion),
    answerClass,
    maxAgeSeconds: lifetime.maxAgeSeconds,
    indexer,
    isLocal,
    isAged: answer.isAged,
    retention: isKeptAfterUse(read) ? read.call.operation.retention : undefined,
  });
  const content = contentOf(ownedBytes(answer.body));
  return newEntry({
    ...lifetime,
    key: unsliced(key),
    etag: unsliced(etag),
    meta,
    content,
    completeness,
    regressedSince: undefined,
    ageValueSeconds,
    awaitedBlock: answerClass === 'absent' ? awaitedBlock : undefined,
    // The follower reads the blocks of our chain, and this may be another one.
    proof: isLocal ? undefined : proof,
    equalMs: undefined,
  });
}

/**
 * The state of an account names no block, only the transaction that it follows, if there is one. An answer that only
 * another one can prove is kept for that.
 */
function isKeptAfterUse({ facts: { chainPoint, completeness }, proof }: ReadAnswer): boolean {
  const { order, states } = completeness;
  if (proof?.compare !== undefined) return proof.keptMs > 0;
  return isCommitted(chainPoint) || (order ?? 0n) > 0n || (states?.length ?? 0) > 0;
}

/** The failure for a head that names no block. */
export function untrueAnswer(read: ReadAnswer): ProxyError {
  return failureOf(read, 'invalid');
}

/** The event of an answer of this indexer that became a failure. */
export function uselessAnswer(
  { call, answer }: ReadAnswer,
  { name: indexer, ours }: IndexerThatAnswered,
  code: ErrorCode,
): UselessAnswer {
  const { status, contentType, body, says } = answer;
  const useless = { name: 'upstream-useless', indexer, operation: call.operation.name, code, status } as const;
  const searched = withoutSecrets(body.toString('utf8', 0, SEARCHED_BYTES), ours?.secrets ?? []);
  const begins = searched.slice(0, EXCERPT_CHARACTERS);
  return { ...useless, ...(says && { says }), ...(code === 'upstream-invalid' && { contentType, begins }) };
}

/**
 * An empty page does not show that its block is there. If the block was not known before the request, the page counts as
 * any empty list.
 */
function withBlock(finality: Finality, awaitedBlock: number | undefined): Finality {
  const { ifBlockUnknown: rule } = ROWS[finality.rule];
  return rule === undefined || awaitedBlock === undefined ? finality : { ...finality, rule };
}

/** The outcome of a complete answer that is not an entry. */
function failureIn({
  call: { operation },
  answer: { status, cacheStatus },
  facts: { finality, saysNotServed, isOwnError },
}: ReadAnswer): Outcome | undefined {
  if (isOwnError && operation.ownErrors?.includes(status) === true) return saysNotServed ? 'not-served' : 'own-error';
  const byStatus = outcomeOfStatus(status);
  if (byStatus !== undefined) return byStatus;
  // Clients take a 404 for "no children", so the 404 of a web server in front of the indexer must not reach them.
  if (status === 404) return finality === undefined || isRefusalOfToncache(cacheStatus) ? 'invalid' : undefined;
  if (finality !== undefined) return undefined;
  if (saysNotServed) return 'not-served';
  return outcomeOfError(status);
}

/**
 * True if the indexer is another toncache that refused the request itself, whose errors have the indexer's form. Each
 * cache on the way adds its member to `Cache-Status`.
 */
function isRefusalOfToncache(cacheStatus: string | undefined): boolean {
  return cacheStatus !== undefined && TONCACHE_REFUSED.test(cacheStatus);
}

const TONCACHE_REFUSED =
  /(?:^|,)\s*toncache\s*(?:;[^,]*)?;\s*detail=(?:not-found|not-served|invalid-request)\s*(?:[;,]|$)/;

function failureOf({ call, answer, facts }: ReadAnswer, outcome: Outcome): ProxyError {
  const { status, body, retryAfterMs } = answer;
  // The cast: clients get the indexer's answer only for outcomes that are entries.
  const code = OUTCOMES[outcome].client as ErrorCode;
  const details = { upstreamStatus: status, apiVersion: headerText(answer.apiVersion) };
  if (code === 'not-served') return failure(code, { ...details, values: notServed(call.operation.name) });
  if (code !== 'upstream-error') return failure(code, details);
  const upstreamBody = facts.isObject && body.length <= LONGEST_ERROR_BYTES ? body : undefined;
  const isOwnAnswer = outcome === 'own-error' || undefined;
  return failure(code, { ...details, upstreamBody, isOwnAnswer, values: { status }, waitMs: retryAfterMs });
}

/** A header value of the indexer; `undefined` if it cannot be sent in a header. */
function headerText(value: string | undefined): string | undefined {
  return value !== undefined && /^[\x20-\x7e]+$/.test(value) ? value : undefined;
}
