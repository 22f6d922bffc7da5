import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { failure } from '../../../src/errors.ts';
import { CONDITIONS } from '../../../src/tell/conditions.ts';
import { ANSWERED_500, TellingWorld, TIMEOUT } from './telling-world.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const LASTS = { lasts: true };
const REFUSED = new Error('connect ECONNREFUSED 10.0.0.7:8081');
const UNREACHABLE = failure('upstream-unreachable');

/** What happens, the first line a second later, and the indexers if there is more than one. */
type Situation = [name: string, (world: TellingWorld) => void, line: string, indexers?: readonly string[]];

const OK = 'OK: serving as usual';
const SERVED: readonly Situation[] = [
  ['no request came', () => {}, OK],
  ['all requests are answered', (it) => [it.answered(90), it.sent(90, 200)], OK],
  ['answers are stale while they are refreshed', (it) => [it.answered(50, 'stale'), it.sent(50, 200)], OK],
  ['two requests fail', (it) => [it.answered(90), it.failed(2, TIMEOUT)], OK],
  ['1 % of the requests fail', (it) => [it.answered(297), it.failed(3, TIMEOUT)], OK],
  ['the indexer reports mistakes of clients', (it) => [it.answered(90), it.sent(90, 422), it.sent(90, 400)], OK],
  ['two of 40 requests are slow', (it) => [it.answered(40, 'miss'), it.sent(38, 200), slow(it, 2)], OK],
  ['the only waiting client has the backlog', (it) => crowd(it, 1, 200, 1), OK],
  ['one client sends most requests, and all are answered', (it) => [it.answered(90), crowd(it, 0, 0, 0, 0.95)], OK],
  [
    'half of the answers are hits, some of them in Redis',
    (it) => [it.answered(20), it.answered(30, 'hit-redis'), it.answered(50, 'miss'), evict(it, 80)],
    OK,
  ],
  [
    'memory evicts one fresh entry for two misses',
    (it) => [it.answered(40), it.answered(60, 'miss'), evict(it, 30)],
    OK,
  ],
  ['memory evicts, and one request a second arrives', (it) => [it.answered(10, 'miss'), evict(it, 10)], OK],
  ['the clock of Redis is 4.9 s ahead', (it) => Object.assign(it, { aheadMs: 4900 }), OK],
  ['the newest block is 10 min old', (it) => head(it, 0, { ageMs: 600_000 }), OK],
];

const FAILING: readonly Situation[] = [
  [
    '2 % of the requests fail',
    (it) => [it.answered(98 * 2), it.failed(4, TIMEOUT)],
    'FAILING: 2 % of requests get no answer: the indexer does not answer in time',
  ],
  [
    'the indexer answers 500',
    (it) => [it.answered(10), it.sent(90, 500, { words: 'no disk' }), it.failed(90, ANSWERED_500)],
    'FAILING: 90 % of requests get no answer: the indexer answers 500 (no disk)',
  ],
  [
    'all requests for one operation fail',
    (it) => [
      it.answered(60, 'miss'),
      it.sent(20, 500, { operation: 'adjacentTransactions' }),
      it.failed(20, ANSWERED_500, 'adjacentTransactions'),
    ],
    'FAILING: 25 % of requests get no answer (adjacentTransactions): the indexer answers 500',
  ],
  [
    'few requests fail, all for one operation by chance',
    (it) => [
      it.answered(60, 'miss'),
      it.answered(57, 'miss', 'adjacentTransactions'),
      it.sent(3, 500, { operation: 'adjacentTransactions' }),
      it.failed(3, ANSWERED_500, 'adjacentTransactions'),
    ],
    'FAILING: 3 % of requests get no answer: the indexer answers 500',
  ],
  [
    'connections break',
    (it) => [it.unanswered(5, 'upstream-reset'), it.failed(5, failure('upstream-reset'))],
    'FAILING: 100 % of requests get no answer: the indexer closes the connection before it answers',
  ],
  [
    'the indexer cannot be reached, and 94 % are hits',
    (it) => [it.answered(94), it.unanswered(6, 'upstream-unreachable', { cause: REFUSED }), it.failed(6, UNREACHABLE)],
    'FAILING: 6 % of requests get no answer: the indexer cannot be reached (connect ECONNREFUSED 10.0.0.7:8081)',
  ],
  [
    'no indexer can be reached before the first request',
    (it) => it.unanswered(1, 'upstream-unreachable', { cause: REFUSED }),
    'FAILING: no request can be answered: the indexer cannot be reached (connect ECONNREFUSED 10.0.0.7:8081)',
  ],
  [
    'the key is refused before the first request',
    (it) => it.sent(1, 401, { words: 'no such key' }),
    'FAILING: no request can be answered: the indexer refuses our API key (401: no such key): check UPSTREAM_API_KEY',
  ],
  [
    'both indexers redirect',
    (it) => [
      it.sent(5, 302),
      it.sent(5, 302, { indexer: 'b' }),
      it.failed(5, failure('upstream-redirect', { indexer: 'b' })),
    ],
    'FAILING: 100 % of requests get no answer: b answers with a redirect',
    ['a', 'b'],
  ],
  [
    'a breaker refuses all misses',
    (it) => [
      it.unanswered(3, 'upstream-unreachable', { cause: REFUSED }),
      breaker(it),
      it.answered(10),
      it.refused(90, 'breaker-open'),
    ],
    'FAILING: 90 % of requests get no answer: the indexer cannot be reached (connect ECONNREFUSED 10.0.0.7:8081); its circuit breaker is open',
  ],
  [
    'more requests arrive than can be answered',
    (it) => [it.answered(90), it.refused(10, 'expected-wait')],
    'FAILING: 10 % of requests get no answer: there are more requests than the indexer can answer',
  ],
  [
    'most of them are those of one client',
    (it) => [crowd(it, 1, 5, 1, 0.95), it.answered(90), it.refused(10, 'expected-wait')],
    'FAILING: 10 % of requests get no answer: one client sends 95 % of the requests that memory does not answer',
  ],
  [
    'the rate limit is used up',
    (it) => [it.answered(90), it.refused(10, 'rate-limit')],
    'FAILING: 10 % of requests get no answer: the rate limit of the indexer is used up',
  ],
  [
    'the indexer asked for a pause',
    (it) => [
      crowd(it, 0, 0, 0, 0.95),
      it.conditions.set('paused', { upstream: 'a' }, '429: quota; asks for 12 h', LASTS),
      it.answered(90),
      it.refused(10, 'paused'),
    ],
    'FAILING: 10 % of requests get no answer: the indexer asked for a pause (429) (quota; asks for 12 h)',
  ],
  [
    'the indexer answers 429 for one key',
    (it) => [it.answered(90), it.refused(10, 'key-paused')],
    'FAILING: 10 % of requests get no answer: the indexer answers 429 for one key or path',
  ],
  [
    'the process has no memory',
    (it) => [it.answered(90), it.refused(10, 'memory')],
    'FAILING: 10 % of requests get no answer: this process has hardly any memory left',
  ],
  [
    'it can open no connection',
    (it) => [
      it.events.report({
        name: 'upstream-unsent',
        indexer: 'a',
        operation: 'pendingTraces',
        ms: 0,
        cause: new Error('connect EMFILE'),
      }),
      it.answered(90),
      it.refused(10, 'sockets'),
    ],
    'FAILING: 10 % of requests get no answer: this process can open no more connections (connect EMFILE)',
  ],
  [
    'the indexer times out while a client is limited',
    (it) => [it.answered(90), it.limited(90), it.unanswered(10, 'upstream-timeout'), it.failed(10, TIMEOUT)],
    'FAILING: 10 % of requests get no answer: the indexer does not answer in time',
  ],
  [
    'more requests are limited than all others',
    (it) => [it.answered(90), it.limited(61), it.failed(30, failure('too-many-requests'))],
    'FAILING: 50 % of requests are limited: 10.0.7.0/24 exceeds its limit; if that is your proxy, set TRUSTED_PROXIES',
  ],
  [
    'a firewall refuses an operation',
    (it) => [
      it.sent(90, 200),
      it.answered(90),
      it.sent(10, 403, { operation: 'adjacentTransactions', words: 'blocked' }),
      it.failed(10, failure('upstream-unauthorized', { upstreamStatus: 403 }), 'adjacentTransactions'),
    ],
    'FAILING: 10 % of requests get no answer (adjacentTransactions): the indexer answers 403 (blocked)',
  ],
  [
    'the newest block stands still, that of a backup moves',
    (it) => head(it, 0, { sameForMs: 121_000 }),
    'FAILING: outdated answers: the newest block of a has been the same for 2 min',
    ['a', 'backup'],
  ],
  [
    'the newest block is old',
    (it) => head(it, 0, { ageMs: 147_600_000 }),
    'FAILING: outdated answers: the newest block of the indexer is 41 h old',
  ],
  [
    'the newest block fell back',
    (it) => fall(it, 0, 1250),
    'FAILING: outdated answers: the newest block of the indexer fell back by 1,250 blocks',
  ],
  [
    'both fell back',
    (it) => [fall(it, 0, 1250), fall(it, 1, 1240)],
    'FAILING: outdated answers: the newest block of a fell back by 1,250 blocks',
    ['a', 'b'],
  ],
  [
    'the indexer follows another chain',
    (it) => it.conditions.set('other-chain', { upstream: 'a' }, 'global_id -3', LASTS),
    'FAILING: the indexer follows another chain than NETWORK (global_id -3)',
  ],
];

const DEGRADED: readonly Situation[] = [
  [
    'the key is refused, and hits are served',
    (it) => [it.answered(90), it.sent(1, 401)],
    'DEGRADED: the indexer refuses our API key (401): check UPSTREAM_API_KEY',
  ],
  [
    'the backup refuses its key',
    (it) => [it.answered(9), it.sent(1, 403, { indexer: 'backup' })],
    'DEGRADED: backup refuses our API key (403): check UPSTREAM_BACKUP_API_KEY',
    ['a', 'backup'],
  ],
  [
    'stale copies are served while the indexer times out',
    (it) => [it.answered(50, 'stale'), it.unanswered(50, 'upstream-timeout')],
    'DEGRADED: the indexer does not answer in time',
  ],
  [
    'a breaker is open, and all requests are hits',
    (it) => [it.sent(3, 500), it.answered(90), breaker(it)],
    'DEGRADED: the indexer answers 500; its circuit breaker is open',
  ],
  [
    'one of two redirects and is unhealthy',
    (it) => [
      it.sent(5, 302),
      it.sent(10, 200, { indexer: 'b' }),
      it.answered(10),
      it.conditions.set('indexer-fails', { upstream: 'a' }, it.errors.last('a'), LASTS),
    ],
    'DEGRADED: a answers with a redirect',
    ['a', 'b'],
  ],
  [
    'one of two times out now and then',
    (it) => [it.answered(20, 'miss'), it.unanswered(5, 'upstream-timeout'), it.sent(15, 200, { indexer: 'b' })],
    'DEGRADED: a does not answer in time',
    ['a', 'b'],
  ],
  [
    'one of two stands still',
    (it) => head(it, 1, { sameForMs: 300_000 }),
    'DEGRADED: outdated answers: the newest block of b has been the same for 5 min',
    ['a', 'b'],
  ],
  [
    'one of two is behind',
    (it) => it.conditions.set('behind', { upstream: 'b' }, '', LASTS),
    'DEGRADED: b is behind: the other indexers are used',
    ['a', 'b'],
  ],
  [
    'one of two lacks a block',
    (it) => it.conditions.set('lacks-block', { upstream: 'a' }, '', LASTS),
    'DEGRADED: a lacks a block that it named, so its 404s may be wrong',
    ['a', 'b'],
  ],
  [
    'one of two answers no head polls',
    (it) => silent(it),
    'DEGRADED: a is unresponsive: it does not answer head polls, so its lag is unknown',
    ['a', 'b'],
  ],
  [
    'the indexer asked for a pause, and hits are served',
    (it) => [it.answered(90), it.conditions.set('paused', { upstream: 'a' }, '', LASTS)],
    'DEGRADED: the indexer asked for a pause (429)',
  ],
  [
    'a backup answers because the other cannot be reached',
    (it) => [
      it.unanswered(1, 'upstream-unreachable', { cause: REFUSED }),
      it.answered(60, 'miss'),
      it.sent(60, 200, { indexer: 'backup' }),
    ],
    'DEGRADED: served by the backup backup: a cannot be reached (connect ECONNREFUSED 10.0.0.7:8081)',
    ['a', 'backup'],
  ],
  [
    'a backup answers after one failure',
    (it) => [it.sent(1, 500), it.answered(1, 'miss'), it.sent(1, 200, { indexer: 'backup' })],
    'DEGRADED: served by the backup backup: a answers 500',
    ['a', 'backup'],
  ],
  [
    'a backup answers, and no other fails',
    (it) => [it.answered(6, 'miss'), it.sent(6, 200, { indexer: 'backup' })],
    'DEGRADED: served by the backup backup: all slots of the others are in use',
    ['a', 'backup'],
  ],
  [
    'no indexer serves an operation',
    (it) =>
      it.conditions.set('not-served', { upstream: 'a', operation: 'pendingTraces' }, 'start it with -redis', LASTS),
    'DEGRADED: the indexer does not serve pendingTraces: start it with -redis; clients get 501 if no other does',
  ],
  [
    'clients wait for a slow indexer',
    (it) => [it.answered(90, 'miss'), it.sent(10, 200), slow(it, 80)],
    'DEGRADED: slow answers: the indexer is slow (89 % of its answers take more than 2 s)',
  ],
  [
    'refreshes of stale answers are slow',
    (it) => [it.answered(50, 'stale'), it.sent(40, 200, { ms: 4000 })],
    'DEGRADED: stale answers: the indexer is slow (100 % of its answers take more than 2 s)',
  ],
  [
    'the indexer is slow for one operation',
    (it) => [
      it.answered(50, 'miss'),
      it.answered(50, 'miss', 'adjacentTransactions'),
      it.sent(50, 200),
      it.sent(50, 200, { operation: 'adjacentTransactions', ms: 5000 }),
      wait(it, 50),
    ],
    'DEGRADED: slow answers (adjacentTransactions): the indexer is slow (50 % of its answers take more than 2 s)',
  ],
  [
    'requests wait for a slot',
    (it) => [it.answered(100, 'miss'), it.sent(100, 200), wait(it, 50)],
    'DEGRADED: slow answers: requests wait for a slot at the indexer',
  ],
  [
    'Redis is away',
    (it) => redis(it, 'OOM command not allowed'),
    'DEGRADED: serving from memory alone: Redis is away (OOM command not allowed)',
  ],
  [
    'purges cannot be read',
    (it) =>
      it.events.report({
        name: 'redis-available',
        operation: 'purges',
        available: false,
        reason: 'NOPERM no rights',
      }),
    'DEGRADED: serving from memory alone: Redis is away (NOPERM no rights)',
  ],
  [
    'memory is small',
    (it) => [it.answered(49), it.answered(51, 'miss'), evict(it, 30)],
    'DEGRADED: memory is full: it evicts 3.0 fresh answers a second, and hits are 49 %',
  ],
  [
    'memory is small, and some hits are proven',
    (it) => [it.answered(10), it.answered(30, 'hit-proven'), it.answered(60, 'miss'), evict(it, 40)],
    'DEGRADED: memory is full: it evicts 4.0 fresh answers a second, and hits are 40 %',
  ],
  [
    'refusals get stale copies',
    (it) => [
      it.answered(90, 'stale'),
      it.events.report({ name: 'load-refused', operation: 'pendingTraces', reason: 'queue-full' }),
    ],
    'DEGRADED: there are more requests than the indexer can answer',
  ],
  [
    'the clock of Redis is behind',
    (it) => Object.assign(it, { aheadMs: -120_000 }),
    'DEGRADED: the clock of Redis is 2 min behind that of this machine',
  ],
  [
    'the chain is ahead of our clock',
    (it) => [head(it, 0, { ageMs: -6000 }), head(it, 1, { ageMs: -7000 })],
    'DEGRADED: the chain is 6 s ahead of our clock',
    ['a', 'b'],
  ],
  [
    'lines of the log are dropped',
    (it) => Object.assign(it.logOutput, { dropped: 1 }),
    'DEGRADED: the log cannot be written',
  ],
];

const NOTES: readonly Situation[] = [
  [
    'a client exceeds its limit',
    (it) => [it.answered(90), it.limited(80)],
    'note: 10.0.7.0/24 exceeds its limit; all others are answered',
  ],
  ['one client has most of the backlog', (it) => crowd(it, 5, 200, 0.83), 'note: one client has 83 % of the backlog'],
  [
    'one of two has a breaker open',
    (it) => [it.answered(90), breaker(it)],
    'note: a fails; its circuit breaker is open',
    ['a', 'b'],
  ],
  [
    'one of two does not serve an operation',
    (it) => it.conditions.set('not-served', { upstream: 'a', operation: 'blocks' }, 'x', LASTS),
    'note: a does not serve blocks: x; clients get 501 if no other does',
    ['a', 'b'],
  ],
  [
    'the history of b is shorter',
    (it) => [first(it, 0, 5), first(it, 1, 1006)],
    "note: b's history begins at block 1006: give all indexers the same history",
    ['a', 'b'],
  ],
  [
    'one request of many fails',
    (it) => [it.answered(900), it.sent(900, 200), it.sent(1, 500)],
    'note: the indexer answers 500',
  ],
];

function slow(it: TellingWorld, count: number) {
  it.sent(count, 200, { ms: 2500 });
  wait(it, count);
}
function wait(it: TellingWorld, count: number) {
  for (let time = 0; time < count; time++)
    it.events.report({ name: 'waited', operation: 'pendingTraces', outcome: 'miss', ms: 2500 });
}
function crowd(it: TellingWorld, waitingClients: number, waiting: number, waitingShare: number, askingShare = 0) {
  it.crowd = { waitingClients, waiting, waitingShare, askingShare };
}
function evict(it: TellingWorld, count: number) {
  for (let time = 0; time < count; time++) it.events.report({ name: 'evicted' });
}
function head(it: TellingWorld, place: number, { ageMs = 1000, sameForMs = 0 }) {
  Object.assign(it.indexers[place]?.head ?? {}, { lastWord: { ageMs, sameForMs } });
}
const fall = (it: TellingWorld, place: number, fallenBlocks: number) =>
  Object.assign(it.indexers[place]?.head ?? {}, { fallenBlocks });
const first = (it: TellingWorld, place: number, oldestBlock: number) =>
  Object.assign(it.indexers[place]?.head ?? {}, { oldestBlock });
const silent = (it: TellingWorld) => Object.assign(it.indexers[0]?.polls ?? {}, { isUnresponsive: true });
const breaker = (it: TellingWorld) => it.indexers[0]?.open.add('pendingTraces');
const redis = (it: TellingWorld, reason: string) =>
  it.events.report({ name: 'redis-available', operation: 'read', available: false, reason });

describe('the first line, a second later, is', () => {
  it.each<Situation>([...SERVED, ...FAILING, ...DEGRADED])('if %s: %#', (_, happens, line, indexers = ['a']) => {
    const world = new TellingWorld(indexers);
    happens(world);
    world.pass(1);
    expect(world.line).toBe(line);
  });

  it.each<Situation>([...NOTES])('OK if %s, with a note', (_, happens, note, indexers = ['a']) => {
    const world = new TellingWorld(indexers);
    happens(world);
    world.pass(1);
    expect([world.level, ...world.told]).toEqual(['OK', note]);
  });
});

describe('failed requests', () => {
  it('are told until a minute after the last one, with their present share', () => {
    const world = new TellingWorld();
    world.pass(12, () => world.answered(10));
    world.pass(2, () => [world.failed(5, TIMEOUT)]);
    // Failures that come and go within a minute are one condition.
    for (let time = 0; time < 5; time++) {
      world.pass(15, () => world.answered(10));
      world.pass(2, () => world.failed(5, TIMEOUT));
    }
    world.pass(12, () => world.answered(10));
    expect(world.line).toBe(
      'FAILING: 5 % of the requests of the last 1 min got no answer, none for 12 s: the indexer does not answer in time',
    );
    world.pass(46, () => world.answered(10));
    expect(world.level).toBe('FAILING');
    world.pass(4, () => world.answered(10));
    expect(world.level).toBe('OK');
    expect(world.log).toEqual(['failing no-answer', expect.stringMatching(/^over no-answer 1\d\d$/)]);
  });

  it('are told if only the last minute, or the last five, have enough of them', () => {
    const slowly = new TellingWorld();
    for (let time = 0; time < 4; time++) {
      slowly.pass(13, () => slowly.answered(5));
      slowly.pass(1, () => slowly.failed(1, TIMEOUT));
    }
    expect(slowly.line).toMatch(/^FAILING: 2 % of the requests of the last 1 min got no answer: /);
    const slower = new TellingWorld();
    for (let time = 0; time < 20; time++) {
      slower.pass(14);
      slower.pass(1, () => slower.failed(1, TIMEOUT));
      slower.answered(8);
    }
    expect(slower.level).toBe('FAILING');
    const night = new TellingWorld();
    for (let time = 0; time < 8; time++) {
      night.pass(50);
      night.pass(1, () => [night.answered(7), night.failed(1, TIMEOUT)]);
      expect(night.level).toBe('OK');
    }
  });

  it('name the circuit breaker only while it is open', () => {
    const world = new TellingWorld();
    breaker(world);
    world.unanswered(3, 'upstream-timeout');
    world.pass(2, () => world.refused(10, 'breaker-open'));
    expect(world.line).toContain('the indexer does not answer in time; its circuit breaker is open');
    world.indexers[0]?.open.clear();
    world.pass(5, () => world.answered(10));
    expect(world.line).toMatch(/: the indexer does not answer in time$/);
  });
});

describe('a condition', () => {
  it('keeps its beginning and the reason that explains more, and ends when it was clear for 15 s', () => {
    const world = new TellingWorld();
    const { conditions } = world;
    redis(world, 'READONLY You cannot write');
    world.pass(3);
    conditions.set('redis-unavailable', {}, 'connection closed', LASTS);
    expect(conditions.active).toMatchObject([{ since: 1_000_000, says: expect.stringContaining('READONLY') }]);
    conditions.clear('redis-unavailable');
    world.pass(14);
    conditions.set('redis-unavailable', {}, '', LASTS);
    conditions.clear('redis-unavailable');
    world.pass(14);
    expect(world.level).toBe('DEGRADED');
    world.pass(1);
    expect(world.log).toEqual(['degraded redis-unavailable', 'over redis-unavailable 32']);
  });

  it('ends when it was not set again for 60 s, unless something holds it', () => {
    const world = new TellingWorld();
    world.conditions.set('connections-refused');
    world.conditions.set('paused', { upstream: 'a' }, '', LASTS);
    world.pass(59);
    expect(world.told).toHaveLength(2);
    world.pass(3600);
    expect(world.told).toEqual(['degraded: the indexer asked for a pause (429)']);
  });

  it('of one indexer becomes worse when it is true of every other but backups', () => {
    const world = new TellingWorld(['a', 'b', 'backup']);
    world.conditions.set('other-chain', { upstream: 'a' }, '', LASTS);
    expect(world.level).toBe('DEGRADED');
    world.conditions.set('other-chain', { upstream: 'b' }, '', LASTS);
    expect(world.level).toBe('FAILING');
    expect(world.log).toEqual(['degraded other-chain', 'failing other-chain', 'failing other-chain']);
  });

  it('of a breaker that no request tries ends when the indexer answers others', () => {
    const world = new TellingWorld();
    breaker(world);
    world.pass(100);
    expect(world.level).toBe('DEGRADED');
    world.pass(20, () => world.sent(1, 200, { operation: 'adjacentTransactions' }));
    expect(world.level).toBe('OK');
  });

  it('is a metric: 1 while it is present, and 0 afterwards', () => {
    const world = new TellingWorld();
    const values = () => world.conditions.samples.map(({ value, labels }) => [value, ...Object.values(labels)]);
    expect(values()).toEqual([]);
    redis(world, 'x');
    expect(values()).toEqual([[1, 'redis-unavailable', 'degraded', '', '']]);
    world.events.report({ name: 'redis-available', operation: 'read', available: true, reason: undefined });
    world.pass(20);
    expect(values()).toEqual([[0, 'redis-unavailable', 'degraded', '', '']]);
  });
});

it('a client that a limit refuses is named by its network, and further ones are counted', () => {
  const world = new TellingWorld();
  for (const client of ['a', 'b', 'c', 'd', 'e']) world.events.report({ name: 'client-limited', client });
  world.answered(90);
  world.limited(5);
  world.pass(1);
  expect(world.told).toEqual(['note: 10.0.7.0/24, a, b and 3 more exceed their limits; all others are answered']);
});

describe('each condition', () => {
  const headings = [...read('docs/incidents.md').matchAll(/^###? (.*)$/gm)].map(([, heading = '']) =>
    heading.toLowerCase().replaceAll(' ', '-'),
  );
  const alerts = read('config/prometheus/alerts.yml');

  it.each(Object.entries(CONDITIONS))(
    '%s has its section in docs/incidents.md, and its alert',
    (name, { section, ...row }) => {
      expect(headings).toContain(section);
      if ('alert' in row) expect(alerts.slice(alerts.indexOf(`alert: ${row.alert}\n`))).toContain(name);
    },
  );
});
