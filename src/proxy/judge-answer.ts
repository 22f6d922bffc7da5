import { hash } from 'node:crypto';
import { type Entry, ownedCopy } from '../cache/entry.ts';
import { ProxyError } from '../errors.ts';
import { judgeFinality } from '../ton/finality.ts';
import { type LifetimePolicies, lifetimeOf } from '../ton/lifetime.ts';
import type { Call } from '../ton/parse-call.ts';
import type { UpstreamAnswer } from '../upstream/upstream-client.ts';

export interface JudgeOptions {
  readonly policies: LifetimePolicies;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

/**
 * Turns what the indexer answered into an entry, or into the failure that its clients are told: 200s that hold the
 * operation's list and true 404s are entries, everything else is never cached.
 */
export function judgeAnswer(
  call: Call,
  key: string,
  answer: UpstreamAnswer,
  options: JudgeOptions,
): Entry | ProxyError {
  const { status } = answer;
  if (status === 401 || status === 403) {
    return new ProxyError('upstream-refused-key', 'the indexer refuses the API key of this proxy', {
      upstreamStatus: status,
    });
  }
  if (status === 429) {
    return new ProxyError('upstream-rate-limited', 'the indexer asked for a pause', { upstreamStatus: status });
  }
  if (status >= 300 && status < 400) {
    return new ProxyError('upstream-redirect', 'the indexer answered with a redirect', { upstreamStatus: status });
  }
  const body = parseJson(answer.body);
  if (status === 200 || status === 404) {
    const finality = judgeFinality(call, status, body);
    if (finality !== undefined) {
      const { maxAgeSeconds, ...instants } = lifetimeOf(finality, options.policies, answer, options.random);
      return {
        key,
        body: ownedCopy(answer.body),
        head: {
          status,
          contentType: headerText(answer.contentType) ?? 'application/json',
          apiVersion: headerText(answer.apiVersion),
          etag: `"${hash('sha256', answer.body, 'base64url')}"`,
          answerClass: finality.answerClass,
          maxAgeSeconds,
        },
        ...instants,
      };
    }
  }
  if (status < 400) {
    return new ProxyError('upstream-invalid', 'the answer of the indexer is not what its API describes', {
      upstreamStatus: status,
    });
  }
  return new ProxyError('upstream-error', `the indexer answered with status ${status}`, {
    upstreamStatus: status,
    ...(isErrorBody(body) ? { upstreamBody: answer.body } : {}),
  });
}

/** `undefined` for what is not JSON: no JSON text has that value. */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function isErrorBody(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string';
}

/** What cannot stand in a header again is not kept. */
function headerText(value: string | undefined): string | undefined {
  return value !== undefined && /^[\x20-\x7e]+$/.test(value) ? value : undefined;
}
