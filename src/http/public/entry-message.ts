import type { Entry } from '../../cache/entry.ts';
import type { Form } from '../../cache/forms.ts';
import { ENCODINGS, etagOf } from '../../content-codings.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { tagsIn } from '../parse-request.ts';
import { commonHeaders, type ResponseContext, type ResponseMessage } from './response-message.ts';

/**
 * The answer that sends an entry in one of its forms, or a 304 when the client already holds it in any coding. `now` is
 * epoch milliseconds. The body is the form's own buffer.
 */
export function entryMessage(
  request: RequestHeaders,
  entry: Entry,
  { coding, body, varies }: Form,
  context: ResponseContext,
  now: number,
): ResponseMessage {
  const { head } = entry;
  const headers = commonHeaders(varies ? { ...context, vary: withAcceptEncoding(context.vary) } : context);
  const ageSeconds = ageOf(entry, now);
  const etag = etagOf(entry.etag, coding);
  const held = head.status === 200 ? heldTag(request['if-none-match'], entry, etag) : undefined;
  headers.push('ETag', held ?? etag, 'Age', String(ageSeconds), 'Cache-Control', cacheControl(entry, ageSeconds, now));
  if (held !== undefined) return { status: 304, headers, body: undefined };
  if (coding !== 'identity') headers.push('Content-Encoding', coding);
  headers.push('Content-Type', head.contentType, 'Content-Length', String(body.length));
  if (head.apiVersion !== undefined) headers.push('X-API-Version', head.apiVersion);
  return { status: head.status, headers, body };
}

/**
 * The tag of this answer that `If-None-Match` names (RFC 9110 13.1.2), compared weakly: that of the form if it is among them,
 * or that of any other coding, which the client may hold from before.
 */
function heldTag(ifNoneMatch: RequestHeaders[string], entry: Entry, etag: string): string | undefined {
  if (typeof ifNoneMatch !== 'string') return undefined;
  if (ifNoneMatch.trim() === '*') return etag;
  const named = tagsIn(ifNoneMatch);
  const own = [etag, entry.etag, ...ENCODINGS.map((encoding) => etagOf(entry.etag, encoding))];
  return own.find((tag) => named.includes(tag));
}

function withAcceptEncoding(vary: string): string {
  return vary === '' ? 'Accept-Encoding' : `Accept-Encoding, ${vary}`;
}

/** The value of `Age`: whole seconds since the indexer was asked. */
export function ageOf({ askedAt }: Entry, now: number): number {
  return Math.max(0, Math.floor((now - askedAt) / 1000));
}

/**
 * Clients subtract `Age` from `max-age` (RFC 9111 4.2.3), so the age is added here: they keep the answer for the rest
 * of its lifetime at most. They revalidate an answer that is already stale before each use.
 */
function cacheControl({ head, freshUntil }: Entry, ageSeconds: number, now: number): string {
  if (head.maxAgeSeconds === 0) return 'no-store';
  if (now >= freshUntil) return 'public, max-age=0';
  const leftSeconds = Math.floor((freshUntil - now) / 1000);
  return `public, max-age=${ageSeconds + Math.min(leftSeconds, head.maxAgeSeconds)}`;
}
