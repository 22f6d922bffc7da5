import type { AppEvent } from '../../src/event-hub.ts';

const indexer = 'indexer:8081';
const of = { indexer, operation: 'pendingTraces' } as const;
const cause = new Error('connect ECONNREFUSED 10.0.0.7:8081');
const useless = { name: 'upstream-useless', ...of, status: 200 } as const;
const paused = { name: 'key-paused', indexer, ms: 1000, says: '429: daily limit reached' } as const;

/** Each line of the log with its cause: events in a row, of which the last one writes it. */
export const LOGGED_EVENTS: readonly (readonly AppEvent[])[] = [
  [{ ...useless, code: 'upstream-invalid', contentType: 'text/html', begins: '<html>' }],
  [{ name: 'few-open-files', warning: 'the limit of open files (...) has room for ... connections of clients' }],
  [{ ...paused, key: 'mainnet pendingTraces?account=0:00', isCached: true }],
  [{ ...paused, key: 'GET /api/v3/traces', isCached: false }],
  [{ name: 'redis-transition', state: 'connected' }],
  [{ name: 'redis-evicts-nothing', problem: 'noeviction' }],
  [{ name: 'redis-evicts-nothing', problem: 'no-maxmemory' }],
  [{ name: 'purged', selector: 'seqno', value: 62_000_145, notReached: undefined }],
  [{ name: 'purged', selector: 'seqno', value: 62_000_145, notReached: 'timed out' }],
  [{ name: 'purges-followed', bans: 2 }],
  [{ name: 'proxy-not-trusted', address: '10.0.0.7' }],
  [{ name: 'client-not-named', address: '10.0.0.7', header: 'Forwarded' }],
  [{ name: 'streams-of-proxy', address: '10.0.0.7', header: 'X-Forwarded-For' }],
  ...(['resting', 'idle', 'alive'] as const).map((state): AppEvent[] => [{ name: 'block-follower', state }]),
  [{ name: 'pages-cut', indexer }],
  [{ name: 'client-stream', result: 'upstream-unreachable' }],
  [{ name: 'path-not-served', path: '/api/v3/nft/items', why: 'only ... are served here' }],
  [{ name: 'bug', error: cause }],
];
