import { contentOf, type Entry, newEntry, ownedBytes, sharedHead } from '../cache/entry.ts';
import { type ErrorCode, LONGEST_ERROR_BYTES, ProxyError } from '../errors.ts';
import type { UpstreamAnswer } from '../indexer/upstream-client.ts';
import { unsliced } from '../sliced-strings.ts';
import { type LifetimePolicies, lifetimeOf } from '../ton/lifetime.ts';
import type { Call } from '../ton/parse-call.ts';
import type { BodyFacts } from './body-facts.ts';

/** An answer to a call, with what its body says. */
export interface ReadAnswer {
  readonly call: Call;
  readonly key: string;
  readonly answer: UpstreamAnswer;
  readonly facts: BodyFacts;
}

interface ClassifyDependencies {
  /** See `Head.indexer`. */
  readonly indexer: string;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  /** The chain time, see `IndexerHead.chainTime`; only called where the age of an answer counts. */
  readonly chainTime: () => number | undefined;
}

/**
 * Turns an answer of the indexer into an entry, or into the failure that clients get. A 200 that holds the operation's
 * list and the indexer's own 404 (`{"error": string}`) are entries; nothing else is cached. The body of another 4xx or
 * 5xx is passed on if it is a JSON object.
 */
export function classifyAnswer(
  { key, answer, facts }: ReadAnswer,
  { indexer, chainTime, random }: ClassifyDependencies,
  policies: LifetimePolicies,
): Entry | ProxyError {
  const { status } = answer;
  const apiVersion = headerText(answer.apiVersion);
  const failure = (code: ErrorCode, message: string, upstreamBody?: Buffer) =>
    new ProxyError(code, message, { upstreamStatus: status, apiVersion, upstreamBody });

  if (status === 401 || status === 403) {
    return failure('upstream-refused-key', 'the indexer refuses the API key of this proxy');
  }
  if (status === 429) return failure('upstream-rate-limited', 'the indexer asked for a pause');
  if (status >= 300 && status < 400) return failure('upstream-redirect', 'the indexer answered with a redirect');

  const { finality, completeness, etag, isObject } = facts;
  if (finality === undefined) {
    // Clients take a 404 for "no children", so the 404 of a web server in front of the indexer must not reach them.
    if (status < 400 || status === 404 || status > 599) {
      return failure('upstream-invalid', 'the answer of the indexer is not what its API describes');
    }
    const own = isObject && answer.body.length <= LONGEST_ERROR_BYTES ? answer.body : undefined;
    const error = failure('upstream-error', `the indexer answered with status ${status}`, own);
    const { retryAfterMs } = answer;
    if (retryAfterMs === undefined) return error;
    return error.withRetryAfter(Math.min(Math.ceil(retryAfterMs / 1000), LONGEST_RETRY_AFTER_SECONDS));
  }
  const { askedAt, receivedAt, ageValueSeconds } = answer;
  const chainAt = finality.newestNow === undefined ? undefined : chainTime();
  const lifetime = lifetimeOf(finality, policies, { askedAt, receivedAt, chainAt, ageValueSeconds }, random);
  const head = sharedHead({
    status,
    contentType: headerText(answer.contentType) ?? 'application/json',
    apiVersion,
    answerClass: finality.answerClass,
    maxAgeSeconds: lifetime.maxAgeSeconds,
    indexer,
  });
  const content = contentOf(ownedBytes(answer.body));
  return newEntry({
    ...lifetime,
    key: unsliced(key),
    etag: unsliced(etag),
    head,
    content,
    completeness,
    regressedSince: undefined,
    ageValueSeconds,
  });
}

/** A client is not asked to wait for longer. */
const LONGEST_RETRY_AFTER_SECONDS = 3600;

/** A header value of the indexer; `undefined` if it could not be sent on in a header. */
function headerText(value: string | undefined): string | undefined {
  return value !== undefined && /^[\x20-\x7e]+$/.test(value) ? value : undefined;
}
