import { FAILURES, type Failure } from './failures/codes.ts';
import type { ExplainedBy } from './failures/explained-by.ts';
import { REFUSED, type RefusedReason } from './failures/refusals.ts';
import { retryAfterSeconds } from './failures/retry-after.ts';
import { filled, sentenceOf } from './failures/sentence.ts';

import type { Ms } from './time-units.ts';

/** A way a request can fail. */
export type ErrorCode = keyof typeof FAILURES;

/** The failures that the indexer can cause. */
export const UPSTREAM_FAILURES = (Object.keys(FAILURES) as ErrorCode[]).filter(isUpstreamFailure);

function isUpstreamFailure(code: ErrorCode): code is Extract<ErrorCode, `upstream-${string}`> {
  return code.startsWith('upstream-');
}

/** A longer error body of the indexer is replaced by our own message. */
export const LONGEST_ERROR_BYTES = 64 * 1024;

/** Details of a failure in addition to its code and message. */
export interface ErrorDetails {
  readonly cause?: unknown;
  /** The status of the indexer's answer, if there was one. */
  readonly upstreamStatus?: number | undefined;
  /** The indexer that failed, if there are several. */
  readonly indexer?: string | undefined;
  /** Why this proxy sent no request to the indexer, in one word for the log. */
  readonly reason?: RefusedReason | undefined;
  /** The indexer's own error body, passed on unchanged: at most `LONGEST_ERROR_BYTES`. Only for `upstream-error`. */
  readonly upstreamBody?: Buffer | undefined;
  /** Set if this error body answers the request: the indexer works. */
  readonly isOwnAnswer?: true | undefined;
  /** The indexer's `X-API-Version`, if it sent one. */
  readonly apiVersion?: string | undefined;
  /** The time in seconds after which a client should retry. */
  readonly retryAfterSeconds?: number | undefined;
  /** The accepted methods. */
  readonly allow?: string;
  /** The reason at length, with settings and lists, for operators. Clients get the message. */
  readonly explained?: string | undefined;
  /** The values of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10). */
  readonly rateLimit?: ClientLimit;
}

/** A limit of one client, and what remains of it, as header values. */
export interface ClientLimit {
  readonly policy: string;
  readonly state: string;
}

/**
 * A failure that a client gets as its answer. Its message is sent to the client, so it never contains a secret or input
 * of another client. It has no stack: making one was a tenth of the CPU time of a refused request (measured), and the code
 * identifies the place. An unexpected error is its `cause`, which has a stack.
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

  /** The same failure with these details. */
  with(details: ErrorDetails): ProxyError {
    return new ProxyError(this.code, this.message, { ...this.details, ...details });
  }

  /** The same failure in the words for operators, if they differ from those for clients. */
  get forOperators(): ProxyError {
    const { explained } = this.details;
    return explained === undefined ? this : new ProxyError(this.code, explained, this.details);
  }

  /** The same failure for a wait that is known now. See {@link Told}. */
  withWait(waitMs: Ms, chance: number): ProxyError {
    return this.with({ retryAfterSeconds: retryAfterSeconds(FAILURES[this.code].retryAfter, waitMs, chance) });
  }

  /** The status that the client gets. */
  get status(): number {
    const { upstreamStatus } = this.details;
    if (this.code === 'upstream-error' && upstreamStatus !== undefined) return upstreamStatus;
    const words = this.#words;
    return 'status' in words ? words.status : FAILURES[this.code].status;
  }

  /** The condition that explains it to operators, and its words without that condition. */
  get why(): { readonly condition: ExplainedBy; readonly says: string } {
    const its: { readonly condition?: ExplainedBy; readonly operatorReads: string } = this.#words;
    return { condition: its.condition ?? 'bug', says: sentenceOf(its, this.details.indexer) };
  }

  /** Its row of the registry: that of the reason for a refusal, or of its code. */
  get #words() {
    const { reason } = this.details;
    return this.code === 'overloaded' && reason !== undefined ? REFUSED[reason] : FAILURES[this.code];
  }

  /** True if the request itself is wrong: then no condition explains the failure. */
  get isMistake(): boolean {
    return !('condition' in FAILURES[this.code]);
  }

  /** True if a request was sent to the indexer (or it could not be reached), as opposed to a refusal by this proxy. */
  get wentForward(): boolean {
    return isUpstreamFailure(this.code) || this.details.upstreamStatus !== undefined;
  }
}

type TextName<Code extends ErrorCode> = keyof (typeof FAILURES)[Code]['clientReads'] & string;

/** The variable parts of a failure, in addition to the words of the registry. */
interface Told<Code extends ErrorCode> extends Omit<ErrorDetails, 'retryAfterSeconds'> {
  /** The text of the code; `usual` when absent. */
  readonly text?: TextName<Code>;
  /** The values of the text's placeholders. */
  readonly values?: Readonly<Record<string, string | number>>;
  /** The time after which a retry may succeed; 0, or absent, when unknown. */
  readonly waitMs?: Ms | undefined;
  /** 0 to 1, drawn at random if no wait is known; absent for 0. */
  readonly chance?: number;
}

/** A failure in the words of the registry, with the `Retry-After` of its code. */
export function failure<Code extends ErrorCode>(code: Code, told: Told<Code> = {}): ProxyError {
  const { text = 'usual', values, waitMs = 0, chance = 0, ...details } = told;
  const { clientReads, retryAfter, explained }: Failure = FAILURES[code];
  const say = (words: string) => (values === undefined ? words : filled(words, values));
  const atLength = explained?.[text];
  return new ProxyError(code, say(clientReads[text] ?? clientReads.usual), {
    ...details,
    ...(atLength !== undefined && { explained: say(atLength) }),
    retryAfterSeconds: retryAfterSeconds(retryAfter, waitMs, chance),
  });
}

/** The failure of a refused request. `waitMs` and `chance` as in {@link Told}. */
export function overloaded(reason: Exclude<RefusedReason, 'client-limit'>, chance: number, waitMs: Ms = 0): ProxyError {
  const seconds = retryAfterSeconds(FAILURES.overloaded.retryAfter, waitMs, chance);
  return new ProxyError('overloaded', REFUSED[reason].clientReads, { retryAfterSeconds: seconds, reason });
}

/** True if the request may still be passed through after this failure. Then it is counted when its answer is sent. */
export function mayBePassedOn(error: unknown): boolean {
  return error instanceof ProxyError && (error.code === 'not-cacheable' || error.code === 'upstream-too-large');
}
