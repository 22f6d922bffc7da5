import { type Entry, etagOf } from '../../cache/entry.ts';
import type { SentBody } from '../../cache/gzip.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { tagsIn } from '../parse-request.ts';
import { commonHeaders, type ResponseContext, type ResponseMessage } from './response-message.ts';

/** The context of an answer that sends an entry. */
export interface EntryContext extends ResponseContext {
  /**
   * True if the answer is for this client only: a header of its request may have changed it, and some shared caches
   * that ignore `Vary` would give it to every client of the URL.
   */
  readonly isPrivate: boolean;
}

/**
 * The answer that sends an entry in one of its forms, or a 304 if the client already has this form. `now` is epoch
 * milliseconds. The body is the form's own buffer.
 */
export function entryMessage(
  request: RequestHeaders,
  entry: Entry,
  { coding, body, varies }: SentBody,
  context: EntryContext,
  now: number,
): ResponseMessage {
  const { meta } = entry;
  const headers = commonHeaders(varies ? { ...context, vary: withAcceptEncoding(context.vary) } : context);
  const ageSeconds = ageOf(entry, now);
  const etag = etagOf(entry.etag, coding);
  headers.push('ETag', etag, 'Age', String(ageSeconds), ...keptFor(entry, context, ageSeconds, now));
  if (meta.status === 200 && isNamed(etag, request['if-none-match'])) return { status: 304, headers, body: undefined };
  if (coding !== 'identity') headers.push('Content-Encoding', coding);
  headers.push('Content-Type', meta.contentType, 'Content-Length', String(body.length));
  if (meta.apiVersion !== undefined) headers.push('X-API-Version', meta.apiVersion);
  return { status: meta.status, headers, body };
}

/**
 * True if `If-None-Match` names a tag, compared weakly (RFC 9110 13.1.2). Only the tag of the form to send counts: a
 * client may have another coding that it no longer accepts.
 */
function isNamed(etag: string, ifNoneMatch: RequestHeaders[string]): boolean {
  if (typeof ifNoneMatch !== 'string') return false;
  return ifNoneMatch.trim() === '*' || tagsIn(ifNoneMatch).includes(etag);
}

function withAcceptEncoding(vary: string): string {
  return vary === '' ? 'Accept-Encoding' : `Accept-Encoding, ${vary}`;
}

/** The value of `Age`: whole seconds since the request to the indexer, plus the time in other caches. */
export function ageOf({ askedAt, ageValueSeconds }: Entry, now: number): number {
  return ageValueSeconds + Math.max(0, Math.floor((now - askedAt) / 1000));
}

/**
 * The caching headers. Clients subtract `Age` from `max-age` (RFC 9111 4.2.3), so the age is added here: they keep the
 * answer at most for the rest of its lifetime. They revalidate a stale answer before each use. nginx subtracts nothing:
 * it obeys `X-Accel-Expires`, and removes it. nginx prefers it to `private`, so only public answers have it.
 */
function keptFor(
  { meta, freshUntil }: Entry,
  { isPrivate }: EntryContext,
  ageSeconds: number,
  now: number,
): readonly string[] {
  if (meta.maxAgeSeconds === 0) return ['Cache-Control', 'no-store'];
  const isStale = now >= freshUntil;
  const remainingSeconds = isStale ? 0 : Math.min(Math.floor((freshUntil - now) / 1000), meta.maxAgeSeconds);
  const maxAge = isStale ? 0 : ageSeconds + remainingSeconds;
  if (isPrivate) return ['Cache-Control', `private, max-age=${maxAge}`];
  return ['Cache-Control', `public, max-age=${maxAge}`, 'X-Accel-Expires', String(remainingSeconds)];
}
