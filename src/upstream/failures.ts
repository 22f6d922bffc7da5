import { errors } from 'undici';
import { ProxyError } from '../errors.ts';

/** No answer, or not all of it, within the time. */
export function timedOut(cause?: unknown): ProxyError {
  return new ProxyError('upstream-timeout', 'the indexer did not answer in time', { cause });
}

/** Our own end of the connections says nothing about the indexer. */
export function shuttingDown(cause: unknown): ProxyError {
  return new ProxyError('shutting-down', 'the proxy is shutting down', { cause });
}

/** More than is read of an answer. */
export function tooLarge(maxBodyBytes: number): ProxyError {
  return new ProxyError('upstream-too-large', `the answer of the indexer is larger than ${maxBodyBytes} bytes`);
}

/** The head of an answer came, and not all of its body. */
export function cutShort(cause: unknown): ProxyError {
  return new ProxyError('upstream-invalid', 'the answer of the indexer was cut short', { cause });
}

/** What was thrown before the head of an answer came. */
export function unanswered(cause: unknown): ProxyError {
  return cause instanceof errors.HTTPParserError
    ? new ProxyError('upstream-invalid', 'the indexer did not answer in HTTP', { cause })
    : new ProxyError('upstream-unreachable', 'the indexer cannot be reached', { cause });
}
