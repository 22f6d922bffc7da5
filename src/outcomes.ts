import type { CallResult } from './circuit-breaker.ts';
import type { ErrorCode, ProxyError } from './errors.ts';

/** The outcome of one request to an indexer. */
export type Outcome =
  /** An answer with data. */
  | 'answered'
  /** The indexer's own "nothing there": its 404, or an empty list. */
  | 'absent'
  /** A 4xx that reports a fault of the request ({@link FAULTS_OF_REQUESTS}). */
  | 'client-error'
  /** A body that is larger than `upstream.maxBodySize`. */
  | 'too-large'
  /** 429. */
  | 'rate-limited'
  /** The indexer reports that it does not have the operation: 501, or a 500 with known words. */
  | 'not-served'
  /** 401, 402 or 403: it refuses our key, or our plan is used up. */
  | 'refused-key'
  | 'redirect'
  /** Another 4xx or 5xx. */
  | 'failed'
  /** An answer outside of the API: another status or body, the 404 of another server, a truncated body. */
  | 'invalid'
  /** No complete answer in time. */
  | 'timeout'
  /** The connection broke after the request was sent, before the head of an answer was read. */
  | 'broken'
  /** The same on a connection that had been idle: it had answered before, and broke soon and without a byte. */
  | 'idle-broken'
  /** No connection could be opened: the name, TCP or TLS. */
  | 'unreachable'
  /** Not sent: this process refused it. */
  | 'refused'
  /** Nothing is known: the request was not needed after all, this process ends, or the client left. */
  | 'unknown'
  /** An error of the API that answers this request, whose clients get it: it shows nothing about the indexer. */
  | 'own-error'
  /** 401, 402 or 403 to a passed-through request: the answer to this client. */
  | 'passed-refused'
  /** The same as the refusal of our key. A client can cause it, so it shows nothing about the indexer. */
  | 'passed-key-refused'
  /** 429 to a passed-through request. */
  | 'passed-limited'
  /** 5xx to a passed-through request. */
  | 'passed-failed'
  /** A redirect of a passed-through request to an address that its client must not get. */
  | 'passed-redirect';

/** The consequences of an outcome: a row of {@link OUTCOMES}. */
export interface Meaning {
  /** What clients get if no other request brings an answer and no stale copy may be served. */
  readonly client: 'its answer' | ErrorCode;
  /** How it is kept: stored for a lifetime, or `briefly`, for the failure TTL. */
  readonly kept: 'stored' | 'briefly' | 'no';
  /**
   * Where it counts as a failure, see {@link resultIn}. `all`: in all operations of this indexer. `unknown`: nowhere.
   */
  readonly failureOf: BreakerKind | 'all' | 'none' | 'unknown';
  /** Its meaning for the health of this one of several indexers. A failing indexer is used last, not never. */
  readonly health: CallResult;
  /**
   * Where the request is sent once more. `elsewhere`: to another of several indexers, paid by the budget for retries if
   * no other is healthy. `anywhere`: also to the only one, paid by this budget (a passed-through request
   * only to another one, unpaid). `here`: to the same one, on a new
   * connection, as soon as its rate limit allows, unpaid. `if doubtful`: to another one that may know better
   * (`fleet/second-try.ts`), unpaid. `with another key`: to a backup, or without one to another indexer, unpaid.
   */
  readonly again: 'nowhere' | 'elsewhere' | 'anywhere' | 'here' | 'if doubtful' | 'with another key';
}

/**
 * A circuit breaker that requests pass: that of operations that are not served, the pause, or that of the operation.
 */
export type BreakerKind = 'not-served' | 'pause' | 'operation';

/**
 * The one table of the meaning of an indexer's answer. All code that depends on an outcome reads it, and adds no rule
 * of its own.
 */
export const OUTCOMES: Readonly<Record<Outcome, Meaning>> = {
  //             clients get, kept, failure of, health, again
  answered: row('its answer', 'stored', 'none', 'success', 'if doubtful'),
  absent: row('its answer', 'stored', 'none', 'success', 'if doubtful'),
  'client-error': row('upstream-error', 'briefly', 'none', 'success', 'if doubtful'),
  'too-large': row('upstream-too-large', 'briefly', 'none', 'success', 'nowhere'),
  'refused-key': row('upstream-unauthorized', 'briefly', 'none', 'failure', 'elsewhere'),
  redirect: row('upstream-redirect', 'briefly', 'none', 'failure', 'elsewhere'),
  'not-served': row('not-served', 'briefly', 'not-served', 'success', 'elsewhere'),
  'rate-limited': row('upstream-rate-limited', 'briefly', 'pause', 'success', 'elsewhere'),
  failed: row('upstream-error', 'briefly', 'operation', 'failure', 'elsewhere'),
  invalid: row('upstream-invalid', 'briefly', 'operation', 'failure', 'elsewhere'),
  timeout: row('upstream-timeout', 'briefly', 'operation', 'failure', 'elsewhere'),
  broken: row('upstream-reset', 'briefly', 'operation', 'failure', 'anywhere'),
  'idle-broken': row('upstream-reset', 'no', 'unknown', 'unknown', 'here'),
  unreachable: row('upstream-unreachable', 'briefly', 'all', 'failure', 'anywhere'),
  refused: row('overloaded', 'no', 'unknown', 'unknown', 'elsewhere'),
  unknown: row('internal', 'no', 'unknown', 'unknown', 'nowhere'),
  'own-error': row('upstream-error', 'no', 'unknown', 'unknown', 'nowhere'),
  'passed-refused': row('its answer', 'no', 'unknown', 'unknown', 'nowhere'),
  'passed-key-refused': row('upstream-unauthorized', 'no', 'unknown', 'unknown', 'with another key'),
  'passed-limited': row('its answer', 'no', 'pause', 'success', 'nowhere'),
  'passed-failed': row('its answer', 'no', 'operation', 'failure', 'nowhere'),
  'passed-redirect': row('upstream-redirect', 'no', 'none', 'success', 'nowhere'),
};

function row(
  client: Meaning['client'],
  kept: Meaning['kept'],
  failureOf: Meaning['failureOf'],
  health: Meaning['health'],
  again: Meaning['again'],
): Meaning {
  return { client, kept, failureOf, health, again };
}

/**
 * From the breaker whose failure shows most about the indexer to the one that shows least: a 429 may come from a server
 * in front of it.
 */
const FAILURES_OF: readonly Meaning['failureOf'][] = ['none', 'not-served', 'pause', 'operation', 'all'];

/**
 * The result of an outcome for a circuit breaker: `failure` if this breaker counts it; `success` if the outcome shows
 * more about the indexer than such a failure does; `unknown` if it shows less.
 */
export function resultIn(breaker: BreakerKind, outcome: Outcome): CallResult {
  const { failureOf } = OUTCOMES[outcome];
  if (failureOf === breaker || (failureOf === 'all' && breaker === 'operation')) return 'failure';
  const place = FAILURES_OF.indexOf(failureOf);
  return place >= 0 && place < FAILURES_OF.indexOf(breaker) ? 'success' : 'unknown';
}

/** By the code that clients get. */
const BY_CODE: ReadonlyMap<string, Outcome> = new Map(
  (Object.keys(OUTCOMES) as Outcome[])
    // These never end a request, or share their code with an outcome that does.
    .filter(
      (outcome) =>
        !['idle-broken', 'client-error', 'own-error', 'passed-key-refused', 'passed-redirect'].includes(outcome),
    )
    .map((outcome) => [OUTCOMES[outcome].client, outcome]),
);

/** The outcome of the request that a failure comes from. */
export function outcomeOf({ code, details }: Pick<ProxyError, 'code' | 'details'>): Outcome {
  const { upstreamStatus, isOwnAnswer } = details;
  if (isOwnAnswer === true) return 'own-error';
  // Without a status it was not sent, because the indexer had reported this before.
  if (code === 'not-served' && upstreamStatus === undefined) return 'refused';
  if (code === 'upstream-error' && upstreamStatus !== undefined) return outcomeOfError(upstreamStatus);
  return BY_CODE.get(code) ?? 'unknown';
}

/** The outcome of an answer whose status decides alone: its body adds nothing. */
export function outcomeOfStatus(status: number): Outcome | undefined {
  if (status === 401 || status === 402 || status === 403) return 'refused-key';
  if (status === 429) return 'rate-limited';
  if (status === 501) return 'not-served';
  return status >= 300 && status < 400 ? 'redirect' : undefined;
}

/** Statuses by which an indexer may refuse a request for what it asks. By any other 4xx it fails itself. */
const FAULTS_OF_REQUESTS: readonly number[] = [400, 409, 410, 413, 414, 416, 422, 431];

/** The outcome of an operation's answer that is neither data nor the indexer's own "nothing there". */
export function outcomeOfError(status: number): Outcome {
  if (FAULTS_OF_REQUESTS.includes(status)) return 'client-error';
  return outcomeOfStatus(status) ?? (status >= 400 && status <= 599 ? 'failed' : 'invalid');
}

/** An answer to a passed-through request, as far as its outcome depends on it. */
export interface PassedAnswer {
  readonly status: number;
  /** True if the request was sent with our API key. */
  readonly hadOurKey: boolean;
  /** True if its body is an error of the API itself, such as a server in front of the indexer does not write. */
  readonly isOwnError: boolean;
  /** True for a redirect to another place than one below the indexer's address. */
  readonly leadsElsewhere: boolean;
}

/**
 * The outcome of a passed-through request. Its client gets every answer but the refusal of our key, and the address of the
 * indexer. The API reports some mistakes of clients by 401, and by neither 402 nor 403.
 */
export function outcomeOfPassed({ status, hadOurKey, isOwnError, leadsElsewhere }: PassedAnswer): Outcome {
  if (leadsElsewhere) return 'passed-redirect';
  if (outcomeOfStatus(status) === 'refused-key')
    return hadOurKey && !(status === 401 && isOwnError) ? 'passed-key-refused' : 'passed-refused';
  if (status === 429) return 'passed-limited';
  return status >= 500 ? 'passed-failed' : 'answered';
}

/**
 * With these an indexer reports an error in the request, as toncache does with 422: they show nothing about the
 * indexer. With 409 `walletInformation` reports an account that is not a wallet.
 */
export const CLIENT_MISTAKES: readonly number[] = [400, 409, 414, 422];

/** The outcome of requests that a metric counts by the status of their answers, or by the code of their failures. */
export function outcomeOfResult(result: string): Outcome {
  const status = Number(result);
  if (Number.isNaN(status)) return BY_CODE.get(result) ?? 'unknown';
  return status === 200 || status === 404 ? 'answered' : outcomeOfError(status);
}

/** True if a status shows that the indexer works: an answer, or the report of a mistake in the request. */
export function isGoodStatus(status: number): boolean {
  return status === 200 || status === 404 || CLIENT_MISTAKES.includes(status);
}

/** True if requests with this result show a problem of the indexer. */
export function isBadResult(result: string): boolean {
  return OUTCOMES[outcomeOfResult(result)].kept === 'briefly' && !CLIENT_MISTAKES.includes(Number(result));
}
