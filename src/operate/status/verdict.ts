import { type ErrorCode, isErrorCode } from '../../errors.ts';
import { FAILURES } from '../../failures/codes.ts';
import { sentenceOf } from '../../failures/sentence.ts';
import { isShedReason, SHED } from '../../failures/shed-reasons.ts';
import type { HeadFault } from '../../indexer/indexer-head.ts';
import { OUTCOMES, outcomeOfResult } from '../../outcomes.ts';
import { notServedText } from '../../ton/not-served.ts';
import type { OperationName } from '../../ton/operation-names.ts';
import { Growth, type MetricSample, type Samples } from '../samples.ts';
import { duration } from '../text-table.ts';
import type { LastFailures } from './last-failures.ts';
import { backupsOf, latencyIn } from './numbers.ts';

/** What an operator should know first. */
export interface Verdict {
  readonly level: (typeof LEVELS)[number];
  /** What clients get: `serving`, `slow answers`, `refusing 90 %`. */
  readonly says: string;
  /** Why, in words; empty while all is well. */
  readonly why: string;
  /** The section of docs/incidents.md that says what to do; empty while all is well. */
  readonly todo: string;
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

/** Clocks that differ by more than this are wrong. */
const CLOCK_SECONDS = 5;

/** Fewer requests than this in the window say nothing. */
const FEWEST = 3;

/** One client that has more than this part of what waits, if that is so many, is the cause. */
const [GREEDY_PART, FEWEST_WAITING] = [0.5, 10];

/** Why something is not as always, and the section that says what to do. */
type Cause = Pick<Verdict, 'why' | 'todo'>;

const FAILS = 'the-indexer-fails';
const OVERLOADED = 'more-requests-than-the-indexer-can-answer';

/** Of failures and reasons that are not the indexer's doing, by code or reason. */
const SECTIONS: Readonly<Record<string, string>> = {
  'too-many-requests': 'clients-ask-for-more-than-their-limit',
  'client-limit': 'clients-ask-for-more-than-their-limit',
  'shutting-down': 'this-instance-is-shutting-down',
  memory: 'this-process-has-hardly-any-memory-left',
  paused: 'the-indexer-asked-for-a-pause',
};

/** Where an indexer, or each of several, says of its chain what is not so. */
const DISPROVED: Readonly<Record<HeadFault, Cause>> = {
  'lacks-block': {
    why: 'the indexer does not have the block that it named: what it says is not there may be there',
    todo: 'the-indexer-lacks-blocks',
  },
  'other-chain': {
    why: 'the indexer follows another chain than before (global_id)',
    todo: 'the-indexer-follows-another-chain',
  },
};

/** How indexers and Redis last failed. */
export type Failures = Pick<LastFailures, 'of' | 'ofRedis'>;

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
  return lackingIn(growth, failures) ?? doubtsIn(after);
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

/** One client that has most of what waits. Its name is for those who may purge. */
function greedyIn(after: Samples): Cause | undefined {
  const part = after.sum('waiting_greediest_ratio');
  if (part <= GREEDY_PART || after.sum('waiting_clients') < 2 || after.sum('upstream_queued') < FEWEST_WAITING)
    return undefined;
  return { why: `one client has ${Math.round(100 * part)} % of what waits for the indexer`, todo: OVERLOADED };
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

/** What may be wrong with answers that all get, and in time. */
function doubtsIn(after: Samples): Verdict | undefined {
  const cause = silenceIn(after) ?? wrongClockIn(after);
  return cause && { level: 'degraded', says: 'all are answered', ...cause };
}

function silenceIn(after: Samples): Cause | undefined {
  const silent = ofReplicas(after, 'indexer_silent').filter(({ value }) => value > 0);
  if (silent.length === 0) return undefined;
  const names = silent.map(({ labels }) => labels['indexer']).join(' and ');
  const why = `${names} does not say its newest block: nobody knows how far it is behind`;
  return { why, todo: 'an-indexer-does-not-say-its-newest-block' };
}

function wrongClockIn(after: Samples): Cause | undefined {
  const todo = 'a-clock-is-wrong';
  const redis = after.sum('redis_clock_offset_seconds');
  if (Math.abs(redis) > CLOCK_SECONDS) {
    const words = `${duration(1000 * Math.abs(redis))} ${redis > 0 ? 'ahead of' : 'behind'}`;
    return { why: `the clock of Redis is ${words} that of this machine`, todo };
  }
  // A chain that is behind proves nothing: it may catch up.
  const ages = after.of('indexer_head_age_seconds').map(({ value }) => value);
  const ahead = ages.length === 0 ? 0 : -Math.max(...ages);
  return ahead > CLOCK_SECONDS ? { why: `the chain is ${duration(1000 * ahead)} ahead of our clock`, todo } : undefined;
}

/** The samples of all indexers but backups. */
function ofReplicas(after: Samples, name: string): readonly MetricSample[] {
  const backups = backupsOf(after).map(({ indexer }) => indexer);
  return after.of(name).filter(({ labels }) => !backups.includes(String(labels['indexer'])));
}

/** The indexers that fail while another one does not. */
function failingAmongOthers(after: Samples): string[] {
  const samples = after.of('indexer_failing');
  const failing = samples.filter(({ value }) => value > 0);
  return failing.length === samples.length ? [] : failing.map(({ labels }) => String(labels['indexer']));
}

function whyShed(reason: string, growth: Growth, failures: Failures): Cause {
  if (reason === 'breaker-open') return whyBreakerOpen(growth, failures);
  const greedy = SECTIONS[reason] === undefined ? greedyIn(growth.after) : undefined;
  const why = sentenceOf(isShedReason(reason) ? SHED[reason] : FAILURES.overloaded);
  return greedy ?? { why, todo: SECTIONS[reason] ?? OVERLOADED };
}

/** The cause goes first: what has opened the circuit breaker. */
function whyBreakerOpen(growth: Growth, failures: Failures): Cause {
  const cause = whyReplicasFail(growth, failures);
  return {
    why: cause === '' ? sentenceOf(SHED['breaker-open']) : `${cause}; its circuit breaker is open`,
    todo: FAILS,
  };
}

function whyFailed(code: string, growth: Growth, failures: Failures): Cause {
  const result =
    code === 'upstream-error'
      ? growth.most('upstream_requests_total', 'result', (each) => isBad(each) && !Number.isNaN(Number(each)))
      : code;
  if (isBad(result)) {
    const failing = growth.after
      .of('indexer_requests_total', { result })
      .map(({ labels }) => String(labels['indexer']));
    const [one, ...others] = failing.filter((indexer) => growth.of('indexer_requests_total', { indexer, result }) > 0);
    const isOneOfSeveral = others.length === 0 && growth.after.of('indexer_failing').length > 1;
    const says = saysOf(result, isOneOfSeveral ? one : undefined);
    return { why: withReason(says, reasonOf(result, growth.after, failures)), todo: FAILS };
  }
  const why = isErrorCode(code) ? sentenceOf(FAILURES[code]) : `requests fail (${code})`;
  return { why, todo: SECTIONS[code] ?? FAILS };
}

/** What all indexers but backups do, in one sentence; empty if that is not known. */
function whyReplicasFail(growth: Growth, failures: Failures): string {
  const names = [...new Set(ofReplicas(growth.after, 'breaker_open').map(({ labels }) => String(labels['indexer'])))];
  const alike = new Set(names.map((indexer) => whatItDoes(indexer, growth, failures, 'the indexer')));
  if (alike.size > 1) return names.map((indexer) => whatItDoes(indexer, growth, failures)).join(', ');
  const [why = ''] = alike;
  return why === UNKNOWN ? '' : why;
}

/** Why a backup is asked: what is wrong with the others. */
function whyOthers(growth: Growth, failures: Failures): string {
  const { after } = growth;
  const isWrong = [
    'breaker_open',
    'indexer_failing',
    'indexer_behind',
    'upstream_paused',
    'indexer_disproved',
    'operation_not_served',
  ];
  const wrong = new Set(
    isWrong.flatMap((name) =>
      ofReplicas(after, name).flatMap(({ value, labels }) => (value > 0 ? [labels['indexer']] : [])),
    ),
  );
  for (const { labels } of ofReplicas(after, 'indexer_requests_total')) {
    const [indexer, result] = [String(labels['indexer']), String(labels['result'])];
    if (isBad(result) && growth.of('indexer_requests_total', { indexer, result }) > 0) wrong.add(indexer);
  }
  if (wrong.size === 0) return 'all slots of the others are in use';
  const does = [...wrong].map((name) => {
    const is = { indexer: String(name) };
    if (after.sum('upstream_paused', is) > 0) return sentenceOf(SHED.paused, is.indexer);
    if (after.sum('indexer_behind', is) > 0) return `${name} is ${after.sum('indexer_lag_blocks', is)} blocks behind`;
    return whatItDoes(is.indexer, growth, failures);
  });
  return does.join(', ');
}

/** What is said of an indexer whose failures nobody has seen. */
const UNKNOWN = 'the indexer fails';

/** What an indexer that fails does: by what most of its requests came to, else by the last one that failed. */
function whatItDoes(indexer: string, growth: Growth, failures: Failures, name = indexer): string {
  const last = failures.of(indexer);
  const result = growth.most('indexer_requests_total', 'result', isBad, { indexer }) || last?.result || '';
  if (result === '' || !isBad(result)) return `${name} fails`;
  return withReason(saysOf(result, name), last?.result === result ? last.reason : undefined);
}

/** The system's own words for failures of this kind. */
function reasonOf(result: string, after: Samples, failures: Failures): string | undefined {
  const names = ofReplicas(after, 'breaker_open').map(({ labels }) => String(labels['indexer']));
  return names.map((indexer) => failures.of(indexer)).find((last) => last?.result === result)?.reason;
}

function withReason(words: string, reason: string | undefined): string {
  return reason === undefined ? words : `${words} (${reason})`;
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
