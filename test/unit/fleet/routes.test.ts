import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Admission, type Entered } from '../../../src/admission/admission.ts';
import { type Guard, guardBy } from '../../../src/admission/guard.ts';
import { notServedGuard } from '../../../src/admission/not-served.ts';
import { Pause } from '../../../src/admission/pause.ts';
import { RateLimit } from '../../../src/admission/rate-limit.ts';
import { FIRST_TRY, type SendRules } from '../../../src/admission/send-rules.ts';
import { Slots } from '../../../src/admission/slots.ts';
import { CircuitBreaker, FailuresInARow } from '../../../src/circuit-breaker.ts';
import type { Health } from '../../../src/fleet/health.ts';
import { type FleetRoute, Routes } from '../../../src/fleet/routes.ts';
import { besides } from '../../../src/fleet/second-try.ts';
import { sentFor } from '../../support/sent-for.ts';
import { MUCH_MEMORY, PATIENCE_MS } from '../admission/open-admission.ts';

const now = () => performance.now();
const asking = { operation: 'any', key: 'key', clients: ['one'], ...FIRST_TRY, sentFor: sentFor() };

function routeOf(index: number, options: Partial<FleetRoute> = {}): FleetRoute {
  const slots = new Slots({ now, max: 4, shares: {}, patienceMs: PATIENCE_MS });
  return { index, isBackup: false, slots, rate: undefined, guards: new Map(), ...options };
}

function open(...all: FleetRoute[]): Admission {
  const routes = new Routes(() => 0, all, {}, new Set(['head']));
  const waits = { patienceMs: PATIENCE_MS, shortPatienceMs: 100, maxWaiting: 10 };
  return new Admission({ now, routes, memory: MUCH_MEMORY, ...waits });
}

/** A promise, that of a request that waits, is returned as it is. */
const placeOf = (entered: Entered | Promise<Entered>) =>
  typeof entered === 'object' && 'route' in entered ? entered.route.index : entered;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('a request that would wait too long for the rate of the replica is sent to the backup, but a refresh is refused', async () => {
  // The replica's rate allows one request in ten seconds.
  const admission = open(
    routeOf(0, { rate: new RateLimit({ now, perSecond: 0.1, longestWaitMs: PATIENCE_MS }) }),
    routeOf(1, { isBackup: true }),
  );
  const first = await admission.enter(asking);
  expect(placeOf(first)).toBe(0);
  if (typeof first === 'object' && 'send' in first) first.send();
  expect(placeOf(await admission.enter(asking))).toBe(1);
  const refresh = { ...asking, clients: [], ...FIRST_TRY, waits: false };
  expect(await admission.enter(refresh)).toMatchObject({ reason: 'rate-limit' });
});

test('a second try that waits for a full indexer does not delay a request that another indexer can take', async () => {
  const full = new Slots({ now, max: 1, shares: {}, patienceMs: PATIENCE_MS });
  full.take('any');
  const admission = open(routeOf(0), routeOf(1, { slots: full }));
  let hasEntered = false;
  void Promise.resolve(admission.enter({ ...asking, ...FIRST_TRY, not: 0 })).then(() => {
    hasEntered = true;
  });
  expect(placeOf(await admission.enter(asking))).toBe(0);
  expect([admission.waiting, hasEntered]).toEqual([1, false]);
});

test('a waiting second try moves ahead when another client joins its flight', async () => {
  const full = new Slots({ now, max: 1, shares: {}, patienceMs: PATIENCE_MS });
  full.take('any');
  const admission = open(routeOf(0), routeOf(1, { slots: full }));
  const order: string[] = [];
  const wait = (key: string, client: string) => {
    const flight = sentFor();
    const second = { ...asking, key, clients: [client], sentFor: flight, ...FIRST_TRY, isSecondTry: true, not: 0 };
    void Promise.resolve(admission.enter(second)).then(() => order.push(key));
    return flight;
  };
  wait('first of one', 'one');
  wait('second of one', 'one');
  const joined = wait('third of one', 'one');
  admission.join(joined, 'another');
  for (let each = 0; each < 2; each++) {
    full.release('any', true);
    admission.handOut();
    await vi.advanceTimersByTimeAsync(0);
  }
  expect(order).toEqual(['first of one', 'third of one']);
});

test('a second try after a failed backup goes to another backup, and is refused if there is none', async () => {
  // The next reservation of the replica's rate is in ten seconds.
  const busy = new RateLimit({ now, perSecond: 0.1, longestWaitMs: PATIENCE_MS });
  const replica = routeOf(0, { rate: busy });
  const backups = [1, 2].map((index) => routeOf(index, { isBackup: true }));
  void busy.take();
  expect(placeOf(await open(replica, ...backups).enter({ ...asking, ...FIRST_TRY, not: 1 }))).toBe(2);
  expect(await open(replica, ...backups.slice(0, 1)).enter({ ...asking, ...FIRST_TRY, not: 1 })).toMatchObject({
    reason: 'rate-limit',
  });
});

test.each<[string, SendRules]>([
  ['with the API key of its client', { ...FIRST_TRY, isOurs: false, rate: 'none' }],
  ['without our API key', { ...FIRST_TRY, isOurs: false }],
  ['for one indexer only', { ...FIRST_TRY, at: 0 }],
])('a request %s is refused while its queue is full, and is not sent to a backup', async (_, rules) => {
  const full = new Slots({ now, max: 1, shares: {}, patienceMs: PATIENCE_MS });
  full.take('any');
  const admission = open(routeOf(0, { slots: full }), routeOf(1, { isBackup: true }));
  for (let waiting = 0; waiting < 10; waiting++) void admission.enter({ ...asking, ...rules, sentFor: sentFor() });
  expect(await admission.enter({ ...asking, ...rules })).toMatchObject({ reason: 'queue-full' });
  expect(placeOf(await admission.enter(asking))).toBe(1);
});

test('an operation that one indexer does not serve is requested from the others', async () => {
  const notServed = notServedGuard(now, () => {});
  const failing = notServedGuard(now, () => {});
  const openBreaker = new CircuitBreaker({
    now,
    failures: new FailuresInARow(1),
    openMs: () => 1000,
    onTransition: () => {},
  });
  notServed.admit('')?.('not-served');
  failing.admit('')?.('not-served');
  openBreaker.count('', 'failure');
  const guardedBy = (guard: Guard) => ({ guards: new Map([['any', [guard]]]) });
  const lacking = routeOf(0, guardedBy(notServed));
  expect(placeOf(await open(lacking, routeOf(1)).enter(asking))).toBe(1);
  expect(await open(lacking, routeOf(1, guardedBy(failing))).enter(asking)).toMatchObject({ reason: 'not-served' });
  // The refusal is the open breaker of the other indexer, not "not served": that indexer may serve the operation.
  for (const place of [
    [0, 1],
    [1, 0],
  ]) {
    const closed = guardBy('breaker-open', openBreaker, () => {});
    const routes = place.map((index) => (index === 0 ? lacking : routeOf(1, guardedBy(closed))));
    expect(await open(...routes).enter(asking)).toMatchObject({ reason: 'breaker-open' });
  }
});

describe('a key that an indexer has answered with 429', () => {
  let guards: readonly Guard[];

  beforeEach(() => {
    guards = [0, 1, 2].map(() => {
      const [onTransition, onKeyPaused] = [() => {}, () => {}];
      return new Pause({ now, onTransition, onKeyPaused, defaultMs: 1000, longestMs: 60_000 }).guard(true);
    });
  });

  const routeTo = (index: number, options: Partial<FleetRoute> = {}) =>
    routeOf(index, { guards: new Map([['any', guards.slice(index, index + 1)]]), ...options });
  const limit = (index: number, retryAfterMs: number) =>
    guards[index]?.admit(asking.key)?.('rate-limited', retryAfterMs);

  test('is requested from the others; when all have answered 429, it is refused for the shortest pause', async () => {
    const admission = open(routeTo(0), routeTo(1), routeTo(2, { isBackup: true }));
    limit(0, 7000);
    expect(placeOf(await admission.enter(asking))).toBe(1);
    expect(placeOf(await admission.enter({ ...asking, key: 'another' }))).toBe(0);
    limit(1, 5000);
    expect(placeOf(await admission.enter(asking))).toBe(2);
    limit(2, 6000);
    expect(await admission.enter(asking)).toEqual({ reason: 'key-paused', retryAfterMs: 5000 });
    expect(admission.refusal({ operation: 'any', clients: [], ...FIRST_TRY })).toBeUndefined();
  });

  test('is not requested from an indexer whose history lacks its block', async () => {
    const admission = open(
      routeTo(0, { hasBlock: (seqno) => seqno > 5, newestBlock: () => 100 }),
      routeTo(1, { hasBlock: () => true, newestBlock: () => 100 }),
    );
    limit(1, 7000);
    expect(await admission.enter({ ...asking, ...FIRST_TRY, seqno: 3 })).toEqual({
      reason: 'key-paused',
      retryAfterMs: 7000,
    });
  });

  test('waits for the other indexer while that is full, and does not delay requests for another key', async () => {
    const full = new Slots({ now, max: 1, shares: {}, patienceMs: PATIENCE_MS });
    full.take('any');
    const admission = open(routeTo(0), routeTo(1, { slots: full }));
    limit(0, 7000);
    let entered: Entered | undefined;
    void Promise.resolve(admission.enter(asking)).then((ticket) => {
      entered = ticket;
    });
    expect(placeOf(admission.enter({ ...asking, key: 'another', clients: ['another'] }))).toBe(0);
    expect(entered).toBeUndefined();
    full.release('any', true, undefined);
    admission.handOut();
    await vi.advanceTimersByTimeAsync(0);
    expect(entered && placeOf(entered)).toBe(1);
  });
});

test('a hedge about a block goes only to an indexer that is known to have the block', async () => {
  const [old, newest] = [routeOf(0, { hasBlock: () => false }), routeOf(1, { hasBlock: () => true })];
  const hedge = { ...asking, ...besides({ ...FIRST_TRY, seqno: 7 }, 2) };
  expect(await open(old).enter(hedge)).toMatchObject({ reason: 'breaker-open' });
  expect(placeOf(await open(old, newest).enter(hedge))).toBe(1);
});

/** An indexer that reports the blocks from `first` to `last`. */
function having(index: number, first: number, last: number, options: Partial<FleetRoute> = {}): FleetRoute {
  const hasBlock = (seqno: number) => first <= seqno && seqno <= last;
  return routeOf(index, { hasBlock, newestBlock: () => last, ...options });
}

const behind = { isBehind: () => true };
const backup = { isBackup: true };
const PAUSED: Guard = {
  reason: 'paused',
  breaker: { isOpen: true, isClosed: false, retryAfterMs: 700 },
  refusal: () => ({ reason: 'paused', retryAfterMs: 700 }),
  admit: () => undefined,
};
const paused = {
  guards: new Map([['any', [PAUSED]]]),
};

test.each<[string, number, FleetRoute[], number]>([
  ['an indexer that has it, even if that indexer is behind', 5, [having(0, 50, 100), having(1, 1, 80, behind)], 1],
  ['an indexer that is up to date, if all have it', 60, [having(0, 1, 80, behind), having(1, 1, 100)], 1],
  ['a replica that lacks it, not to a backup that has it', 5, [having(0, 50, 100), having(1, 1, 100, backup)], 0],
  ['the indexer with the newest block, if no indexer has it yet', 101, [having(0, 1, 99), having(1, 1, 100)], 1],
])('a request about a block is sent to %s', async (_, seqno, routes, place) => {
  for (let time = 0; time < 3; time++)
    expect(placeOf(await open(...routes).enter({ ...asking, ...FIRST_TRY, seqno: seqno }))).toBe(place);
});

test('a request about an old block is refused while the only indexer that has it is paused, and not sent to the other one', async () => {
  const old = { ...asking, ...FIRST_TRY, seqno: 5 };
  expect(await open(having(0, 50, 100), having(1, 1, 100, paused)).enter(old)).toEqual({
    reason: 'paused',
    retryAfterMs: 700,
  });
  // The head of the first indexer does not count, so its history is unknown and it may still get the request.
  const refuted = having(0, 1, 0, { newestBlock: () => -1 });
  expect(placeOf(await open(refuted, having(1, 1, 100, paused)).enter(old))).toBe(0);
});

test('a hedge about a block may go to an indexer that is behind, if it has the block', async () => {
  const hedge = { ...asking, ...besides({ ...FIRST_TRY, seqno: 5 }, 0) };
  expect(placeOf(await open(having(0, 50, 100), having(1, 1, 80, behind)).enter(hedge))).toBe(1);
  const other = { ...asking, ...besides(FIRST_TRY, 0) };
  expect(await open(having(0, 50, 100), having(1, 1, 80, behind)).enter(other)).toMatchObject({
    reason: 'breaker-open',
  });
});

const full = () => {
  const slots = new Slots({ now, max: 1, shares: {}, patienceMs: PATIENCE_MS });
  slots.take('head');
  return { slots };
};
const failing = () => ({ health: { isFailing: true, loadMs: 0 } as Health });
const busy = (loadMs: number) => ({ health: { isFailing: false, loadMs } as Health });

test.each<[string, FleetRoute[], number]>([
  ['the newest block, even if its load is higher', [having(0, 1, 99, busy(1)), having(1, 1, 100, busy(1000))], 1],
  ['the lower load, if several have the newest block', [having(0, 1, 100, busy(1000)), having(1, 1, 100, busy(1))], 1],
  ['an older block, if the newest indexer is full', [having(0, 1, 99), having(1, 1, 100, full())], 0],
  ['an older block, if the newest indexer fails', [having(0, 1, 99, busy(1)), having(1, 1, 100, failing())], 0],
  ['an older block, if the newest indexer has asked for a pause', [having(0, 1, 99), having(1, 1, 100, paused)], 0],
  ['an older block, if the newest indexer is a backup', [having(0, 1, 99), having(1, 1, 100, backup)], 0],
  ['any block, if none is known', [having(0, 1, -1), having(1, 1, -1)], 0],
])('a request for the head is sent to an indexer with %s', async (_, routes, place) => {
  const guards = new Map([['head', routes[1]?.guards.get('any') ?? []]]);
  const all = routes.map((route, index) => (index === 1 ? { ...route, guards } : route));
  for (let time = 0; time < 3; time++) {
    expect(placeOf(await open(...all).enter({ ...asking, operation: 'head' }))).toBe(place);
  }
});

test('a request for the head waits while all indexers are full, and goes to the first one that is free', async () => {
  const [newest, older] = [full(), full()];
  const admission = open(having(0, 1, 99, older), having(1, 1, 100, newest));
  const waits = Promise.resolve(admission.enter({ ...asking, operation: 'head' }));
  older.slots.release('head', true);
  admission.handOut();
  expect(placeOf(await waits)).toBe(0);
});
