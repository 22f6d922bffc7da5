import { z } from 'zod';
import { LONGEST_ERROR_BYTES, ProxyError, UPSTREAM_FAILURES } from '../errors.ts';

/** A failure as instances share it: one of the indexer. The cause is left out: it concerns this process alone. */
const SHARED = z
  .object({
    code: z.enum([...UPSTREAM_FAILURES, 'not-served']),
    message: z.string(),
    upstreamStatus: z.int().min(200).max(599).optional(),
    /** It is sent on in a header. */
    apiVersion: z
      .string()
      .regex(/^[\x20-\x7e]+$/)
      .optional(),
    retryAfterSeconds: z.int().min(0).max(3600).optional(),
    /** In base64. */
    upstreamBody: z
      .string()
      .max(4 * Math.ceil(LONGEST_ERROR_BYTES / 3))
      .optional(),
  })
  .refine(
    ({ code, upstreamStatus = 0 }) => (code !== 'upstream-error' && code !== 'not-served') || upstreamStatus >= 400,
  );

/** A failure of the indexer as text. */
export function encodeFailure(error: ProxyError): string {
  const { code, message, details } = error;
  const { upstreamStatus, apiVersion, retryAfterSeconds } = details;
  const upstreamBody = details.upstreamBody?.toString('base64');
  return JSON.stringify({ code, message, upstreamStatus, apiVersion, retryAfterSeconds, upstreamBody });
}

/** The failure that another instance shared; `undefined` if the text is no such failure. Never throws. */
export function decodeFailure(text: string): ProxyError | undefined {
  const { data } = SHARED.safeParse(parsed(text));
  if (data === undefined) return undefined;
  const { code, message, upstreamBody, ...details } = data;
  const body = upstreamBody === undefined ? undefined : Buffer.from(upstreamBody, 'base64');
  return new ProxyError(code, message, { ...details, upstreamBody: body });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
