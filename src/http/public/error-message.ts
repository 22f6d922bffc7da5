import type { ProxyError } from '../../errors.ts';
import { FAILURES } from '../../failures/codes.ts';
import { commonHeaders, type ResponseContext, type ResponseMessage } from './response-message.ts';

/** A failure in the indexer's own form, `{"error":"..."}`; never cacheable. */
export function errorMessage(error: ProxyError, context: ResponseContext): ResponseMessage {
  const { upstreamStatus, upstreamBody, apiVersion, retryAfterSeconds, allow, rateLimit } = error.details;
  const status =
    error.code === 'upstream-error' && upstreamStatus !== undefined ? upstreamStatus : FAILURES[error.code].status;
  const body = upstreamBody ?? Buffer.from(JSON.stringify({ error: error.message }));
  const headers = commonHeaders(context);
  headers.push('Cache-Control', 'no-store', 'Content-Type', 'application/json', 'Content-Length', String(body.length));
  if (allow !== undefined) headers.push('Allow', allow);
  if (apiVersion !== undefined) headers.push('X-API-Version', apiVersion);
  if (retryAfterSeconds !== undefined) headers.push('Retry-After', String(retryAfterSeconds));
  if (rateLimit !== undefined) headers.push('RateLimit-Policy', rateLimit.policy, 'RateLimit', rateLimit.state);
  return { status, headers, body };
}
