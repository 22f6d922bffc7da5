import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { failure } from '../../../src/errors.ts';
import { CAUSES_OF_INDEXER, CONDITIONS } from '../../../src/tell/conditions.ts';
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
  [
    'a backup answers head polls alone',
    (it) => [it.answered(9), it.sent(9, 200, { indexer: 'backup', operation: 'masterchainInfo', isForHead: true })],
    OK,
    ['a', 'backup'],
  ],
  ['the newest block is 10 min old', (it) => head(it, 0, { ageMs: 600_000 }), OK],
];

const FAILING: readonly Situation[] = [
  [
    '2 % of the requests fail',
    (it) => [it.answered(98 * 2), it.failed(4, TIMEOUT)],
    'FAILING: under 5 % of requests fail. The indexer does not answer in time.',
  ],
  [
    'the indexer answers 500',
    (it) => [it.answered(10), it.sent(90, 500, { words: 'no disk' }), it.failed(90, ANSWERED_500)],
    'FAILING: 90 % of requests fail. The indexer answers 500 (no disk).',
  ],
  [
    'all requests for one operation fail',
    (it) => [
      it.answered(60, 'miss'),
      it.sent(20, 500, { operation: 'adjacentTransactions' }),
      it.failed(20, ANSWERED_500, 'adjacentTransactions'),
    ],
    'FAILING: 25 % of requests fail (adjacentTransactions). The indexer answers 500.',
  ],
  [
    'few requests fail, all for one operation by chance',
    (it) => [
      it.answered(60, 'miss'),
      it.answered(57, 'miss', 'adjacentTransactions'),
      it.sent(3, 500, { operation: 'adjacentTransactions' }),
      it.failed(3, ANSWERED_500, 'adjacentTransactions'),
    ],
    'FAILING: 5 % of requests fail. The indexer answers 500.',
  ],
  [
    'connections break',
    (it) => [it.unanswered(5, 'upstream-reset'), it.failed(5, failure('upstream-reset'))],
    'FAILING: 100 % of requests fail. The indexer closes the connection before answering.',
  ],
  [
    'the indexer cannot be reached, and 94 % are hits',
    (it) => [it.answered(94), it.unanswered(6, 'upstream-unreachable', { cause: REFUSED }), it.failed(6, UNREACHABLE)],
    'FAILING: 5 % of requests fail. The indexer is unreachable (ECONNREFUSED).',
  ],
  [
    'no indexer can be reached before the first request',
    (it) => it.unanswered(1, 'upstream-unreachable', { cause: REFUSED }),
    'FAILING: nothing can be answered. The indexer is unreachable (ECONNREFUSED).',
  ],
  [
    'the key is refused before the first request',
    (it) => it.sent(1, 401, { words: 'no such key' }),
    'FAILING: nothing can be answered. The indexer refuses our API key (401: no such key): check UPSTREAM_API_KEY.',
  ],
  [
    'both indexers redirect',
    (it) => [
      it.sent(5, 302),
      it.sent(5, 302, { indexer: 'b' }),
      it.failed(5, failure('upstream-redirect', { indexer: 'b' })),
    ],
    'FAILING: 100 % of requests fail. Both indexers answer with a redirect.',
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
    'FAILING: 90 % of requests fail. The indexer is unreachable (ECONNREFUSED).',
  ],
  [
    'more requests arrive than can be answered',
    (it) => [it.answered(90), it.refused(10, 'expected-wait')],
    'FAILING: 10 % of requests fail. There are more requests than the indexer can answer.',
  ],
  [
    'most of them are those of one client',
    (it) => [crowd(it, 1, 5, 1, 0.95), it.answered(90), it.refused(10, 'expected-wait')],
    'FAILING: 10 % of requests fail. One client sends 95 % of the misses.',
  ],
  [
    'the rate limit is used up',
    (it) => [it.answered(90), it.refused(10, 'rate-limit')],
    'FAILING: 10 % of requests fail. The rate limit of the indexer is used up.',
  ],
  [
    'the indexer asked for a pause',
    (it) => [
      crowd(it, 0, 0, 0, 0.95),
      it.conditions.set('paused', { upstream: 'a' }, '429: quota; asks for 12 h', LASTS),
      it.answered(90),
      it.refused(10, 'paused'),
    ],
    'FAILING: 10 % of requests fail. The indexer is rate limited (429: quota, retry in 12 h).',
  ],
  [
    'the indexer answers 429 for one key',
    (it) => [it.answered(90), it.refused(10, 'key-paused')],
    'FAILING: 10 % of requests fail. The indexer answers 429 for one key or path.',
  ],
  [
    'the process has no memory',
    (it) => [it.answered(90), it.refused(10, 'memory')],
    'FAILING: 10 % of requests fail. This process has hardly any memory left.',
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
    'FAILING: 10 % of requests fail. This process can open no more connections (EMFILE).',
  ],
  [
    'the indexer times out while a client is limited',
    (it) => [it.answered(90), it.limited(90), it.unanswered(10, 'upstream-timeout'), it.failed(10, TIMEOUT)],
    'FAILING: 10 % of requests fail. The indexer does not answer in time.',
  ],
  [
    'more requests are limited than all others, and a header that is not read names their clients',
    (it) => [
      it.answered(90),
      it.limited(61, { unreadHeader: 'X-Forwarded-For' }),
      it.failed(30, failure('too-many-requests'), 'pendingTraces', { client: '10.0.7.0/24' }),
    ],
    'FAILING: 50 % of requests are limited. 10.0.7.0/24 exceeds its limit; for a proxy, set TRUSTED_PROXIES.',
  ],
  [
    'a firewall refuses an operation',
    (it) => [
      it.sent(90, 200),
      it.answered(90),
      it.sent(10, 403, { operation: 'adjacentTransactions', words: 'blocked' }),
      it.failed(10, failure('upstream-unauthorized', { upstreamStatus: 403 }), 'adjacentTransactions'),
    ],
    'FAILING: 10 % of requests fail (adjacentTransactions). The indexer answers 403 (blocked).',
  ],
  [
    'the newest block stands still, that of a backup moves',
    (it) => head(it, 0, { sameForMs: 121_000 }),
    'FAILING: responses are outdated. The newest block of a has been the same for 2 min.',
    ['a', 'backup'],
  ],
  [
    'the newest block is old',
    (it) => head(it, 0, { ageMs: 147_600_000 }),
    'FAILING: responses are outdated. The newest block of the indexer is 41 h old.',
  ],
  [
    'the newest block fell back',
    (it) => fall(it, 0, 1250),
    'FAILING: responses are outdated. The newest block of the indexer fell back by 1,250 blocks.',
  ],
  [
    'both fell back',
    (it) => [fall(it, 0, 1250), fall(it, 1, 1240)],
    'FAILING: responses are outdated. The newest block of both indexers fell back by 1,250 blocks.',
    ['a', 'b'],
  ],
  [
    'the indexer follows another chain',
    (it) => it.conditions.set('other-chain', { upstream: 'a' }, 'global_id -3', LASTS),
    'FAILING: the indexer follows another chain than NETWORK (global_id -3).',
  ],
];

const DEGRADED: readonly Situation[] = [
  [
    'the key is refused, and hits are served',
    (it) => [it.answered(90), it.sent(1, 401)],
    'DEGRADED: the indexer refuses our API key (401): check UPSTREAM_API_KEY.',
  ],
  [
    'a login is refused, without a key',
    (it) => {
      Object.assign(it.indexers[0] ?? {}, { ours: { hasKey: false, hasLogin: true } });
      it.answered(90);
      it.sent(1, 401);
    },
    'DEGRADED: the indexer refuses our login (401): check UPSTREAM_URL.',
  ],
  [
    'a key or a login of the backup is refused',
    (it) => {
      Object.assign(it.indexers[1] ?? {}, { ours: { hasKey: true, hasLogin: true } });
      it.answered(9);
      it.sent(1, 401, { indexer: 'backup' });
    },
    'DEGRADED: backup refuses our API key or login (401): check UPSTREAM_BACKUP_API_KEY and UPSTREAM_BACKUP_URL.',
    ['a', 'backup'],
  ],
  [
    'the backup refuses its key',
    (it) => [it.answered(9), it.sent(1, 403, { indexer: 'backup' })],
    'DEGRADED: backup refuses our API key (403): check UPSTREAM_BACKUP_API_KEY.',
    ['a', 'backup'],
  ],
  [
    'stale copies are served while the indexer times out',
    (it) => [it.answered(50, 'stale'), it.unanswered(50, 'upstream-timeout')],
    'DEGRADED: the indexer does not answer in time.',
  ],
  [
    'a breaker is open, and all requests are hits',
    (it) => [it.sent(3, 500), it.answered(90), breaker(it)],
    'DEGRADED: the indexer answers 500.',
  ],
  [
    'one of two redirects and is unhealthy',
    (it) => [
      it.sent(5, 302),
      it.sent(10, 200, { indexer: 'b' }),
      it.answered(10),
      it.conditions.set('indexer-fails', { upstream: 'a' }, it.errors.last('a'), LASTS),
    ],
    'DEGRADED: a answers with a redirect.',
    ['a', 'b'],
  ],
  [
    'one of two times out now and then',
    (it) => [it.answered(20, 'miss'), it.unanswered(5, 'upstream-timeout'), it.sent(15, 200, { indexer: 'b' })],
    'DEGRADED: a does not answer in time.',
    ['a', 'b'],
  ],
  [
    'one of two stands still',
    (it) => head(it, 1, { sameForMs: 300_000 }),
    'DEGRADED: responses are outdated. The newest block of b has been the same for 5 min.',
    ['a', 'b'],
  ],
  [
    'one of two is behind',
    (it) => it.conditions.set('behind', { upstream: 'b' }, '', LASTS),
    'DEGRADED: b is behind: others are used.',
    ['a', 'b'],
  ],
  [
    'one of two lacks a block',
    (it) => it.conditions.set('lacks-block', { upstream: 'a' }, '', LASTS),
    'DEGRADED: a lacks a block of its own, so its 404s may be wrong.',
    ['a', 'b'],
  ],
  [
    'one of two answers no head polls',
    (it) => silent(it),
    'DEGRADED: a does not answer head polls, so its lag is unknown.',
    ['a', 'b'],
  ],
  [
    'neither of two answers head polls',
    (it) => [silent(it), silent(it, 1)],
    'DEGRADED: both indexers do not answer head polls, so their lag is unknown.',
    ['a', 'b'],
  ],
  [
    'both of two lack a block',
    (it) => ['a', 'b'].map((upstream) => it.conditions.set('lacks-block', { upstream }, '', LASTS)),
    'DEGRADED: both indexers lack a block of their own, so their 404s may be wrong.',
    ['a', 'b'],
  ],
  [
    'the indexer asked for a pause, and hits are served',
    (it) => [it.answered(90), it.conditions.set('paused', { upstream: 'a' }, '', LASTS)],
    'DEGRADED: the indexer is rate limited.',
  ],
  [
    'a backup answers because the other cannot be reached',
    (it) => [
      it.unanswered(1, 'upstream-unreachable', { cause: REFUSED }),
      it.answered(60, 'miss'),
      it.sent(60, 200, { indexer: 'backup' }),
    ],
    'DEGRADED: served by the backup backup. a is unreachable (ECONNREFUSED).',
    ['a', 'backup'],
  ],
  [
    'a backup answers after one failure',
    (it) => [it.sent(1, 500), it.answered(1, 'miss'), it.sent(1, 200, { indexer: 'backup' })],
    'DEGRADED: served by the backup backup. A answers 500.',
    ['a', 'backup'],
  ],
  [
    'a backup answers, and no other fails',
    (it) => [it.answered(6, 'miss'), it.sent(6, 200, { indexer: 'backup' })],
    'DEGRADED: served by the backup backup. All other slots are in use.',
    ['a', 'backup'],
  ],
  [
    'no indexer serves an operation',
    (it) =>
      it.conditions.set('not-served', { upstream: 'a', operation: 'pendingTraces' }, 'start it with -redis', LASTS),
    'DEGRADED: the indexer does not serve pendingTraces: start it with -redis.',
  ],
  [
    'clients wait for a slow indexer',
    (it) => [it.answered(90, 'miss'), it.sent(10, 200), slow(it, 80)],
    'DEGRADED: responses are slow. The indexer takes over 2 s for 89 % of requests.',
  ],
  [
    'a slow indexer does not answer head polls in time either',
    (it) => [it.answered(90, 'miss'), it.sent(10, 200), slow(it, 80), silent(it)],
    'DEGRADED: responses are slow. The indexer takes over 2 s for 89 % of requests.',
  ],
  [
    'the same of two indexers',
    (it) => [it.answered(90, 'miss'), it.sent(10, 200), slow(it, 80), silent(it), silent(it, 1)],
    'DEGRADED: responses are slow. The indexers take over 2 s for 89 % of requests.',
    ['a', 'b'],
  ],
  [
    'refreshes of stale answers are slow',
    (it) => [it.answered(50, 'stale'), it.sent(40, 200, { ms: 4000 })],
    'DEGRADED: responses are stale. The indexer takes over 2 s for 100 % of requests.',
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
    'DEGRADED: responses are slow (adjacentTransactions). The indexer takes over 2 s for 50 % of requests.',
  ],
  [
    'requests wait for a slot',
    (it) => [it.answered(100, 'miss'), it.sent(100, 200), wait(it, 50)],
    'DEGRADED: responses are slow. Requests wait for a slot at the indexer.',
  ],
  [
    'requests wait for a slot of two indexers',
    (it) => [it.answered(100, 'miss'), it.sent(100, 200), wait(it, 50)],
    'DEGRADED: responses are slow. Requests wait for a slot at the indexers.',
    ['a', 'b'],
  ],
  [
    'Redis is away',
    (it) => redis(it, 'OOM command not allowed'),
    'DEGRADED: served from memory alone. Redis is unreachable (OOM command not allowed).',
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
    'DEGRADED: served from memory alone. Redis is unreachable (NOPERM no rights).',
  ],
  [
    'memory is small',
    (it) => [it.answered(49), it.answered(51, 'miss'), evict(it, 30)],
    'DEGRADED: memory is full: it evicts 3.0 fresh entries a second, and hits are 49 %.',
  ],
  [
    'memory is small, and some hits are proven',
    (it) => [it.answered(10), it.answered(30, 'hit-proven'), it.answered(60, 'miss'), evict(it, 40)],
    'DEGRADED: memory is full: it evicts 4.0 fresh entries a second, and hits are 40 %.',
  ],
  [
    'refusals get stale copies',
    (it) => [
      it.answered(90, 'stale'),
      it.events.report({ name: 'load-refused', operation: 'pendingTraces', reason: 'queue-full' }),
    ],
    'DEGRADED: there are more requests than the indexer can answer.',
  ],
  [
    'the clock of Redis is behind',
    (it) => Object.assign(it, { aheadMs: -120_000 }),
    'DEGRADED: the clock of Redis is 2 min behind that of this machine.',
  ],
  [
    'the chain is ahead of our clock',
    (it) => [head(it, 0, { ageMs: -6000 }), head(it, 1, { ageMs: -7000 })],
    'DEGRADED: the chain is 6 s ahead of our clock.',
    ['a', 'b'],
  ],
  [
    'lines of the log are dropped',
    (it) => Object.assign(it.logOutput, { dropped: 1 }),
    'DEGRADED: the log cannot be written.',
  ],
];

const NOTES: readonly Situation[] = [
  [
    'a client exceeds its limit',
    (it) => [it.answered(90), it.limited(80)],
    'note: 10.0.7.0/24 exceeds its limit; all others are answered',
  ],
  [
    'a client exceeds its limit with more requests than all others',
    (it) => [it.answered(90), it.limited(160)],
    'note: 10.0.7.0/24 exceeds its limit; all others are answered',
  ],
  [
    'a client has its maximum of streams, and tries again and again',
    (it) => [it.answered(9), it.failed(90, failure('too-many-requests'), 'streaming', { client: '10.0.7.0/24' })],
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
const silent = (it: TellingWorld, which = 0) =>
  Object.assign(it.indexers[which]?.polls ?? {}, { isUnresponsive: true });
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
    expect(world.line).toBe('FAILING: no request has failed for 12 s. The indexer did not answer in time.');
    world.pass(46, () => world.answered(10));
    expect(world.level).toBe('FAILING');
    world.pass(4, () => world.answered(10));
    expect(world.level).toBe('OK');
    expect(world.log).toEqual(['failing no-answer', expect.stringMatching(/^over no-answer \d\d$/)]);
  });

  it('are told if only the last minute, or the last five, have enough of them', () => {
    const slowly = new TellingWorld();
    for (let time = 0; time < 4; time++) {
      slowly.pass(13, () => slowly.answered(5));
      slowly.pass(1, () => slowly.failed(1, TIMEOUT));
    }
    expect(slowly.line).toMatch(/^FAILING: (under )?5 % of requests failed in 1 min\. /);
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

  it.each([
    ['no answer', (it: TellingWorld) => it.failed(1, UNREACHABLE, 'streaming'), / is unreachable\.$/],
    ["the indexer's own 502", (it: TellingWorld) => it.passed(1, 502, 'streaming'), / answers 502 to /],
  ])('are said in the present while one of each two seconds has some: %s', (_, fail, line) => {
    const world = new TellingWorld();
    for (let time = 0; time < 20; time++) {
      world.pass(1, () => fail(world));
      world.pass(1);
      if (time > 3) expect(world.line).toMatch(line);
    }
    world.pass(5);
    expect(world.line).not.toMatch(line);
    world.pass(52);
    expect(world.level).not.toBe('OK');
    world.pass(4);
    expect(world.level).toBe('OK');
  });

  it.each([
    [20, TIMEOUT, 'pendingTraces'],
    [20, UNREACHABLE, 'streaming'],
    [60, ANSWERED_500, 'pendingTraces'],
  ] as const)('are told if a request comes each %i s, and none is answered', (seconds, error, operation) => {
    const world = new TellingWorld();
    for (let time = 0; time < 3; time++) {
      expect(world.level).toBe('OK');
      world.failed(1, error, operation, { client: 'the only one' });
      if (time < 2) world.pass(seconds);
    }
    world.pass(1);
    expect(world.line).toMatch(/^FAILING/);
    world.answered(1, 'miss');
    world.pass(61);
    expect(world.level).toBe('OK');
  });

  it("are told if a passed-through request comes each 20 s, and gets the indexer's own 502", () => {
    const world = new TellingWorld();
    for (let time = 0; time < 3; time++) {
      expect(world.level).toBe('OK');
      world.passed(1, 502, 'passthrough', { client: 'the only one' });
      world.pass(time < 2 ? 19 : 1);
    }
    expect(world.line).toMatch(/^DEGRADED/);
  });

  it('name no circuit breaker: it is the effect', () => {
    const world = new TellingWorld();
    breaker(world);
    world.unanswered(3, 'upstream-timeout');
    world.pass(2, () => world.refused(10, 'breaker-open'));
    expect(world.line).toBe('FAILING: 100 % of requests fail. The indexer does not answer in time.');
    expect(world.told.join()).toContain('its circuit breaker is open');
  });

  it('of which none is answered any more are told with what the indexers lack, not as too many requests', () => {
    const world = new TellingWorld(['a', 'b']);
    const [, b] = world.indexers;
    world.pass(3, () => [world.answered(10), world.sent(10, 200), world.sent(10, 200, { indexer: 'b' })]);
    const isWaiting = () => world.refused(10, 'expected-wait');
    world.pass(1, isWaiting);
    expect(world.line).toContain('There are more requests than the indexers can answer.');
    Object.assign(b?.polls ?? {}, { isUnresponsive: true });
    world.pass(7, isWaiting);
    expect(world.line).toMatch(/ fail\. b does not answer head polls, so its lag is unknown\.$/);
    world.pass(2, () => [isWaiting(), world.unanswered(1, 'upstream-unreachable', { cause: REFUSED })]);
    expect(world.line).toMatch(/ fail\. a is unreachable \(ECONNREFUSED\)\.$/);
    world.pass(2, () => [isWaiting(), world.sent(10, 200, { indexer: 'b' })]);
    expect(world.line).toContain('There are more requests than the indexers can answer.');
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
    expect(world.log).toEqual(['degraded redis-unavailable', 'over redis-unavailable 17']);
  });

  it('ends when it was not set again for 60 s, unless something holds it', () => {
    const world = new TellingWorld();
    world.conditions.set('connections-refused');
    world.conditions.set('paused', { upstream: 'a' }, '', LASTS);
    world.pass(59);
    expect(world.told).toHaveLength(2);
    world.pass(3600);
    expect(world.told).toEqual(['degraded: the indexer is rate limited']);
  });

  it('of one indexer becomes worse when it is true of every other but backups', () => {
    const world = new TellingWorld(['a', 'b', 'backup']);
    world.conditions.set('other-chain', { upstream: 'a' }, '', LASTS);
    world.pass(1);
    expect(world.level).toBe('DEGRADED');
    world.conditions.set('other-chain', { upstream: 'b' }, '', LASTS);
    expect(world.level).toBe('FAILING');
    world.pass(1);
    expect(world.log).toEqual(['degraded other-chain', 'failing other-chain']);
  });

  it('of an indexer that gets only head polls names the failure of these', () => {
    const world = new TellingWorld(['a', 'b']);
    world.sent(1, 200, { indexer: 'b', operation: 'masterchainInfo' });
    world.pass(10, () => [
      world.answered(10),
      world.unanswered(1, 'upstream-timeout', { indexer: 'b', isForHead: true }),
    ]);
    expect(world.told).toContain('degraded: b does not answer in time');
  });

  it('of an indexer that was unreachable stays its cause until its next head poll', () => {
    const world = new TellingWorld();
    silent(world);
    world.unanswered(2, 'upstream-unreachable', { cause: REFUSED });
    world.failed(30, UNREACHABLE, 'passthrough');
    world.pass(1);
    expect(world.line).toContain('The indexer is unreachable (ECONNREFUSED).');
    world.sent(1, 200);
    world.answered(1, 'miss', 'passthrough');
    world.pass(10);
    expect(world.line).toMatch(/The indexer (?:is|was) unreachable \(ECONNREFUSED\)\.$/);
    expect(world.told.join()).not.toContain('head polls');
    world.pass(10);
    expect(world.told.join()).toContain('does not answer head polls');
  });

  it('of a rate limit is the only one of its indexer, whose head polls get no answer either', () => {
    const world = new TellingWorld();
    Object.assign(world.indexers[0]?.polls ?? {}, { isUnresponsive: true });
    world.conditions.set('paused', { upstream: 'a' }, '429: quota; asks for 12 h', LASTS);
    world.pass(10, () => world.sent(10, 429, { words: 'quota' }));
    expect(world.told).toEqual(['degraded: the indexer is rate limited (429: quota; asks for 12 h)']);
  });

  it('of a breaker lasts while its indexer fails, whose head is polled meanwhile', () => {
    const world = new TellingWorld(['a', 'backup']);
    for (const { open } of world.indexers) open.add('pendingTraces');
    world.pass(100);
    expect(world.told).toContain('degraded: a fails; its circuit breaker is open');
    expect(world.indexers.map(({ polled }) => polled)).toEqual([100, 0]);
    for (const { open } of world.indexers) open.clear();
    world.pass(16);
    expect([world.level, world.indexers[0]?.polled]).toEqual(['OK', 100]);
  });

  it.each<[string, (world: TellingWorld) => void, (world: TellingWorld) => void, string]>([
    [
      'refused, then slow',
      (it) => it.unanswered(5, 'upstream-unreachable', { cause: REFUSED }),
      (it) => it.unanswered(5, 'upstream-timeout'),
      'the indexer does not answer in time',
    ],
    [
      'slow, then refused',
      (it) => it.unanswered(5, 'upstream-timeout'),
      (it) => it.unanswered(5, 'upstream-unreachable', { cause: REFUSED }),
      `the indexer is unreachable (${REFUSED.message})`,
    ],
    [
      'our key is refused, then it is slow',
      (it) => it.sent(5, 401),
      (it) => it.unanswered(5, 'upstream-timeout'),
      'the indexer does not answer in time',
    ],
    [
      'it is unreachable, then our key is refused',
      (it) => it.unanswered(5, 'upstream-unreachable', { cause: REFUSED }),
      (it) => it.sent(5, 401),
      'the indexer refuses our API key (401): check UPSTREAM_API_KEY',
    ],
  ])('of two causes of an indexer is the present one: %s', (_, before, now, says) => {
    const world = new TellingWorld();
    world.pass(5, () => before(world));
    world.pass(10, () => now(world));
    const causes = world.conditions.active.filter(({ name }) => CAUSES_OF_INDEXER.includes(name));
    expect(new Set(causes.map((each) => each.says))).toEqual(new Set([says]));
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
  for (const client of ['a', 'b', 'c', 'd', 'e']) world.limited(1, { client });
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
