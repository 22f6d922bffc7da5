import { type ErrorCode, isErrorCode } from '../../errors.ts';
import { FAILURES } from '../../failures/codes.ts';
import { sentenceOf } from '../../failures/sentence.ts';
import { isShedReason, SHED } from '../../failures/shed-reasons.ts';
import type { HeadFault } from '../../indexer/indexer-head.ts';
import { OUTCOMES, outcomeOfResult } from '../../outcomes.ts';
import { notServedText } from '../../ton/not-served.ts';
import type { OperationName } from '../../ton/operation-names.ts';
import { Growth, type MetricSample, type Samples } from '../samples.ts';

/** What an operator should know first. */
export interface Verdict {
  readonly level: (typeof LEVELS)[number];
  /** `serving`, `stale answers`, `refusing 90 %`. */
  readonly says: string;
  /** Why, in words; empty while all is well. */
  readonly why: string;
}

/** How well clients are served: as always; with what is left; or some not at all. The metric is the place of a level. */
export const LEVELS = ['serving', 'stale', 'refusing'] as const;

/** More than this part of the requests that get no answer is an outage. */
const BAD_PART = 0.01;

/** More than this part of the requests to the indexer that fail is trouble. */
const FAILING_PART = 0.05;

/** An indexer that needs longer than this for one request in a hundred is slow. */
const SLOW_SECONDS = 2;

/** Fewer requests than this in the window say nothing. */
const FEWEST = 3;

/** What to say where an indexer, or each of several, says of its chain what is not so. */
const WHY_DISPROVED: Readonly<Record<HeadFault, string>> = {
  'lacks-block': 'the indexer does not have the block that it named: what it says is not there may be there',
  'other-chain': 'the indexer follows another chain than before (global_id)',
};

/** Judges the time between two instants by what was counted in it. */
export function verdictOf(before: Samples, after: Samples): Verdict {
  const growth = new Growth(before, after);
  const asked = growth.of('requests_total') - growth.of('requests_total', { outcome: 'invalid' });
  const limited = growth.of('refused_requests_total', { code: 'too-many-requests' });
  const unanswered = growth.of('requests_total', { outcome: 'failed' }) + limited;
  const part = unanswered / Math.max(1, asked + limited);
  if (unanswered >= FEWEST && part > BAD_PART) {
    const code = limited * 2 > unanswered ? 'too-many-requests' : growth.most('request_failures_total', 'code');
    const why = code === 'overloaded' ? whyShed(growth.most('shed_total', 'reason')) : whyFailed(code, growth);
    return { level: 'refusing', says: `refusing ${Math.max(1, Math.round(100 * part))} %`, why };
  }
  const why = troubleIn(growth);
  if (why !== '') {
    const isStale = growth.of('requests_total', { outcome: 'stale' }) > 0;
    return { level: 'stale', says: isStale ? 'stale answers' : 'serving what is cached', why };
  }
  if (after.of('redis_available').some(({ value }) => value === 0)) {
    return { level: 'stale', says: 'serving from memory alone', why: 'Redis is away' };
  }
  return lackingIn(growth) ?? { level: 'serving', says: 'serving', why };
}

/** What is done without while all else is served: an operation that no indexer serves, or some of several indexers. */
function lackingIn(growth: Growth): Verdict | undefined {
  const notServed = Map.groupBy(growth.after.of('operation_not_served'), ({ labels }) => String(labels['operation']));
  const [operation] = [...notServed].find(([, samples]) => isEach(samples)) ?? [];
  if (operation !== undefined) {
    const why = `${notServedText(operation as OperationName)}; clients get ${FAILURES['not-served'].status}`;
    return { level: 'stale', says: `serving without ${operation}`, why };
  }
  const failing = failingAmongOthers(growth.after);
  if (failing.length === 0) return undefined;
  const says = failing.map((indexer) => {
    const result = growth.most('indexer_requests_total', 'result', isBad, { indexer });
    return result === '' ? `${indexer} fails` : saysOf(result, indexer);
  });
  return {
    level: 'stale',
    says: `serving without ${failing.join(' and ')}`,
    why: `${says.join(', ')}; clients get the answers of the others`,
  };
}

/** The indexers that fail while another one does not. */
function failingAmongOthers(after: Samples): string[] {
  const samples = after.of('indexer_failing');
  const failing = samples.filter(({ value }) => value > 0);
  return failing.length === samples.length ? [] : failing.map(({ labels }) => String(labels['indexer']));
}

/** What to say of loads that were refused, by reason. */
function whyShed(reason: string): string {
  return sentenceOf(isShedReason(reason) ? SHED[reason] : FAILURES.overloaded);
}

function whyFailed(code: string, growth: Growth): string {
  const result =
    code === 'upstream-error'
      ? growth.most('upstream_requests_total', 'result', (each) => isBad(each) && !Number.isNaN(Number(each)))
      : code;
  if (isBad(result)) return saysOf(result);
  return isErrorCode(code) ? sentenceOf(FAILURES[code]) : `requests fail (${code})`;
}

/** Whether requests that are counted under this result show that something is wrong with the indexer. */
function isBad(result: string): boolean {
  return OUTCOMES[outcomeOfResult(result)].kept === 'briefly';
}

/** What an indexer does, by the result that its requests are counted under. */
function saysOf(result: string, indexer = 'the indexer'): string {
  const outcome = outcomeOfResult(result);
  const isByStatus = ['failed', 'client-error', 'invalid'].includes(outcome) && !Number.isNaN(Number(result));
  // The cast: only what is bad is asked about, and that is a failure for clients.
  return isByStatus
    ? `${indexer} answers ${result}`
    : sentenceOf(FAILURES[OUTCOMES[outcome].client as ErrorCode], indexer);
}

function isEach(samples: readonly MetricSample[]): boolean {
  return samples.length > 0 && samples.every(({ value }) => value > 0);
}

/** What is wrong while everybody still gets an answer; empty if nothing is. Of several indexers, all must have it. */
function troubleIn(growth: Growth): string {
  const { after } = growth;
  if (isEach(after.of('upstream_paused'))) return whyShed('paused');
  const breakers = Map.groupBy(after.of('breaker_open'), ({ labels }) => labels['operation']);
  if ([...breakers.values()].some(isEach)) return whyShed('breaker-open');
  const disproved = after.of('indexer_disproved');
  if (isEach(disproved)) return WHY_DISPROVED[disproved[0]?.value === 2 ? 'other-chain' : 'lacks-block'];
  const { sent, failed } = countOperations(growth);
  if (failed >= FEWEST && failed > FAILING_PART * sent) {
    return whyFailed(growth.most('upstream_requests_total', 'result', isBad), growth);
  }
  const p99 = growth.quantile('upstream_request_seconds', 0.99) ?? 0;
  return sent >= FEWEST && p99 > SLOW_SECONDS ? `the indexer is slow (p99 ${p99.toFixed(1)} s)` : '';
}

/**
 * The requests that were sent, and those that failed: without what was passed through, which is between its client and the
 * indexer, and without those that another indexer was asked instead of one that fails.
 */
function countOperations(growth: Growth): { readonly sent: number; readonly failed: number } {
  const passed = { operation: 'passThrough' };
  const failures = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    growth.of(name, labels) - growth.good(name, labels);
  const sent = growth.of('upstream_requests_total') - growth.of('upstream_requests_total', passed);
  const answeredByOthers = failingAmongOthers(growth.after).reduce(
    (sum, indexer) => sum + failures('indexer_requests_total', { indexer }),
    0,
  );
  const failed = failures('upstream_requests_total') - failures('upstream_requests_total', passed) - answeredByOthers;
  return { sent, failed };
}
