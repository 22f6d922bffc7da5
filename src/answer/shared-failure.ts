import { z } from 'zod';
import { LONGEST_ERROR_BYTES, ProxyError, UPSTREAM_FAILURES } from '../errors.ts';
import { OUTCOMES, outcomeOf } from '../outcomes.ts';
import type { EpochMs } from '../time-units.ts';
import { isOwnError } from '../ton/finality.ts';

/** A failure of the indexer that all instances serve. */
export interface SharedFailure {
  readonly error: ProxyError;
  /** Its end by the clock of Redis; `undefined` if the instance that shared it does not state it. */
  readonly until: EpochMs | undefined;
}

/** The text of such a failure. The cause is left out: it concerns only one process. */
const SHARED = z
  .object({
    code: z.enum(UPSTREAM_FAILURES),
    message: z.string(),
    upstreamStatus: z.int().min(200).max(599).optional(),
    /** It is sent in a header. */
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
    until: z.number().optional(),
  })
  .refine(({ code, upstreamStatus = 0 }) => code !== 'upstream-error' || upstreamStatus >= 400);

/** The text of a failure that all instances serve until then; `undefined` if it concerns only this instance. */
export function encodeFailure(error: ProxyError, until: EpochMs): string | undefined {
  if (!isShared(error)) return undefined;
  const { code, message, details } = error;
  const { upstreamStatus, apiVersion, retryAfterSeconds } = details;
  const upstreamBody = details.upstreamBody?.toString('base64');
  return JSON.stringify({ code, message, upstreamStatus, apiVersion, retryAfterSeconds, upstreamBody, until });
}

/**
 * The failure that another instance shared; `undefined` if the text is not a failure, or one that concerns only that
 * instance: older versions share all. Never throws.
 */
export function decodeFailure(text: string): SharedFailure | undefined {
  const { data } = SHARED.safeParse(parsed(text));
  if (data === undefined) return undefined;
  const { code, message, upstreamBody, until, ...details } = data;
  const body = upstreamBody === undefined ? undefined : Buffer.from(upstreamBody, 'base64');
  const error = new ProxyError(code, message, { ...details, upstreamBody: body });
  return isShared(error) ? { error, until } : undefined;
}

/** True if every instance would get this failure, by {@link OUTCOMES}. */
function isShared(error: ProxyError): boolean {
  const { upstreamBody, isOfOtherChain } = error.details;
  const { shared } = OUTCOMES[outcomeOf(error)];
  if (isOfOtherChain === true || shared === 'no') return false;
  return shared === 'yes' || isOwnError(parsed(String(upstreamBody)));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
