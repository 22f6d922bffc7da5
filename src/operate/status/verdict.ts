import { FAILURES } from '../../failures/codes.ts';
import { notServedText } from '../../ton/not-served.ts';
import type { OperationName } from '../../ton/operation-names.ts';
import { Growth, type MetricSample, type Samples } from '../samples.ts';
import { duration } from '../text-table.ts';
import {
  type Cause,
  DISPROVED,
  type Failures,
  greedyIn,
  isBad,
  whatItDoes,
  whyBreakerOpen,
  whyFailed,
  whyOthers,
  whyShed,
  withReason,
} from './causes.ts';
import { doubtIn } from './doubts.ts';
import { backupsOf, latencyIn, ofReplicas } from './numbers.ts';

/** What an operator should know first. */
export interface Verdict extends Cause {
  readonly level: (typeof LEVELS)[number];
  /** What clients get: `serving`, `slow answers`, `refusing 90 %`. */
  readonly says: string;
}

/** How clients are served: as always; all, but not as always; or some not at all. The metric is the place of a level. */
export const LEVELS = ['serving', 'degraded', 'refusing'] as const;

/** More than this part of the requests that get no answer is an outage. */
const BAD_PART = 0.01;

/** More than this part of the requests to the indexer that fail is trouble. */
const FAILING_PART = 0.05;

/** More than this part of stale answers is worth a word, where they are not stale for being refreshed. */
const STALE_PART = 0.05;

/** Clients of whom one in a hundred waits for longer than this get slow answers; such an indexer is slow. */
const SLOW_SECONDS = 2;

/** A newest block that has been the same for longer than this stands still. */
const STILL_SECONDS = 120;

/** Fewer requests than this in the window say nothing. */
const FEWEST = 3;

/** Judges the time between two instants by what was counted in it. */
export function verdictOf(before: Samples, after: Samples, failures: Failures): Verdict {
  const growth = new Growth(before, after);
  return refusingIn(growth, failures) ?? degradedIn(growth, failures) ?? SERVING;
}

const SERVING: Verdict = { level: 'serving', says: 'serving', why: '', todo: '' };

function refusingIn(growth: Growth, failures: Failures): Verdict | undefined {
  const limited = growth.of('refused_requests_total', { code: 'too-many-requests' });
  const unanswered = growth.of('requests_total', { outcome: 'failed' }) + limited;
  const part = unanswered / Math.max(1, validIn(growth) + limited);
  if (unanswered < FEWEST || part <= BAD_PART) return undefined;
  const code = limited * 2 > unanswered ? 'too-many-requests' : growth.most('request_failures_total', 'code');
  const cause =
    code === 'overloaded'
      ? whyShed(growth.most('shed_total', 'reason'), growth, failures)
      : whyFailed(code, growth, failures);
  const of = operationsOf(growth);
  return { level: 'refusing', says: `refusing ${Math.max(1, Math.round(100 * part))} %${of}`, ...cause };
}

/** ` (pendingTraces)` where only requests for some of the operations in use get no answer. */
function operationsOf(growth: Growth): string {
  const names = (outcome?: string) => {
    const all = growth.after.of('requests_total', outcome === undefined ? {} : { outcome });
    const operations = [...new Set(all.map(({ labels }) => String(labels['operation'])))];
    return operations.filter(
      (operation) => growth.of('requests_total', { operation, ...(outcome && { outcome }) }) > 0,
    );
  };
  const failed = names('failed');
  return failed.length > 0 && failed.length < names().length ? ` (${failed.join(', ')})` : '';
}

function degradedIn(growth: Growth, failures: Failures): Verdict | undefined {
  const { after } = growth;
  const degraded = (says: string, cause: Cause): Verdict => ({ level: 'degraded', says, ...cause });
  const backup = backupsOf(after).find((is) => growth.good('indexer_requests_total', is) > 0);
  if (backup !== undefined) {
    const why = whyOthers(growth, failures);
    return degraded(`served by the backup ${backup.indexer}`, { why, todo: 'served-by-the-backup' });
  }
  const trouble = troubleIn(growth, failures);
  if (trouble !== undefined) return degraded(feltIn(growth), trouble);
  const same = ofReplicas(after, 'indexer_head_same_seconds').map(({ value }) => value);
  if (same.length > 0 && Math.min(...same) > STILL_SECONDS) {
    const why = `the newest block has been the same for ${duration(1000 * Math.min(...same))}`;
    return degraded('answers from the past', { why, todo: 'the-newest-block-stands-still' });
  }
  const slow = slowIn(growth);
  if (slow !== undefined) return slow;
  if (after.of('redis_available').some(({ value }) => value === 0)) {
    const why = withReason('Redis is away', failures.ofRedis);
    return degraded('serving from memory alone', { why, todo: 'redis-is-away' });
  }
  const doubt = doubtIn(growth);
  return lackingIn(growth, failures) ?? (doubt && degraded('all are answered', doubt));
}

/** What clients get while there is trouble and nobody is refused. */
function feltIn(growth: Growth): string {
  if (areSlow(growth)) return 'slow answers';
  if (growth.of('requests_total', { outcome: 'stale' }) > STALE_PART * validIn(growth)) return 'stale answers';
  const good = (labels?: Readonly<Record<string, string>>) => growth.good('upstream_requests_total', labels);
  // Neither the question for the head nor what is passed through is cached.
  const loaded = good() - good({ operation: 'masterchainInfo' }) - good({ operation: 'passThrough' });
  return loaded === 0 ? 'serving what is cached' : 'all are answered';
}

/** Whether one in a hundred clients waits long, and not only one or two of few. */
function areSlow(growth: Growth): boolean {
  const part = Math.min(0.99, 1 - FEWEST / Math.max(FEWEST, validIn(growth)));
  return (latencyIn(growth, {}, part) ?? 0) > SLOW_SECONDS;
}

function slowIn(growth: Growth): Verdict | undefined {
  const { sent } = countOperations(growth);
  const indexer = growth.quantile('upstream_request_seconds', 0.99) ?? 0;
  const greedy = greedyIn(growth.after);
  if (greedy !== undefined) return { level: 'degraded', says: 'others wait because of one client', ...greedy };
  const isStale = growth.of('requests_total', { outcome: 'stale' }) > STALE_PART * validIn(growth);
  if (sent < FEWEST || (!areSlow(growth) && !(isStale && indexer > SLOW_SECONDS))) return undefined;
  const why =
    indexer > SLOW_SECONDS
      ? `the indexer is slow (p99 ${indexer.toFixed(1)} s)`
      : 'requests wait for a slot at the indexer';
  return {
    level: 'degraded',
    says: areSlow(growth) ? 'slow answers' : 'stale answers',
    why,
    todo: 'slow-answers',
  };
}

/** What is done without while all else is served: an operation that no indexer serves, or some of several indexers. */
function lackingIn(growth: Growth, failures: Failures): Verdict | undefined {
  const notServed = Map.groupBy(growth.after.of('operation_not_served'), ({ labels }) => String(labels['operation']));
  const [operation] = [...notServed].find(([, samples]) => isEach(samples)) ?? [];
  if (operation !== undefined) {
    const why = `${notServedText(operation as OperationName)}; clients get ${FAILURES['not-served'].status}`;
    return { level: 'degraded', says: `serving without ${operation}`, why, todo: 'serving-without-an-operation' };
  }
  const failing = failingAmongOthers(growth.after);
  if (failing.length === 0) return undefined;
  const says = failing.map((indexer) => whatItDoes(indexer, growth, failures));
  return {
    level: 'degraded',
    says: `serving without ${failing.join(' and ')}`,
    why: `${says.join(', ')}; clients get the answers of the others`,
    todo: 'serving-without-an-indexer',
  };
}

/** The indexers that fail while another one does not. */
function failingAmongOthers(after: Samples): string[] {
  const samples = after.of('indexer_failing');
  const failing = samples.filter(({ value }) => value > 0);
  return failing.length === samples.length ? [] : failing.map(({ labels }) => String(labels['indexer']));
}

function isEach(samples: readonly MetricSample[]): boolean {
  return samples.length > 0 && samples.every(({ value }) => value > 0);
}

/** What is wrong while everybody still gets an answer. Of several indexers, all must have it. */
function troubleIn(growth: Growth, failures: Failures): Cause | undefined {
  const { after } = growth;
  if (isEach(after.of('upstream_paused'))) return whyShed('paused', growth, failures);
  const breakers = Map.groupBy(after.of('breaker_open'), ({ labels }) => labels['operation']);
  // The breaker of an operation that nobody asks for closes with its next request, though the indexer is back.
  const isBack = growth.good('indexer_requests_total') > 0;
  const counts = (operation: unknown) => !isBack || growth.of('requests_total', { operation: String(operation) }) > 0;
  if ([...breakers].some(([operation, each]) => isEach(each) && counts(operation))) {
    return whyBreakerOpen(growth, failures);
  }
  const disproved = after.of('indexer_disproved');
  if (isEach(disproved)) return DISPROVED[disproved[0]?.value === 2 ? 'other-chain' : 'lacks-block'];
  const { sent, failed } = countOperations(growth);
  if (failed < FEWEST || failed <= FAILING_PART * sent) return undefined;
  return whyFailed(growth.most('upstream_requests_total', 'result', isBad), growth, failures);
}

/** Requests for operations that were valid. */
function validIn(growth: Growth): number {
  return growth.of('requests_total') - growth.of('requests_total', { outcome: 'invalid' });
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
