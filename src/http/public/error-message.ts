import type { ErrorCode, ProxyError } from '../../errors.ts';
import { commonHeaders, type ResponseContext, type ResponseMessage } from './response-message.ts';

/** The status of each failure; `upstream-error` keeps the indexer's own. */
export const STATUS: Record<ErrorCode, number> = {
  'invalid-request': 422,
  'bad-request': 400,
  'body-too-large': 413,
  'head-too-large': 431,
  'request-timeout': 408,
  'unsupported-encoding': 501,
  'unsupported-version': 505,
  'not-found': 404,
  // No 404 within the API: wallets read that as "nothing there".
  'not-served': 501,
  'method-not-allowed': 405,
  'too-many-requests': 429,
  overloaded: 503,
  'shutting-down': 503,
  'upstream-error': 502,
  'upstream-invalid': 502,
  'upstream-rate-limited': 503,
  'upstream-redirect': 502,
  'upstream-refused-key': 502,
  'upstream-timeout': 504,
  'upstream-too-large': 502,
  'upstream-unreachable': 502,
  // Never read: the client has left.
  'client-left': 503,
  internal: 500,
};

/** A failure in the indexer's own shape, `{"error":"..."}`; never cacheable. */
export function errorMessage(error: ProxyError, context: ResponseContext): ResponseMessage {
  const { upstreamStatus, upstreamBody, apiVersion, retryAfterSeconds, allow, rateLimit } = error.details;
  const status = error.code === 'upstream-error' ? (upstreamStatus ?? 502) : STATUS[error.code];
  const body = upstreamBody ?? JSON.stringify({ error: error.message });
  const headers = commonHeaders(context);
  headers.push(
    'Cache-Control',
    'no-store',
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(body)),
  );
  if (allow !== undefined) headers.push('Allow', allow);
  if (apiVersion !== undefined) headers.push('X-API-Version', apiVersion);
  if (retryAfterSeconds !== undefined) headers.push('Retry-After', String(retryAfterSeconds));
  if (rateLimit !== undefined) headers.push('RateLimit-Policy', rateLimit.policy, 'RateLimit', rateLimit.state);
  return { status, headers, body };
}
