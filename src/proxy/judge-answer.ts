import { type Entry, type Head, ownedCopy } from '../cache/entry.ts';
import { type ErrorCode, ProxyError } from '../errors.ts';
import { type LifetimePolicies, lifetimeOf } from '../ton/lifetime.ts';
import type { ReadAnswer } from './answer-body-reader.ts';

export interface JudgeOptions {
  readonly policies: LifetimePolicies;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

/**
 * Turns what the indexer answered into an entry, or into the failure that its clients are told: 200s that hold the
 * operation's list and true 404s are entries, everything else is never cached.
 */
export function judgeAnswer(key: string, answer: ReadAnswer, options: JudgeOptions): Entry | ProxyError {
  const { status, facts } = answer;
  const apiVersion = headerText(answer.apiVersion);
  const failure = (code: ErrorCode, message: string, upstreamBody?: Buffer) =>
    new ProxyError(code, message, { upstreamStatus: status, apiVersion, ...(upstreamBody ? { upstreamBody } : {}) });

  if (status === 401 || status === 403) {
    return failure('upstream-refused-key', 'the indexer refuses the API key of this proxy');
  }
  if (status === 429) return failure('upstream-rate-limited', 'the indexer asked for a pause');
  if (status >= 300 && status < 400) return failure('upstream-redirect', 'the indexer answered with a redirect');

  const { finality, rank, members, etag, isError } = facts;
  if (finality === undefined) {
    return status < 400
      ? failure('upstream-invalid', 'the answer of the indexer is not what its API describes')
      : failure('upstream-error', `the indexer answered with status ${status}`, isError ? answer.body : undefined);
  }
  const { maxAgeSeconds, ...instants } = lifetimeOf(finality, options.policies, answer, options.random);
  const head: Head = {
    status,
    contentType: headerText(answer.contentType) ?? 'application/json',
    apiVersion,
    etag,
    answerClass: finality.answerClass,
    maxAgeSeconds,
  };
  const richness = { rank, members };
  return { key, head, body: ownedCopy(answer.body), ...instants, richness, poorerSince: undefined };
}

/** What cannot stand in a header again is not kept. */
function headerText(value: string | undefined): string | undefined {
  return value !== undefined && /^[\x20-\x7e]+$/.test(value) ? value : undefined;
}
