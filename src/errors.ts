/**
 * Every way a request can fail, in one closed list, with the status that its client gets; `upstream-error` keeps the
 * indexer's own.
 */
export const STATUS = {
  'invalid-request': 422,
  'bad-request': 400,
  'body-too-large': 413,
  'head-too-large': 431,
  'request-timeout': 408,
  'unsupported-encoding': 501,
  'unsupported-version': 505,
  'not-found': 404,
  // No 404 within the API: wallets read that as "nothing there". With a status of the indexer it said so itself.
  'not-served': 501,
  'method-not-allowed': 405,
  'too-many-requests': 429,
  overloaded: 503,
  'shutting-down': 503,
  'upstream-broken': 502,
  'upstream-error': 502,
  'upstream-invalid': 502,
  'upstream-rate-limited': 503,
  'upstream-redirect': 502,
  'upstream-refused-key': 502,
  'upstream-timeout': 504,
  'upstream-too-large': 502,
  'upstream-unreachable': 502,
  // Never sent: in the log it is the number that nginx has for a client that left.
  'client-left': 499,
  internal: 500,
} as const;

/** A way a request can fail. */
export type ErrorCode = keyof typeof STATUS;

/** How the indexer can fail a request. */
export const UPSTREAM_FAILURES = (Object.keys(STATUS) as ErrorCode[]).filter(isUpstreamFailure);

function isUpstreamFailure(code: ErrorCode): code is Extract<ErrorCode, `upstream-${string}`> {
  return code.startsWith('upstream-');
}

/** A longer error body of the indexer is replaced by our own message. */
export const LONGEST_ERROR_BYTES = 64 * 1024;

/** Details of a failure beside its code and message. */
export interface ErrorDetails {
  readonly cause?: unknown;
  /** The status the indexer answered with, when it answered. */
  readonly upstreamStatus?: number | undefined;
  /** The indexer's own error body, passed on as it is: `LONGEST_ERROR_BYTES` at most. Only for `upstream-error`. */
  readonly upstreamBody?: Buffer | undefined;
  /** The indexer's `X-API-Version`, when it sent one. */
  readonly apiVersion?: string | undefined;
  /** Seconds a client should wait before it asks again. */
  readonly retryAfterSeconds?: number | undefined;
  /** The methods that would be accepted. */
  readonly allow?: string;
  /** The values of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10). */
  readonly rateLimit?: ClientLimit;
}

/** A limit of one client, and what is left of it, as header values. */
export interface ClientLimit {
  readonly policy: string;
  readonly state: string;
}

/**
 * A failure that a client gets as its answer. Its message is sent to the client, so it never holds a secret or input of
 * another client. It has no stack: making one was a tenth of the CPU time of a shed request (measured), and the code says
 * where it comes from. An unexpected error is its `cause`, which has a stack.
 */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.details = details;
  }

  /** The same failure with another `Retry-After`. */
  withRetryAfter(retryAfterSeconds: number): ProxyError {
    return new ProxyError(this.code, this.message, { ...this.details, retryAfterSeconds });
  }

  /** Whether the indexer was asked (or could not be reached), as opposed to a refusal by this proxy. */
  get wentForward(): boolean {
    return isUpstreamFailure(this.code) || this.details.upstreamStatus !== undefined;
  }
}
