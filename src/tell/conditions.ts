import { FAILURES } from '../failures/codes.ts';
import { REFUSED } from '../failures/refusals.ts';
import type { Ms } from '../time-units.ts';

/** `failing`: clients get no answer, or a wrong one. `degraded`: they get answers, not as usual. `note`: no alert. */
export type Level = 'failing' | 'degraded' | 'note';

/** How clients are served, in one word. The metric `toncache_verdict` is the index. */
export const LEVELS = ['OK', 'DEGRADED', 'FAILING'] as const;

export interface ConditionRow {
  readonly level: Level;
  /**
   * `{who}` is the name of the indexer, or "the indexer" if there is one; `{why}` the reason. A reason without a
   * place is added in brackets.
   */
  readonly says: string;
  /** What it means for clients, before a colon. */
  readonly effect?: string;
  /** In the first line instead of `says`. */
  readonly short?: string;
  /** The section of docs/incidents.md. */
  readonly section: string;
  /** The alert rule of config/prometheus/alerts.yml, if it does not wait for {@link Level}'s own. */
  readonly alert?: string;
  /** The level while it is true of every indexer but backups. */
  readonly ifAll?: Level;
  /** It ends when it has been clear for this long. */
  readonly endsAfterMs?: Ms;
}

function row(
  level: Level,
  says: string,
  section: string,
  more: Omit<ConditionRow, 'level' | 'says' | 'section'> = {},
): ConditionRow {
  return { level, says, section, ...more };
}

const wordsOf = ({ operatorReads }: { readonly operatorReads: string }) => operatorReads.replace('{indexer}', '{who}');

/** With the quiet seconds before it, a minute after the last failure. */
const UNANSWERED_MS: Ms = 55_000;

const LEFT = { alert: 'ToncacheIndexerLeft' };
const OUTDATED = { effect: 'responses are outdated', alert: 'ToncacheOutdated', ifAll: 'failing' } as const;

/** Every state that an operator must know. Of one level, the worst is first. */
export const CONDITIONS = {
  'no-answer': row('failing', '{why}', 'a-partial-outage', { alert: 'ToncacheRefusing', endsAfterMs: UNANSWERED_MS }),
  // Behind `no-answer` in the order of levels: only some clients, or one key, get no answer.
  'one-unanswered': row('degraded', '{why}', 'a-partial-outage', { endsAfterMs: UNANSWERED_MS }),
  'passed-fails': row('degraded', '{why}', 'the-indexer-fails', { endsAfterMs: UNANSWERED_MS }),
  'limited-most': row(
    'failing',
    '{why}; if that is your proxy, set TRUSTED_PROXIES',
    'clients-ask-for-more-than-their-limit',
    { alert: 'ToncacheRefusing', endsAfterMs: 60_000, short: '{why}; for a proxy, set TRUSTED_PROXIES' },
  ),
  'head-fell': row(
    'degraded',
    'the newest block of {who} fell back by {why} blocks',
    'the-newest-block-fell-back',
    OUTDATED,
  ),
  'head-still': row(
    'degraded',
    'the newest block of {who} has been the same for {why}',
    'the-newest-block-stands-still',
    OUTDATED,
  ),
  'head-old': row('degraded', 'the newest block of {who} is {why} old', 'the-newest-block-is-old', OUTDATED),
  'other-chain': row('degraded', wordsOf(REFUSED['other-chain']), 'the-indexer-follows-another-chain', {
    ...LEFT,
    ifAll: 'failing',
  }),
  'backup-in-use': row('degraded', '{why}', 'served-by-the-backup', {
    effect: 'served by the backup {who}',
    alert: 'ToncacheBackupInUse',
  }),
  'key-refused': row('degraded', '{who} {why}', 'the-indexer-fails', LEFT),
  'not-reached': row('degraded', wordsOf(FAILURES['upstream-unreachable']), 'the-indexer-fails', LEFT),
  'breaker-open': row('note', '{who} {why}; its circuit breaker is open', 'the-indexer-fails', {
    alert: 'ToncacheBreakerOpen',
    short: '{who} {why}',
    ifAll: 'degraded',
  }),
  'indexer-fails': row('degraded', '{who} {why}', 'the-indexer-fails', LEFT),
  paused: row('degraded', '{who} is rate limited', 'the-indexer-asked-for-a-pause', {
    alert: 'ToncachePaused',
  }),
  'lacks-block': row(
    'degraded',
    '{who} lacks a block that it named, so its 404s may be wrong',
    'the-indexer-lacks-blocks',
    { ...LEFT, short: '{who} lacks a block of its own, so its 404s may be wrong' },
  ),
  overloaded: row('degraded', '{why}', 'more-requests-than-the-indexer-can-answer'),
  slow: row('degraded', '{why}', 'slow-responses', { alert: 'ToncacheSlow' }),
  'no-sockets': row('degraded', wordsOf(REFUSED.sockets), 'this-process-can-open-no-more-connections'),
  'process-memory': row('degraded', wordsOf(REFUSED.memory), 'this-process-has-hardly-any-memory-left'),
  'redis-unavailable': row('degraded', 'Redis is unreachable', 'redis-is-unreachable', {
    effect: 'served from memory alone',
    alert: 'ToncacheRedisAway',
  }),
  'purges-missed': row(
    'degraded',
    'purges of other instances cannot be read, so entries in Redis are not used',
    'redis-is-unreachable',
    { alert: 'ToncacheRedisAway', short: 'purges of other instances cannot be read' },
  ),
  'rate-not-shared': row(
    'degraded',
    'Redis fails, so each instance uses the whole rate of {who}',
    'redis-is-unreachable',
    {
      effect: 'the rate limit is not shared',
      short: 'Redis fails',
    },
  ),
  'not-served': row(
    'note',
    '{who} does not serve {operation}: {why}; clients get 501 if no other does',
    'serving-without-an-operation',
    { ifAll: 'degraded', short: '{who} does not serve {operation}: {why}' },
  ),
  behind: row('degraded', '{who} is behind: others are used', 'serving-without-an-indexer', LEFT),
  silent: row(
    'degraded',
    '{who} is unresponsive: it does not answer head polls, so its lag is unknown',
    'an-indexer-does-not-report-its-newest-block',
    { ...LEFT, short: '{who} does not answer head polls, so its lag is unknown' },
  ),
  'no-head': row(
    'note',
    '{who} does not answer as an indexer: {why}; is its address right?',
    'an-indexer-does-not-report-its-newest-block',
    { short: '{who} does not answer as an indexer: {why}' },
  ),
  'connections-refused': row(
    'degraded',
    'connections of clients are refused: too many are open',
    'toncacheconnectionsrefused',
    { alert: 'ToncacheConnectionsRefused' },
  ),
  'older-answers': row('degraded', 'some responses were older than earlier ones', 'older-responses-were-served'),
  'clock-wrong': row('degraded', '{why}', 'a-clock-is-wrong', { alert: 'ToncacheClockWrong' }),
  'memory-small': row('degraded', 'memory is full: {why}', 'memory-is-too-small', {
    alert: 'ToncacheMemoryTooSmall',
  }),
  'log-blocked': row('degraded', 'the log cannot be written', 'toncacheloglinesdropped', {
    alert: 'ToncacheLogLinesDropped',
  }),
  'shutting-down': row('degraded', wordsOf(FAILURES['shutting-down']), 'this-instance-is-shutting-down'),
  bug: row('degraded', 'this should not happen: please report it', 'this-should-not-happen'),
  'one-client': row('note', '{why}', 'more-requests-than-the-indexer-can-answer'),
  'client-limited': row('note', '{why}; all others are answered', 'clients-ask-for-more-than-their-limit'),
  'short-history': row('note', '{why}', 'an-indexer-has-a-shorter-history'),
  'key-paused': row('note', wordsOf(REFUSED['key-paused']), 'the-indexer-asked-for-a-pause'),
  'indexer-error': row('note', '{who} {why}', 'the-indexer-fails'),
} as const satisfies Record<string, ConditionRow>;

export type ConditionName = keyof typeof CONDITIONS;

/** Why an indexer as a whole brings no answer. Of those that were true, only the present one is told. */
export const CAUSES_OF_INDEXER: readonly ConditionName[] = ['indexer-fails', 'key-refused', 'not-reached'];
