import { type ErrorCode, ProxyError } from '../errors.ts';

/** The codes of the failures that instances share: failures of the indexer. */
const SHARED: ReadonlySet<string> = new Set<ErrorCode>([
  'upstream-error',
  'upstream-invalid',
  'upstream-rate-limited',
  'upstream-redirect',
  'upstream-refused-key',
  'upstream-timeout',
  'upstream-too-large',
  'upstream-unreachable',
]);

/** A longer error body of the indexer is not sent to clients either (`http/public/error-message`). */
const LONGEST_BODY_BYTES = 64 * 1024;

/** A failure as instances share it. The cause is left out: it concerns this process alone. */
export function encodeFailure(error: ProxyError): string {
  const { code, message, upstreamStatus, apiVersion, retryAfterSeconds, upstreamBody } = error;
  const isShared = upstreamBody !== undefined && upstreamBody.length <= LONGEST_BODY_BYTES;
  const body = isShared ? upstreamBody.toString('base64') : undefined;
  return JSON.stringify({ code, message, upstreamStatus, apiVersion, retryAfterSeconds, body });
}

/** The failure that another instance shared; `undefined` if the text is no such failure. Never throws. */
export function decodeFailure(text: string): ProxyError | undefined {
  const shared = parse(text);
  const { code, message, upstreamStatus, apiVersion, retryAfterSeconds, body } = shared;
  if (typeof code !== 'string' || !SHARED.has(code) || typeof message !== 'string') return undefined;
  if (!isOptional(apiVersion, isHeaderText) || !isOptional(body, isText)) return undefined;
  if (!isOptional(upstreamStatus, isStatus) || !isOptional(retryAfterSeconds, isSeconds)) return undefined;
  if (code === 'upstream-error' && (upstreamStatus === undefined || upstreamStatus < 400)) return undefined;
  return new ProxyError(code as ErrorCode, message, {
    apiVersion,
    ...(upstreamStatus === undefined ? {} : { upstreamStatus }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(body === undefined ? {} : { upstreamBody: Buffer.from(body, 'base64') }),
  });
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function isOptional<T>(value: unknown, is: (value: unknown) => value is T): value is T | undefined {
  return value === undefined || is(value);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isHeaderText = (value: unknown): value is string => isText(value) && /^[\x20-\x7e]+$/.test(value);
const isStatus = (value: unknown): value is number => isWhole(value) && value >= 200 && value <= 599;
const isSeconds = (value: unknown): value is number => isWhole(value) && value <= 3600;

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
