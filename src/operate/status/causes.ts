import type { HeadFault } from '../../chain/indexer-head.ts';
import { type ErrorCode, isErrorCode } from '../../errors.ts';
import { FAILURES } from '../../failures/codes.ts';
import { sentenceOf } from '../../failures/sentence.ts';
import { isShedReason, SHED } from '../../failures/shed-reasons.ts';
import { CLIENT_MISTAKES, OUTCOMES, outcomeOfResult } from '../../outcomes.ts';
import type { Growth, Samples } from '../samples.ts';
import type { LastFailure, LastFailures } from './last-failures.ts';
import { ofReplicas } from './numbers.ts';

/** Why the service is not as usual. */
export interface Cause {
  /** In words; empty as usual. */
  readonly cause: string;
  /** The section of docs/incidents.md with the steps; empty as usual. */
  readonly runbook: string;
}

/** A deviation from the usual service, with its cause. */
export interface Impairment extends Cause {
  /** The service for clients: `serving`, `slow answers`, `refusing 90 %`. */
  readonly summary: string;
}

/** How indexers and Redis last failed, and which clients were limited. */
export type Failures = Pick<LastFailures, 'of' | 'ofRedis' | 'limited'>;

/** A client with more than this part of the backlog (if it is at least this long), or of the requests, is the cause. */
const [GREEDY_PART, FEWEST_WAITING] = [0.5, 10];

/** The section of docs/incidents.md on indexers that fail. */
export const FAILS = 'the-indexer-fails';
const OVERLOADED = 'more-requests-than-the-indexer-can-answer';

/** For failures and reasons with their own sections, by code or reason. */
const SECTIONS: Readonly<Record<string, string>> = {
  'too-many-requests': 'clients-ask-for-more-than-their-limit',
  'client-limit': 'clients-ask-for-more-than-their-limit',
  'shutting-down': 'this-instance-is-shutting-down',
  memory: 'this-process-has-hardly-any-memory-left',
  sockets: 'this-process-can-open-no-more-connections',
  paused: 'the-indexer-asked-for-a-pause',
  'key-paused': 'the-indexer-asked-for-a-pause',
  'upstream-rate-limited': 'the-indexer-asked-for-a-pause',
  'other-chain': 'the-indexer-follows-another-chain',
};

/** For heads that failed their check: of the only indexer, or of all. */
export const FAILED_HEAD_CHECK: Readonly<Record<HeadFault, Cause>> = {
  'lacks-block': {
    cause: 'the indexer lacks a block that it named, so its 404s may be wrong',
    runbook: 'the-indexer-lacks-blocks',
  },
  'other-chain': {
    cause: sentenceOf(SHED['other-chain']),
    runbook: 'the-indexer-follows-another-chain',
  },
};

/**
 * A client with most of the backlog. The cause does not name it: the table of clients does, for those who may purge.
 */
export function greedyIn(after: Samples): Cause | undefined {
  const part = after.sum('top_client_queued_ratio');
  if (part <= GREEDY_PART || after.sum('queued_clients') < 2 || after.sum('upstream_requests_queued') < FEWEST_WAITING)
    return undefined;
  return ofOneClient('has', part, 'the backlog');
}

/**
 * Why requests are shed for this reason. If there are too many requests and one client sends most of them, that client
 * is the cause.
 */
export function whyShed(reason: string, growth: Growth, failures: Failures): Cause {
  if (reason === 'breaker-open') return whyBreakerOpen(growth, failures);
  const section = SECTIONS[reason];
  const part = growth.after.sum('top_client_requests_ratio');
  // The backlog does not show it: at a full indexer the backlog is short.
  if (section === undefined && part > GREEDY_PART)
    return ofOneClient('sends', part, 'the requests that memory does not answer');
  const words = sentenceOf(isShedReason(reason) ? SHED[reason] : FAILURES.overloaded);
  const isPause = reason === 'paused' || reason === 'key-paused';
  const cause = isPause ? withReason(words, reasonOf('upstream-rate-limited', growth.after, failures)) : words;
  return { cause, runbook: section ?? OVERLOADED };
}

function ofOneClient(does: string, part: number, what: string): Cause {
  return { cause: `one client ${does} ${Math.round(100 * part)} % of ${what}`, runbook: OVERLOADED };
}

/** The cause that has opened the circuit breaker comes first. */
export function whyBreakerOpen(growth: Growth, failures: Failures): Cause {
  const cause = whyReplicasFail(growth, failures);
  const isOpen = growth.after.of('circuit_breaker_open').some(({ value }) => value > 0);
  const why = isOpen ? `${cause}; its circuit breaker is open` : cause;
  return { cause: cause === '' ? sentenceOf(SHED['breaker-open']) : why, runbook: FAILS };
}

/** Why requests fail with this code. */
export function whyFailed(code: string, growth: Growth, failures: Failures): Cause {
  const result =
    code === 'upstream-error'
      ? growth.most('upstream_requests_total', 'result', (each) => isBad(each) && !Number.isNaN(Number(each)))
      : code;
  if (isBad(result)) {
    const samples = growth.after.of('upstream_requests_total', { result });
    const names = [...new Set(samples.map(({ labels }) => String(labels['upstream'])))];
    const [one, ...others] = names.filter((upstream) => growth.of('upstream_requests_total', { upstream, result }) > 0);
    const isOneOfSeveral = others.length === 0 && growth.after.of('upstream_unhealthy').length > 1;
    const says = saysOf(result, growth, isOneOfSeveral ? one : undefined);
    const runbook = SECTIONS[OUTCOMES[outcomeOfResult(result)].client] ?? FAILS;
    return { cause: withReason(says, reasonOf(result, growth.after, failures)), runbook };
  }
  const cause = isErrorCode(code) ? sentenceOf(FAILURES[code]) : `requests fail (${code})`;
  return { cause, runbook: SECTIONS[code] ?? FAILS };
}

/** For an indexer whose failures nobody has seen. */
const UNKNOWN = 'the indexer fails';

/**
 * Why no request can be answered, perhaps before the first one: each indexer but backups refuses our key in its head
 * poll. `undefined` otherwise.
 */
export function whyKeysRefused(growth: Growth, failures: Failures): Cause | undefined {
  const polled = ofReplicas(growth.after, 'upstream_unresponsive');
  const isEach = polled.every(({ value, labels }) => value > 0 && refusesKey(String(labels['upstream']), failures));
  return polled.length > 0 && isEach
    ? { cause: whyReplicasFail(growth, failures, 'upstream_unresponsive'), runbook: FAILS }
    : undefined;
}

/** The common failure of all indexers but backups, in one sentence; empty if unknown. `metric` has a sample of each. */
function whyReplicasFail(growth: Growth, failures: Failures, metric = 'circuit_breaker_open'): string {
  const names = [...new Set(ofReplicas(growth.after, metric).map(({ labels }) => String(labels['upstream'])))];
  const alike = new Set(names.map((indexer) => whatItDoes(indexer, growth, failures, 'the indexer')));
  if (alike.size > 1) return names.map((indexer) => whatItDoes(indexer, growth, failures)).join(', ');
  const [why = ''] = alike;
  return why === UNKNOWN ? '' : why;
}

/** Why a backup is in use: the problem of the others. */
export function whyOthers(growth: Growth, failures: Failures): string {
  const { after } = growth;
  const isWrong = [
    'circuit_breaker_open',
    'upstream_unhealthy',
    'upstream_behind',
    'upstream_paused',
    'upstream_head_check_failed',
    'upstream_operation_not_served',
  ];
  // Problems at the beginning of the window count too: the backup may be in use because of them.
  const wrong = new Set(
    isWrong.flatMap((name) =>
      [...ofReplicas(growth.before, name), ...ofReplicas(after, name)].flatMap(({ value, labels }) =>
        value > 0 ? [labels['upstream']] : [],
      ),
    ),
  );
  for (const { labels } of ofReplicas(after, 'upstream_requests_total')) {
    const [upstream, result] = [String(labels['upstream']), String(labels['result'])];
    if (isBad(result) && growth.of('upstream_requests_total', { upstream, result }) > 0) wrong.add(upstream);
  }
  if (wrong.size === 0) return 'all slots of the others are in use';
  const does = [...wrong].map((name) => {
    const is = { upstream: String(name) };
    if (after.sum('upstream_paused', is) > 0) return sentenceOf(SHED.paused, is.upstream);
    if (after.sum('upstream_behind', is) > 0) return `${name} is ${after.sum('upstream_lag_blocks', is)} blocks behind`;
    return whatItDoes(is.upstream, growth, failures);
  });
  return does.join(', ');
}

/** The failure of an indexer: the result of most of its requests, otherwise its last failure. */
export function whatItDoes(indexer: string, growth: Growth, failures: Failures, name = indexer): string {
  const last = failures.of(indexer);
  const result = growth.most('upstream_requests_total', 'result', isBad, { upstream: indexer }) || last?.result || '';
  if (result === '' || !isBad(result)) return `${name} fails`;
  return withReason(saysOf(result, growth, name), isSame(last, result) ? last?.reason : undefined);
}

/** The system's own words for failures of this kind. */
function reasonOf(result: string, after: Samples, failures: Failures): string | undefined {
  const names = ofReplicas(after, 'circuit_breaker_open').map(({ labels }) => String(labels['upstream']));
  return names.map((indexer) => failures.of(indexer)).find((last) => isSame(last, result))?.reason;
}

export function withReason(words: string, reason: string | undefined): string {
  if (reason === undefined) return words;
  // The words of an indexer begin with its status, which the sentence may already contain. So may a port: 40131.
  const [, status = '', said = ''] = /^(\d{3}): (.*)$/.exec(reason) ?? [];
  return `${words} (${status !== '' && words.split(/\W+/).includes(status) ? said : reason})`;
}

/** True if requests with this result show a problem of the indexer. */
export function isBad(result: string): boolean {
  return OUTCOMES[outcomeOfResult(result)].kept === 'briefly' && !CLIENT_MISTAKES.includes(Number(result));
}

/** The behaviour of an indexer, by the result of its requests. */
function saysOf(result: string, growth: Growth, indexer?: string): string {
  const outcome = outcomeOfResult(result);
  const name = indexer ?? 'the indexer';
  if (outcome === 'refused-key' && isAnswering(growth, indexer)) return `${name} answers ${refusingStatus(growth)}`;
  const isByStatus = ['failed', 'client-error', 'invalid'].includes(outcome) && !Number.isNaN(Number(result));
  // The cast: only bad results get here, and these are failures for clients.
  return isByStatus ? `${name} answers ${result}` : sentenceOf(FAILURES[OUTCOMES[outcome].client as ErrorCode], name);
}

/** True if this indexer (or any) has answered requests in the window: then it accepts our key. */
function isAnswering(growth: Growth, indexer: string | undefined): boolean {
  const isKnown = indexer !== undefined && growth.after.of('upstream_requests_total', { upstream: indexer }).length > 0;
  const is: Readonly<Record<string, string>> = isKnown ? { upstream: indexer } : {};
  // A passed-through request may have its client's key.
  return growth.good(is) > growth.good({ ...is, operation: 'passthrough' });
}

function refusingStatus(growth: Growth): string {
  return (
    growth.most('upstream_requests_total', 'result', (result) => outcomeOfResult(result) === 'refused-key') || '403'
  );
}

/** True if an indexer's last failure has this result, by its status or by its code. */
function isSame(last: LastFailure | undefined, result: string): boolean {
  if (last === undefined || last.result === result) return last !== undefined;
  const outcome = outcomeOfResult(result);
  return (outcome === 'refused-key' || outcome === 'rate-limited') && outcomeOfResult(last.result) === outcome;
}

/** True if an indexer's last failure was a refusal of our key. */
export function refusesKey(indexer: string, failures: Failures): boolean {
  const last = failures.of(indexer);
  return last !== undefined && outcomeOfResult(last.result) === 'refused-key';
}
