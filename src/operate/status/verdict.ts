import type { HeadFault } from '../../chain/indexer-head.ts';
import { FAILURES } from '../../failures/codes.ts';
import { notServedText } from '../../ton/not-served.ts';
import type { OperationName } from '../../ton/operation-names.ts';
import { Growth, type MetricSample, type Samples } from '../samples.ts';
import { duration } from '../text-table.ts';
import {
  type Cause,
  FAILED_HEAD_CHECK,
  FAILS,
  type Failures,
  greedyIn,
  type Impairment,
  isBad,
  whatItDoes,
  whyBreakerOpen,
  whyFailed,
  whyKeysRefused,
  whyOthers,
  whyShed,
  withReason,
} from './causes.ts';
import { doubtIn, UNRESPONSIVE } from './doubts.ts';
import type { LastMinute } from './last-minute.ts';
import { backupsOf, latencyIn, ofReplicas } from './numbers.ts';
import { LIMITED, refusingIn, refusingInMinute, whoIsLimited } from './refusing.ts';
import { FEWEST, unansweredIn, validIn } from './unanswered.ts';

/** The first line for an operator. */
export interface Verdict extends Impairment {
  readonly level: (typeof LEVELS)[number];
  /** Other causes, the worst first; of causes with the same steps only one. */
  readonly also: readonly Impairment[];
}

/**
 * The service: as usual; all clients answered, but not as usual; or some not at all. The metric is the index of the
 * level.
 */
export const LEVELS = ['serving', 'degraded', 'refusing'] as const;

/** A larger part of failed requests to the indexer is trouble. */
const FAILING_PART = 0.05;

/**
 * A larger part of stale answers is reported, but only while there is trouble or the indexer is slow: otherwise most of
 * them are being refreshed.
 */
const STALE_PART = 0.05;

/** If one in a hundred clients waits longer than this, answers are slow; an indexer with this p99 is slow. */
const SLOW_SECONDS = 2;

/** The service while only a doubt, or a limit of other clients, is worth reporting. */
const [ALL_ANSWERED, OTHERS_ANSWERED] = ['all are answered', 'all others are answered'];
const ANSWERED = [ALL_ANSWERED, OTHERS_ANSWERED];

/** The sections of docs/incidents.md on indexers that fail. */
const [WITHOUT_ONE, BY_BACKUP] = ['serving-without-an-indexer', 'served-by-the-backup'];
const FAILING = [FAILS, WITHOUT_ONE, BY_BACKUP];

/** A newest block that has not changed for longer than this stands still. */
const STILL_SECONDS = 120;

/** A newest block that is older than this is outdated, although newer ones follow: the indexer catches up. */
const OLD_SECONDS = 600;

/** Judges the time between two instants by the growth of the counters, and the last minute by its refusals. */
export function verdictOf(before: Samples, after: Samples, failures: Failures, minute?: LastMinute): Verdict {
  const growth = new Growth(before, after);
  const refusing = refusingIn(growth, failures) ?? (minute && refusingInMinute(minute, failures));
  const degraded = degradedIn(growth, failures);
  const [worst, ...others] = refusing === undefined ? degraded : [refusing, ...degraded];
  if (worst === undefined) return SERVING;
  return { level: refusing === undefined ? 'degraded' : 'refusing', ...worst, also: besides(worst, others) };
}

/**
 * The causes in addition to the worst one: one of several with the same steps, and "all are answered" only for the
 * worst. An indexer that fails does not answer head polls either, so that is left out.
 */
export function besides(worst: Impairment, others: readonly Impairment[]): readonly Impairment[] {
  return others
    .filter(({ runbook }, place) => ![worst, ...others.slice(0, place)].some((it) => it.runbook === runbook))
    .filter(({ runbook }) => !FAILING.includes(worst.runbook) || runbook !== UNRESPONSIVE)
    .map((it) => (ANSWERED.includes(it.summary) ? { ...it, summary: '' } : it));
}

const SERVING: Verdict = { level: 'serving', summary: 'serving', cause: '', runbook: '', also: [] };

/** All causes while every client gets an answer, the worst first. */
function degradedIn(growth: Growth, failures: Failures): readonly Impairment[] {
  const trouble = troubleIn(growth, failures);
  const doubt = doubtIn(growth, failures);
  return [
    backupIn(growth, failures),
    trouble && { summary: feltIn(growth), ...trouble },
    pastIn(growth.after),
    slowIn(growth),
    withoutRedisIn(growth.after, failures),
    lackingIn(growth, failures),
    limitedIn(growth, failures),
    doubt && { summary: ALL_ANSWERED, ...doubt },
  ].filter((finding) => finding !== undefined);
}

function backupIn(growth: Growth, failures: Failures): Impairment | undefined {
  const backup = backupsOf(growth.after).find((is) => growth.good(is) > 0);
  if (backup === undefined) return undefined;
  const cause = whyOthers(growth, failures);
  return { summary: `served by the backup ${backup.upstream}`, cause, runbook: BY_BACKUP };
}

function pastIn(after: Samples): Impairment | undefined {
  const blocks = ofReplicas(after, 'upstream_head_rollback_blocks').map(({ value }) => value);
  const fallen = blocks.length === 0 ? 0 : Math.min(...blocks);
  if (fallen > 0) {
    const cause = `the newest block fell back by ${fallen.toLocaleString('en')} blocks`;
    return { summary: 'outdated answers', cause, runbook: 'the-newest-block-fell-back' };
  }
  const same = ofReplicas(after, 'upstream_head_unchanged_seconds').map(({ value }) => value);
  if (same.length > 0 && Math.min(...same) > STILL_SECONDS) {
    const cause = `the newest block has been the same for ${duration(1000 * Math.min(...same))}`;
    return { summary: 'outdated answers', cause, runbook: 'the-newest-block-stands-still' };
  }
  const ages = ofReplicas(after, 'upstream_head_age_seconds').map(({ value }) => value);
  if (ages.length === 0 || Math.min(...ages) <= OLD_SECONDS) return undefined;
  const cause = `the newest block is ${duration(1000 * Math.min(...ages))} old`;
  return { summary: 'outdated answers', cause, runbook: 'the-newest-block-is-old' };
}

function withoutRedisIn(after: Samples, failures: Failures): Impairment | undefined {
  if (after.of('redis_available').every(({ value }) => value > 0)) return undefined;
  const cause = withReason('Redis is away', failures.ofRedis);
  return { summary: 'serving from memory alone', cause, runbook: 'redis-is-away' };
}

function limitedIn(growth: Growth, failures: Failures): Impairment | undefined {
  const { limited } = unansweredIn(growth);
  if (limited < FEWEST) return undefined;
  return { summary: OTHERS_ANSWERED, cause: whoIsLimited(failures), runbook: LIMITED };
}

/** The service for clients while there is trouble and no client is refused. */
function feltIn(growth: Growth): string {
  if (areSlow(growth)) return 'slow answers';
  if (growth.of('requests_total', { outcome: 'stale' }) > STALE_PART * validIn(growth)) return 'stale answers';
  // Neither head polls nor passed-through answers are cached.
  const notCached = growth.good({ operation: 'masterchainInfo' }) + growth.good({ operation: 'passthrough' });
  return growth.good() === notCached ? 'serving what is cached' : ALL_ANSWERED;
}

/** True if one in a hundred clients waits long, and not just one or two of few. */
function areSlow(growth: Growth): boolean {
  const part = Math.min(0.99, 1 - FEWEST / Math.max(FEWEST, validIn(growth)));
  return (latencyIn(growth, {}, part) ?? 0) > SLOW_SECONDS;
}

function slowIn(growth: Growth): Impairment | undefined {
  const { sent } = countOperations(growth);
  const indexer = growth.quantile('upstream_request_duration_seconds', 0.99) ?? 0;
  const greedy = greedyIn(growth.after);
  if (greedy !== undefined) return { summary: 'others wait because of one client', ...greedy };
  const isStale = growth.of('requests_total', { outcome: 'stale' }) > STALE_PART * validIn(growth);
  if (sent < FEWEST || (!areSlow(growth) && !(isStale && indexer > SLOW_SECONDS))) return undefined;
  const cause =
    indexer > SLOW_SECONDS
      ? `the indexer is slow (p99 ${indexer.toFixed(1)} s)`
      : 'requests wait for a slot at the indexer';
  return {
    summary: `${areSlow(growth) ? 'slow answers' : 'stale answers'}${slowOperationsIn(growth)}`,
    cause,
    runbook: 'slow-answers',
  };
}

/** ` (adjacentTransactions)` if the indexer is slow for only some of the operations in use. */
function slowOperationsIn(growth: Growth): string {
  const names = [
    ...new Set(
      growth.after.of('upstream_request_duration_seconds_count').map(({ labels }) => String(labels['operation'])),
    ),
  ];
  const p99 = (operation: string) => growth.quantile('upstream_request_duration_seconds', 0.99, { operation });
  const used = names.filter((operation) => p99(operation) !== undefined);
  const slow = used.filter((operation) => (p99(operation) ?? 0) > SLOW_SECONDS);
  return slow.length > 0 && slow.length < used.length ? ` (${slow.join(', ')})` : '';
}

/** Missing parts while all else is served: an operation that no indexer serves, or some of several indexers. */
function lackingIn(growth: Growth, failures: Failures): Impairment | undefined {
  const notServed = Map.groupBy(growth.after.of('upstream_operation_not_served'), ({ labels }) =>
    String(labels['operation']),
  );
  const [operation] = [...notServed].find(([, samples]) => isEach(samples)) ?? [];
  if (operation !== undefined) {
    const cause = `${notServedText(operation as OperationName)}; clients get ${FAILURES['not-served'].status}`;
    return { summary: `serving without ${operation}`, cause, runbook: 'serving-without-an-operation' };
  }
  const failing = failingAmongOthers(growth.after);
  if (failing.length === 0) return undefined;
  const says = failing.map((indexer) => whatItDoes(indexer, growth, failures));
  return {
    summary: `serving without ${failing.join(' and ')}`,
    cause: `${says.join(', ')}; clients get the answers of the others`,
    runbook: WITHOUT_ONE,
  };
}

/** The indexers that fail while another one does not. */
function failingAmongOthers(after: Samples): string[] {
  const samples = after.of('upstream_unhealthy');
  const failing = samples.filter(({ value }) => value > 0);
  return failing.length === samples.length ? [] : failing.map(({ labels }) => String(labels['upstream']));
}

function isEach(samples: readonly MetricSample[]): boolean {
  return samples.length > 0 && samples.every(({ value }) => value > 0);
}

/** The reason why each indexer failed its head check, that of the first one; `undefined` if one passed. */
function faultOfEach(after: Samples): HeadFault | undefined {
  const checked = Map.groupBy(after.of('upstream_head_check_failed'), ({ labels }) => labels['upstream']);
  const faults = [...checked.values()].map((its) => its.find(({ value }) => value > 0)?.labels['reason']);
  // The cast: the labels of that metric are these words.
  return faults.every((fault) => fault !== undefined) ? (faults[0] as HeadFault | undefined) : undefined;
}

/** The trouble while every client still gets an answer. With several indexers, all must have it. */
function troubleIn(growth: Growth, failures: Failures): Cause | undefined {
  const { after } = growth;
  if (isEach(after.of('upstream_paused'))) return whyShed('paused', growth, failures);
  const breakers = Map.groupBy(after.of('circuit_breaker_open'), ({ labels }) => labels['operation']);
  // The breaker of an operation without requests closes with the next request, even if the indexer is back earlier.
  const isBack = growth.good() > 0;
  const counts = (operation: unknown) => !isBack || growth.of('requests_total', { operation: String(operation) }) > 0;
  if ([...breakers].some(([operation, each]) => isEach(each) && counts(operation))) {
    return whyBreakerOpen(growth, failures);
  }
  const fault = faultOfEach(after);
  if (fault !== undefined) return FAILED_HEAD_CHECK[fault];
  const refused = whyKeysRefused(growth, failures);
  if (refused !== undefined) return refused;
  const { sent, failed } = countOperations(growth);
  if (failed < FEWEST || failed <= FAILING_PART * sent) return undefined;
  return whyFailed(growth.most('upstream_requests_total', 'result', isBad), growth, failures);
}

/**
 * The requests that were sent, and the failed ones. Passed-through requests do not count: they concern only client and
 * indexer. Nor do failures at an indexer that other indexers replaced.
 */
function countOperations(growth: Growth): { readonly sent: number; readonly failed: number } {
  const passed = { operation: 'passthrough' };
  const failures = (labels: Readonly<Record<string, string>> = {}) =>
    growth.of('upstream_requests_total', labels) - growth.good(labels);
  const sent = growth.of('upstream_requests_total') - growth.of('upstream_requests_total', passed);
  const answeredByOthers = failingAmongOthers(growth.after).reduce((sum, upstream) => sum + failures({ upstream }), 0);
  const failed = failures() - failures(passed) - answeredByOthers;
  return { sent, failed };
}
