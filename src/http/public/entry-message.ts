import { type Entry, etagOf } from '../../cache/entry.ts';
import type { SentBody } from '../../cache/gzip.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { tagsIn } from '../parse-request.ts';
import { commonHeaders, type ResponseContext, type ResponseMessage } from './response-message.ts';

/** What the answer that sends an entry needs beside it. */
export interface EntryContext extends ResponseContext {
  /**
   * Whether the answer is for this client alone: a header of its request may have changed it, and some shared caches, which
   * do not look at `Vary`, would give it to everybody who asks for the URL.
   */
  readonly isPrivate: boolean;
}

/**
 * The answer that sends an entry in one of its forms, or a 304 when the client already holds that. `now` is
 * epoch milliseconds. The body is the form's own buffer.
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
 * Whether `If-None-Match` names a tag, compared weakly (RFC 9110 13.1.2). Only the tag of what would be sent counts: a
 * client may hold another coding that it accepts no longer.
 */
function isNamed(etag: string, ifNoneMatch: RequestHeaders[string]): boolean {
  if (typeof ifNoneMatch !== 'string') return false;
  return ifNoneMatch.trim() === '*' || tagsIn(ifNoneMatch).includes(etag);
}

function withAcceptEncoding(vary: string): string {
  return vary === '' ? 'Accept-Encoding' : `Accept-Encoding, ${vary}`;
}

/** The value of `Age`: whole seconds since the indexer was asked, and those that other caches had the answer before. */
export function ageOf({ askedAt, ageValueSeconds }: Entry, now: number): number {
  return ageValueSeconds + Math.max(0, Math.floor((now - askedAt) / 1000));
}

/**
 * How long the answer may be kept. Clients subtract `Age` from `max-age` (RFC 9111 4.2.3), so the age is added here: they keep
 * it for the rest of its lifetime at most. They revalidate an answer that is already stale before each use. nginx subtracts
 * nothing: it obeys `X-Accel-Expires`, and removes it. There it goes before `private`, so only public answers have it.
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
