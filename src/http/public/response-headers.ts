import type { IncomingHttpHeaders } from 'node:http';
import { type CacheStatus, renderCacheStatus } from '../../answer/cache-status.ts';
import { requestIdOf } from '../../answer/request-trace.ts';
import { type Entry, etagOf } from '../../cache/entry.ts';
import type { SentBody } from '../../cache/gzip.ts';
import type { ProxyError } from '../../errors.ts';
import type { ForwardedAnswer } from '../../indexer/upstream-client.ts';
import type { EpochMs } from '../../time-units.ts';
import type { Operation } from '../../ton/operations.ts';
import { hasHeaderOf, type RequestHeaders } from '../../ton/parse-call.ts';
import { tagsIn } from '../parse-request.ts';
import { connectionHeaders } from '../pass-through/forwarded-headers.ts';
import type { Origins } from './origins.ts';
import type { ResponseMessage } from './response-message.ts';

/** Methods of the public port. */
export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';

/** Headers that pages may read, in addition to those that browsers always show them. */
const EXPOSED = 'Cache-Status, Age, ETag, RateLimit, RateLimit-Policy, Retry-After, X-API-Version, X-Request-Id';

/** The context of an answer, in addition to its entry or failure. */
export interface ResponseContext {
  /** The headers of the request. */
  readonly request: RequestHeaders;
  /** Absent if the request is not for one. */
  readonly operation?: Operation | undefined;
  readonly cacheStatus: CacheStatus;
  /** Absent on a memory hit. */
  readonly requestId: string | undefined;
}

/**
 * Makes the headers of all answers of the public port, in the flat form of `writeHead`: half the cost of `setHeader`
 * (measured). Those of the connection are added when an answer is written.
 */
export class ResponseHeaders {
  readonly #origins: Origins;

  constructor(origins: Origins) {
    this.#origins = origins;
  }

  /**
   * The answer that sends an entry in one of its forms, or a 304 if the client already has this form. `now` is epoch
   * milliseconds. The body is the form's own buffer.
   */
  entry(entry: Entry, sent: SentBody, context: ResponseContext, now: EpochMs): ResponseMessage {
    const { status } = entry.meta;
    const moving = movingHeaders(entry, context, now);
    const hasForm =
      status === 200 &&
      isRevalidated(context) &&
      isNamed(etagOf(entry.etag, sent.coding), context.request['if-none-match']);
    return hasForm
      ? { status: 304, headers: moving.concat(this.#validating(entry, sent, context)), body: undefined }
      : { status, headers: moving.concat(this.lasting(entry, sent, context)), body: sent.body };
  }

  /** The other headers of an entry in one of its forms: they follow {@link movingHeaders}, and stay the same. */
  lasting(entry: Entry, sent: SentBody, context: ResponseContext): string[] {
    const { contentType, apiVersion } = entry.meta;
    const headers = this.#validating(entry, sent, context);
    if (sent.coding !== 'identity') headers.push('Content-Encoding', sent.coding);
    headers.push('Content-Type', contentType, 'Content-Length', String(sent.body.length));
    if (apiVersion !== undefined) headers.push('X-API-Version', apiVersion);
    return headers;
  }

  /** A failure in the indexer's own form, `{"error":"..."}`; never cacheable. */
  failure(error: ProxyError, context: ResponseContext): ResponseMessage {
    const { upstreamBody, apiVersion, retryAfterSeconds, allow, rateLimit } = error.details;
    const body = upstreamBody ?? Buffer.from(JSON.stringify({ error: error.message }));
    const headers = this.#uncached(body, context);
    if (allow !== undefined) headers.push('Allow', allow);
    if (apiVersion !== undefined) headers.push('X-API-Version', apiVersion);
    if (retryAfterSeconds !== undefined) headers.push('Retry-After', String(retryAfterSeconds));
    if (rateLimit !== undefined) headers.push('RateLimit-Policy', rateLimit.policy, 'RateLimit', rateLimit.state);
    return { status: error.status, headers, body };
  }

  /** Answers a health check of a load balancer. No cache may answer in its place. */
  health(status: number, state: object, request: RequestHeaders): ResponseMessage {
    const body = Buffer.from(JSON.stringify(state));
    const context = { request, cacheStatus: { detail: 'health' }, requestId: requestIdOf(request) } as const;
    return { status, headers: this.#uncached(body, context), body };
  }

  /**
   * Answers a CORS preflight (Fetch standard 3.2.2). Pass-through also accepts POST. A page may send any header: unread
   * headers are dropped. `*` does not include `Authorization`.
   */
  preflight(passesThrough: boolean, request: RequestHeaders): ResponseMessage {
    const headers = this.#ours({ request, cacheStatus: { detail: 'preflight' }, requestId: requestIdOf(request) });
    if (this.#origins.answerTo(request) !== undefined) {
      const methods = passesThrough ? `${ALLOWED_METHODS}, POST` : ALLOWED_METHODS;
      headers.push('Access-Control-Allow-Methods', methods, 'Access-Control-Allow-Headers', '*, Authorization');
      headers.push('Access-Control-Max-Age', '86400');
    }
    return { status: 204, headers, body: undefined };
  }

  /** The headers of a passed-through answer: those that {@link returnedHeaders} left, and ours. */
  passed(
    { status, headers }: Pick<ForwardedAnswer, 'status' | 'headers'>,
    context: Omit<ResponseContext, 'cacheStatus'>,
    cacheStatus: CacheStatus = { fwd: 'bypass', fwdStatus: status },
  ): string[] {
    const { vary, ...its } = headers;
    const lines = Object.entries(its).flatMap(([name, value]) => [value ?? []].flat().flatMap((line) => [name, line]));
    if (its['cache-control'] === undefined) lines.push('Cache-Control', 'no-store');
    return [...lines, ...this.#ours({ ...context, cacheStatus }, vary)];
  }

  #validating(entry: Entry, { coding, varies }: SentBody, context: ResponseContext): string[] {
    const { vary = '' } = context.operation ?? {};
    const headers = this.#common(context, varies ? listOf('Accept-Encoding', vary) : vary);
    if (isRevalidated(context)) headers.push('ETag', etagOf(entry.etag, coding));
    return headers;
  }

  #uncached(json: Buffer, context: ResponseContext): string[] {
    const headers = this.#ours(context);
    headers.push('Cache-Control', 'no-store', 'Content-Type', 'application/json', 'Content-Length', `${json.length}`);
    return headers;
  }

  #ours(context: ResponseContext, vary = context.operation?.vary): string[] {
    return ['Cache-Status', renderCacheStatus(context.cacheStatus), ...this.#common(context, vary)];
  }

  /** On every answer. Without a list of origins, browser wallets read answers from any. */
  #common({ request, requestId }: ResponseContext, vary = ''): string[] {
    const headers = ['X-Content-Type-Options', 'nosniff'];
    const origin = this.#origins.answerTo(request);
    if (origin !== undefined) {
      headers.push('Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED);
    }
    const varies = this.#origins.areListed ? listOf(vary, 'Origin') : vary;
    if (varies !== '') headers.push('Vary', varies);
    if (requestId !== undefined) headers.push('X-Request-Id', requestId);
    return headers;
  }
}

/** The headers of an entry that change with time. They are the first ones, so that the fast lane replaces only these. */
export function movingHeaders(entry: Entry, context: ResponseContext, now: EpochMs): string[] {
  const { cacheStatus, operation, request } = context;
  const ageSeconds = ageOf(entry, now);
  const isPrivate = operation !== undefined && hasHeaderOf(operation, request);
  const kept = keptFor(entry, isPrivate, ageSeconds, now);
  return ['Cache-Status', renderCacheStatus(cacheStatus), 'Age', String(ageSeconds), ...kept];
}

/** The value of `Age`: whole seconds since the request to the indexer, plus the time in other caches. */
export function ageOf({ askedAt, ageValueSeconds }: Entry, now: EpochMs): number {
  return ageValueSeconds + Math.max(0, Math.floor((now - askedAt) / 1000));
}

/**
 * The caching headers. Clients subtract `Age` from `max-age` (RFC 9111 4.2.3), so the age is added here: they keep the
 * answer at most for the rest of its lifetime. They revalidate a stale answer before each use. nginx subtracts nothing:
 * it obeys `X-Accel-Expires`, and removes it. nginx prefers it to `private`, so only public answers have it.
 *
 * `isPrivate`: the answer is for this client only. A header of its request may have changed it, and some shared caches
 * that ignore `Vary` would give it to every client of the URL.
 */
function keptFor({ meta, freshUntil }: Entry, isPrivate: boolean, ageSeconds: number, now: EpochMs): readonly string[] {
  if (meta.maxAgeSeconds === 0) return ['Cache-Control', 'no-store'];
  const isStale = now >= freshUntil;
  const remainingSeconds = isStale ? 0 : Math.min(Math.floor((freshUntil - now) / 1000), meta.maxAgeSeconds);
  const maxAge = isStale ? 0 : ageSeconds + remainingSeconds;
  if (isPrivate) return ['Cache-Control', `private, max-age=${maxAge}`];
  return ['Cache-Control', `public, max-age=${maxAge}`, 'X-Accel-Expires', String(remainingSeconds)];
}

/**
 * True if `If-None-Match` names a tag, compared weakly (RFC 9110 13.1.2). Only the tag of the form to send counts: a
 * client may have another coding that it no longer accepts.
 */
function isNamed(etag: string, ifNoneMatch: RequestHeaders[string]): boolean {
  if (typeof ifNoneMatch !== 'string') return false;
  return ifNoneMatch.trim() === '*' || tagsIn(ifNoneMatch).includes(etag);
}

/** False for the answer to a `POST`. */
function isRevalidated({ operation }: ResponseContext): boolean {
  return operation?.body === undefined;
}

/** A list of header names; either part may be empty. */
function listOf(first: string, second: string): string {
  return first === '' || second === '' ? first + second : `${first}, ${second}`;
}

/**
 * The headers of an indexer's answer that its client gets, in addition to {@link RETURNED_KINDS}. All others are about
 * the indexer, its edge and our key, or steer the browser of a page.
 */
const RETURNED: ReadonlySet<string> = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'content-language', 'content-disposition', 'content-range'],
  ...['content-security-policy', 'x-content-type-options', 'x-frame-options', 'referrer-policy'],
  ...['etag', 'last-modified', 'accept-ranges', 'allow', 'location'],
  ...['cache-control', 'expires', 'vary', 'age', 'date', 'retry-after'],
  ...['x-api-version', 'x-accel-buffering'],
]);

const RETURNED_KINDS = /^sec-websocket-/;

/** About the credentials of a request: returned if these were its client's own. */
const OF_CREDENTIALS = /^(?:www-authenticate$|x-ratelimit-)/;

/**
 * The headers of a passed-through answer that its client gets. `hadCredentials`: the request was sent with the client's
 * own.
 */
export function returnedHeaders(headers: IncomingHttpHeaders, hadCredentials: boolean): IncomingHttpHeaders {
  const ofConnection = connectionHeaders(headers);
  const isReturned = (name: string) =>
    RETURNED.has(name) || RETURNED_KINDS.test(name) || (hadCredentials && OF_CREDENTIALS.test(name));
  const { 'content-security-policy': policy, ...others } = headers;
  const returned = Object.entries({ ...others, 'content-security-policy': withoutReports(policy) });
  return Object.fromEntries(
    returned.filter(([name, value]) => value !== undefined && isReturned(name) && !ofConnection.has(name)),
  );
}

/** A content policy without the addresses to which browsers would report. */
function withoutReports(policy: string | readonly string[] | undefined): string | undefined {
  const policies = [policy ?? []].flat().flatMap((line) => line.split(','));
  const kept = policies.map((each) =>
    each
      .split(';')
      .filter((directive) => !/^\s*report-/i.test(directive))
      .join(';'),
  );
  return kept.filter((each) => each.trim() !== '').join(',') || undefined;
}
