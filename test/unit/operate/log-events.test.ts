import { beforeEach, describe, expect, it } from 'vitest';
import type { ProxyEvent } from '../../../src/answer/events.ts';
import { EventHub } from '../../../src/event-hub.ts';
import { logEvents } from '../../../src/operate/log-events.ts';
import { createLogger } from '../../../src/operate/logger.ts';

const WARN = 'warn';
const INFO = 'info';

let said: { readonly level: string; readonly msg: string }[];
let events: EventHub;
let now: number;

beforeEach(() => {
  said = [];
  now = 0;
  events = new EventHub();
  logEvents(createLogger('info', { write: (line) => void said.push(JSON.parse(line)) }), () => now, events);
});

function levelsOf(...reported: readonly ProxyEvent[]): readonly string[] {
  for (const event of reported) events.report(event);
  return said.map(({ level }) => level);
}

const indexer = 'indexer:8081';
const opened: ProxyEvent = { name: 'breaker', indexer, operation: 'pendingTraces', state: 'open' };
const closed: ProxyEvent = { name: 'breaker', indexer, operation: 'pendingTraces', state: 'closed' };
const answered: Extract<ProxyEvent, { name: 'upstream-answered' }> = {
  name: 'upstream-answered',
  indexer,
  operation: 'pendingTraces',
  status: 200,
  ms: 1,
};
const useless: Extract<ProxyEvent, { name: 'upstream-useless' }> = {
  name: 'upstream-useless',
  indexer,
  operation: 'pendingTraces',
  code: 'upstream-invalid',
  status: 200,
};

describe('the log', () => {
  it('reports when a circuit breaker opens, and when it closes', () => {
    expect(levelsOf(opened, closed, opened)).toEqual([WARN, INFO, WARN]);
  });

  it('reports once a minute how an indexer fails, and its recovery after ten good answers', () => {
    const good = new Array(10).fill(answered);
    expect(levelsOf(...good, useless, useless, ...good.slice(1), useless)).toEqual([WARN]);
    now = 60_000;
    expect(levelsOf(useless, { ...useless, code: 'upstream-too-large' })).toEqual([WARN, WARN, WARN]);
    expect(levelsOf(...good, ...good, useless)).toEqual([WARN, WARN, WARN, INFO]);
    now = 120_000;
    expect(levelsOf(useless, ...good)).toEqual([WARN, WARN, WARN, INFO, WARN, INFO]);
  });

  it('reports a recovery once the indexer answers the failed operation, or any operation after a refused key', () => {
    const other = new Array(10).fill({ ...answered, operation: 'adjacentTransactions' });
    expect(levelsOf(useless, ...other)).toEqual([WARN]);
    expect(levelsOf(...new Array(10).fill(answered))).toEqual([WARN, INFO]);
    now = 60_000;
    const refused: ProxyEvent = { ...useless, code: 'upstream-unauthorized', status: 401 };
    expect(levelsOf(refused, ...other)).toEqual([WARN, INFO, 'error', INFO]);
  });

  it.each([
    [{ isOne: true, backups: [] }, 'check UPSTREAM_API_KEY (clients get 502)'],
    [
      { isOne: false, backups: [] },
      'check UPSTREAM_API_KEY (the other indexers are used; clients get 502 only if all fail)',
    ],
    [{ isOne: false, backups: [indexer] }, 'check UPSTREAM_BACKUP_API_KEY (the other indexers are used; '],
  ])('reports a refused key once a minute, with its setting and the status that clients get: %j', (indexers, words) => {
    events = new EventHub();
    logEvents(createLogger('info', { write: (line) => void said.push(JSON.parse(line)) }), () => now, events, indexers);
    const refused: ProxyEvent = { ...useless, code: 'upstream-unauthorized', status: 401 };
    for (let time = 0; time < 3; time++) levelsOf({ ...answered, status: 401 }, refused);
    expect(said).toEqual([expect.objectContaining({ level: 'error', msg: expect.stringContaining(words) })]);
  });

  it('has no line for failures that have lines of their own, or for mistakes of clients', () => {
    const codes = ['upstream-rate-limited', 'not-served'] as const;
    const passed: ProxyEvent = { ...answered, operation: 'passthrough', status: 401 };
    expect(levelsOf(passed, ...codes.map((code) => ({ ...useless, code, status: 500 })))).toEqual([]);
    expect(levelsOf({ ...useless, code: 'upstream-error', status: 422 })).toEqual([]);
    expect(levelsOf({ ...answered, status: 500 }, { ...useless, code: 'upstream-error', status: 500 })).toEqual([WARN]);
  });

  it('reports keys with 429 once a minute, without accounts and secrets, whatever other answers come in between', () => {
    const secret = 'f'.repeat(64);
    const ofPath = {
      name: 'key-paused',
      indexer,
      key: `GET /api/v3/top/${secret}/all`,
      isCached: false,
      ms: 1,
    } as const;
    const ofKey = { ...ofPath, key: `mainnet adjacentTransactions?hash=${secret}`, isCached: true };
    const good = new Array(20).fill(answered);
    expect(levelsOf(ofPath, ...good, ofKey, ...good, ofPath)).toEqual([WARN]);
    now = 60_000;
    expect(levelsOf(ofKey)).toEqual([WARN, WARN]);
    expect(said).toEqual([
      expect.objectContaining({
        path: 'GET /api/v3/top/…/all',
        msg: expect.stringContaining('429 for one key or path'),
      }),
      expect.objectContaining({ key: expect.stringMatching(/^.{16}$/) }),
    ]);
    expect(JSON.stringify(said)).not.toContain(secret);
  });

  it('reports when an operation is not served, and when it is served again', () => {
    const served = { name: 'operation-served', indexer, operation: 'pendingTraces' } as const;
    expect(levelsOf({ ...served, isServed: false }, { ...served, isServed: true })).toEqual([WARN, INFO]);
  });

  it('reports each operation and each indexer separately', () => {
    expect(levelsOf(opened, { ...opened, operation: 'adjacentTransactions' })).toEqual([WARN, WARN]);
    expect(levelsOf(useless, answered, { ...useless, indexer: 'other:8081' })).toEqual([WARN, WARN, WARN, WARN]);
  });

  it('reports when the rate is no longer shared through Redis, and when it is shared again', () => {
    expect(levelsOf({ name: 'rate-shared', shared: false }, { name: 'rate-shared', shared: true })).toEqual([
      WARN,
      INFO,
    ]);
  });
});
