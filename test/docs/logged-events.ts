import type { AppEvent } from '../../src/event-hub.ts';

const indexer = 'indexer:8081';
const of = { indexer, operation: 'pendingTraces' } as const;
const answered = { name: 'upstream-answered', ...of, status: 200, ms: 5 } as const;
const failed = { name: 'upstream-failed', ...of, code: 'upstream-unreachable', ms: 5 } as const;
const cause = new Error('connect ECONNREFUSED 10.0.0.7:8081');
const useless = { name: 'upstream-useless', ...of, status: 200 } as const;
const states = ['unhealthy', 'healthy', 'behind', 'caught-up', 'lacks-block', 'other-chain', 'head-accepted'] as const;
const words = { words: 'daily limit reached', retryAfterMs: 1000 };

/** Each line of the log with its cause: events in a row, of which the last one writes it. */
export const LOGGED_EVENTS: readonly (readonly AppEvent[])[] = [
  [{ ...failed, cause }],
  [{ ...useless, code: 'upstream-error', status: 500, says: words }],
  [{ ...useless, code: 'upstream-invalid', contentType: 'text/html', begins: '<html>' }],
  [{ ...failed, cause }, ...new Array<AppEvent>(10).fill(answered)],
  [{ ...useless, code: 'upstream-unauthorized', status: 401, says: words }],
  [{ name: 'upstream-unsent', ...of, ms: 5, cause }],
  [{ name: 'not-accepted', cause }],
  [{ name: 'few-open-files', warning: 'the limit of open files leaves room for ... connections of clients' }],
  [{ name: 'operation-served', ...of, isServed: false }],
  [{ name: 'operation-served', ...of, isServed: true }],
  ...states.map((state): AppEvent[] => [{ name: 'indexer-state', indexer, state }]),
  [{ name: 'breaker', ...of, state: 'open' }],
  [{ name: 'breaker', ...of, state: 'closed' }],
  [
    { ...answered, status: 429, says: words },
    { name: 'pause', indexer, state: 'begun', ms: 1000 },
  ],
  [{ name: 'pause', indexer, state: 'ended' }],
  [
    { ...answered, status: 429, says: words },
    { name: 'key-paused', indexer, key: 'mainnet pendingTraces?account=0:00', isCached: true, ms: 1000 },
  ],
  [
    { ...answered, status: 429, says: words },
    { name: 'key-paused', indexer, key: 'GET /api/v3/traces', isCached: false, ms: 1000 },
  ],
  [{ name: 'verdict', summary: 'refusing 90 %', cause: 'the indexer cannot be reached', runbook: 'the-indexer-fails' }],
  [{ name: 'verdict', summary: 'serving', cause: '', runbook: '' }],
  [{ name: 'rate-shared', shared: false }],
  [{ name: 'rate-shared', shared: true }],
  [{ name: 'redis-transition', state: 'connected' }],
  [{ name: 'redis-transition', state: 'disconnected', reason: 'connection lost' }],
  [{ name: 'redis-reason', reason: 'connection refused' }],
  [{ name: 'redis-available', operation: 'read', available: false, reason: 'timed out' }],
  [{ name: 'redis-available', operation: 'read', available: true, reason: undefined }],
  [{ name: 'redis-evicts-nothing', problem: 'noeviction' }],
  [{ name: 'redis-evicts-nothing', problem: 'no-maxmemory' }],
  [{ name: 'purged', selector: 'seqno', value: 62_000_145, notReached: undefined }],
  [{ name: 'purged', selector: 'seqno', value: 62_000_145, notReached: 'timed out' }],
  [{ name: 'purges-followed', bans: 2 }],
  [{ name: 'purges-available', available: false, reason: 'timed out' }],
  [{ name: 'purges-available', available: true, reason: undefined }],
  [{ name: 'proxy-not-trusted', address: '10.0.0.7' }],
  [{ name: 'client-not-named', address: '10.0.0.7', header: 'Forwarded' }],
  [{ name: 'streams-of-proxy', address: '10.0.0.7', header: 'X-Forwarded-For' }],
  [{ name: 'client-limited', client: '10.0.7.0/24' }],
  ...(['resting', 'idle', 'alive'] as const).map((state): AppEvent[] => [{ name: 'block-follower', state }]),
  [{ name: 'client-stream', result: 'upstream-unreachable' }],
  [{ name: 'bug', error: cause }],
];
