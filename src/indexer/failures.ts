import { errors } from 'undici';
import { ProxyError } from '../errors.ts';

/** There was no complete answer within the time. */
export function timedOut(cause?: unknown): ProxyError {
  return new ProxyError('upstream-timeout', 'the indexer did not answer in time', { cause });
}

/** This process closed the connection, which says nothing about the indexer. */
export function shuttingDown(cause: unknown): ProxyError {
  return new ProxyError('shutting-down', 'the proxy is shutting down', { cause });
}

/** The answer is larger than the limit. */
export function tooLarge(maxBodyBytes: number): ProxyError {
  return new ProxyError('upstream-too-large', `the answer of the indexer is larger than ${maxBodyBytes} bytes`);
}

/** The head of an answer came, but not all of its body. */
export function cutShort(cause: unknown): ProxyError {
  return new ProxyError('upstream-invalid', 'the answer of the indexer was cut short', { cause });
}

/** The failure for an error that was thrown before the head of an answer came. */
export function unanswered(cause: unknown): ProxyError {
  return cause instanceof errors.HTTPParserError
    ? new ProxyError('upstream-invalid', 'the indexer did not answer in HTTP', { cause })
    : new ProxyError('upstream-unreachable', 'the indexer cannot be reached', { cause });
}
