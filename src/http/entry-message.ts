import type { Entry } from '../cache/entry.ts';
import type { RequestHeaders } from '../ton/parse-call.ts';
import { noneMatch } from './parse-request.ts';
import { commonHeaders, type ResponseContext, type ResponseMessage } from './response-message.ts';

/**
 * An entry as an answer, or 304 when the client holds it already. `now` is epoch milliseconds. The bytes of the entry go
 * out as they are.
 */
export function entryMessage(
  request: RequestHeaders,
  entry: Entry,
  context: ResponseContext,
  now: number,
): ResponseMessage {
  const { head, body } = entry;
  const headers = commonHeaders(context);
  const ageSeconds = ageOf(entry, now);
  headers.push('ETag', head.etag, 'Age', String(ageSeconds), 'Cache-Control', cacheControl(entry, ageSeconds, now));
  const ifNoneMatch = request['if-none-match'];
  if (head.status === 200 && typeof ifNoneMatch === 'string' && noneMatch(ifNoneMatch, head.etag)) {
    return { status: 304, headers, body: undefined };
  }
  headers.push('Content-Type', head.contentType, 'Content-Length', String(body.length));
  if (head.apiVersion !== undefined) headers.push('X-API-Version', head.apiVersion);
  return { status: head.status, headers, body };
}

/** The value of `Age`: whole seconds since the indexer was asked. */
export function ageOf({ askedAt }: Entry, now: number): number {
  return Math.max(0, Math.floor((now - askedAt) / 1000));
}

/**
 * Clients count `max-age` from when the indexer was asked: they take `Age` off it (RFC 9111 4.2.3), so it is added. They
 * keep the answer until its lifetime ends at the latest; what is stale already they ask for again before each use.
 */
function cacheControl({ head, freshUntil }: Entry, ageSeconds: number, now: number): string {
  if (head.maxAgeSeconds === 0) return 'no-store';
  if (now >= freshUntil) return 'public, max-age=0';
  const leftSeconds = Math.floor((freshUntil - now) / 1000);
  return `public, max-age=${ageSeconds + Math.min(leftSeconds, head.maxAgeSeconds)}`;
}
