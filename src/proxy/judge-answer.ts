import { hash } from 'node:crypto';
import { type Entry, fingerprints, type Head, ownedCopy } from '../cache/entry.ts';
import { type ErrorCode, ProxyError } from '../errors.ts';
import { judgeFinality } from '../ton/finality.ts';
import { type LifetimePolicies, lifetimeOf } from '../ton/lifetime.ts';
import type { Call } from '../ton/parse-call.ts';
import { richnessOf } from '../ton/richness.ts';
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
  const apiVersion = headerText(answer.apiVersion);
  const failure = (code: ErrorCode, message: string, upstreamBody?: Buffer) =>
    new ProxyError(code, message, { upstreamStatus: status, apiVersion, ...(upstreamBody ? { upstreamBody } : {}) });

  if (status === 401 || status === 403) {
    return failure('upstream-refused-key', 'the indexer refuses the API key of this proxy');
  }
  if (status === 429) return failure('upstream-rate-limited', 'the indexer asked for a pause');
  if (status >= 300 && status < 400) return failure('upstream-redirect', 'the indexer answered with a redirect');

  const body = parseJson(answer.body);
  const finality = status === 200 || status === 404 ? judgeFinality(call, status, body) : undefined;
  if (finality === undefined) {
    return status < 400
      ? failure('upstream-invalid', 'the answer of the indexer is not what its API describes')
      : failure(
          'upstream-error',
          `the indexer answered with status ${status}`,
          isError(body) ? answer.body : undefined,
        );
  }
  const { maxAgeSeconds, ...instants } = lifetimeOf(finality, options.policies, answer, options.random);
  const head: Head = {
    status,
    contentType: headerText(answer.contentType) ?? 'application/json',
    apiVersion,
    etag: `"${hash('sha256', answer.body, 'base64url')}"`,
    answerClass: finality.answerClass,
    maxAgeSeconds,
  };
  const { rank, hashes } = richnessOf(call, finality, body);
  const richness = { rank, members: fingerprints(hashes) };
  return { key, head, body: ownedCopy(answer.body), ...instants, richness, poorerSince: undefined };
}

/** `undefined` for what is not JSON: no JSON text has that value. */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function isError(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string';
}

/** What cannot stand in a header again is not kept. */
function headerText(value: string | undefined): string | undefined {
  return value !== undefined && /^[\x20-\x7e]+$/.test(value) ? value : undefined;
}
