import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  Backlog,
  type BacklogRefusal,
  PRIORITIES,
  type Priority,
  type Waiter,
} from '../../../src/admission/backlog.ts';
import { NamedWaiter } from '../../support/waiters.ts';

const PATIENCE_MS = 1500;
const SHORT_MS = 100;
/** The indexer of most tests, in answers per millisecond. */
const PER_MS = 0.2;

type Choice = (operation: string) => boolean;
const anybody: Choice = () => true;
const nobody: Choice = () => false;

let backlog: Backlog;

beforeEach(() => {
  vi.useFakeTimers();
  backlog = backlogOf(1000);
});

afterEach(() => {
  const left = vi.getTimerCount();
  vi.useRealTimers();
  expect(left).toBe(0);
});

function backlogOf(maxWaiting: number): Backlog {
  const now = () => performance.now();
  return new Backlog({ patienceMs: PATIENCE_MS, shortPatienceMs: SHORT_MS, maxWaiting, now });
}

const pass = (ms: number) => void vi.advanceTimersByTime(ms);

/** Lets one in, whatever the backlog would say. */
function join(name: string, priority: Priority = 'miss', operation = 'any'): NamedWaiter {
  const waiter = new NamedWaiter(name, operation, priority);
  backlog.add(waiter);
  return waiter;
}

function joinMany(count: number, priority: Priority = 'miss', operation = 'any'): NamedWaiter[] {
  return Array.from({ length: count }, (_, index) => join(`${priority} ${index}`, priority, operation));
}

/** Starts who is next, if anybody is. */
function start(mayStart: Choice = anybody, goFirst: Choice = nobody): string | undefined {
  const next = backlog.next(mayStart, goFirst);
  next?.start();
  return nameOf(next);
}

function startAll(mayStart: Choice = anybody, goFirst: Choice = nobody): (string | undefined)[] {
  return Array.from({ length: backlog.size }, () => start(mayStart, goFirst));
}

function nameOf(waiter: Waiter | undefined): string | undefined {
  return waiter instanceof NamedWaiter ? waiter.name : undefined;
}

/** Time passes while the indexer works. */
function work(ms: number, perMs = PER_MS): void {
  for (let n = 0; n < ms * perMs; n++) {
    pass(1 / perMs);
    start();
  }
}

/** Fills a lane, lets its rate be measured for 200 ms, and returns the misses that still wait: so many. */
function knownBacklog(waiting: number): NamedWaiter[] {
  const misses = joinMany(waiting + 200 * PER_MS);
  work(200);
  return misses.slice(200 * PER_MS);
}

const refusal = (priority: Priority = 'miss', operation = 'any') => backlog.refuse(operation, priority);

describe('those who wait', () => {
  test('start in the order in which they came', () => {
    for (const name of ['a', 'b', 'c']) join(name);
    expect([backlog.size, backlog.hasWaiting('any'), backlog.hasWaiting('other')]).toEqual([3, true, false]);
    expect(startAll()).toEqual(['a', 'b', 'c']);
    expect([backlog.size, backlog.hasWaiting('any'), start()]).toEqual([0, false, undefined]);
  });

  test('start by priority, and in the order in which they came within one', () => {
    for (const priority of PRIORITIES.toReversed()) for (const n of [1, 2]) join(`${priority} ${n}`, priority);
    expect(startAll()).toEqual(PRIORITIES.flatMap((priority) => [`${priority} 1`, `${priority} 2`]));
  });

  test('start in the order in which they came over all operations', () => {
    for (const [index, operation] of ['a', 'b', 'c', 'b', 'a'].entries()) {
      join(`${index}`, 'miss', operation);
      pass(1);
    }
    expect(startAll()).toEqual(['0', '1', '2', '3', '4']);
  });

  test('wait on while their operation may not start, and nobody else waits for them', () => {
    join('a', 'miss', 'a');
    pass(1);
    join('b', 'refresh', 'b');
    expect(startAll((operation) => operation !== 'a')).toEqual(['b', undefined]);
    expect(startAll()).toEqual(['a']);
  });

  test('start before priority and order where their operation goes first', () => {
    join('old miss', 'miss', 'a');
    pass(1);
    join('refresh', 'refresh', 'b');
    pass(1);
    join('miss', 'miss', 'b');
    expect(startAll(anybody, (operation) => operation === 'b')).toEqual(['miss', 'refresh', 'old miss']);
  });

  test('leave when they want, and a second time does nothing', () => {
    const [a, b] = [join('a'), join('b')];
    backlog.remove(a);
    backlog.remove(a);
    expect(startAll()).toEqual(['b']);
    backlog.remove(b);
    expect([backlog.size, a.started + a.gaveUp, b.gaveUp]).toEqual([0, 0, 0]);
  });
});

describe('a newcomer', () => {
  test('is never refused before the drain rate is known: a burst is not an overload', () => {
    joinMany(900);
    work(95);
    expect([refusal(), backlog.expectedWaitMs('any')]).toEqual([undefined, undefined]);
    startAll();
  });

  test('is refused on arrival when its expected wait is longer than its patience, and told how long that is', () => {
    knownBacklog(PATIENCE_MS * PER_MS);
    expect(refusal()).toBeUndefined();
    join('one more');
    const expectedWaitMs = PATIENCE_MS + 1 / PER_MS;
    expect(backlog.expectedWaitMs('any')).toBeCloseTo(expectedWaitMs);
    expect(refusal()).toEqual<BacklogRefusal>({
      reason: 'expected-wait',
      expectedWaitMs: expect.closeTo(expectedWaitMs),
    });
    startAll();
  });

  test('waits for those of its priority and above alone', () => {
    join('refresh', 'refresh');
    knownBacklog(10);
    join('with fallback', 'miss-with-fallback');
    const expected = PRIORITIES.map((priority) => backlog.expectedWaitMs('any', priority));
    expect(expected).toEqual([10, 11, 12].map((ahead) => expect.closeTo(ahead / PER_MS)));
    startAll();
  });

  test('that would be the first of the misses is refused as well when nothing started for the whole patience', () => {
    join('refresh', 'refresh');
    pass(PATIENCE_MS - 1);
    joinMany(5, 'refresh');
    expect(refusal('miss')).toBeUndefined();
    pass(1);
    expect(refusal('miss')).toEqual({ reason: 'expected-wait', expectedWaitMs: 2 * PATIENCE_MS });
    startAll();
  });

  test('does not wait for another operation', () => {
    knownBacklog(900);
    expect([refusal()?.reason, refusal('miss', 'other')]).toEqual(['expected-wait', undefined]);
    expect(backlog.expectedWaitMs('other')).toBe(0);
    startAll();
  });

  test('with a stale copy to fall back on has short patience', () => {
    knownBacklog(SHORT_MS * PER_MS);
    expect(refusal('miss-with-fallback')).toBeUndefined();
    join('one more');
    expect(refusal('miss-with-fallback')?.reason).toBe('expected-wait');
    startAll();
  });

  test('is refused when as many wait as may, whatever they wait for', () => {
    backlog = backlogOf(2);
    join('a', 'miss', 'a');
    join('b', 'miss', 'b');
    expect(refusal('miss', 'c')).toEqual({ reason: 'queue-full', expectedWaitMs: 0 });
    startAll();
    expect(refusal('miss', 'c')).toBeUndefined();
  });

  test('is refused where nobody may wait', () => {
    backlog = backlogOf(0);
    expect(refusal()).toEqual({ reason: 'queue-full', expectedWaitMs: 0 });
  });

  test.each([0, 1])('is told to wait twice the patience at most: those ahead give up before, %i started', (started) => {
    join('first');
    pass(1);
    joinMany(500);
    if (started > 0) start();
    pass(PATIENCE_MS - 1);
    expect(refusal()).toEqual({ reason: 'expected-wait', expectedWaitMs: 2 * PATIENCE_MS });
    expect(backlog.expectedWaitMs('any')).toBe(2 * PATIENCE_MS);
    startAll();
  });
});

describe('while newcomers are refused', () => {
  /** A lane that refused a miss, and of which so many wait on. */
  function overload(waiting: number): void {
    const misses = knownBacklog(2 * PATIENCE_MS * PER_MS);
    expect(refusal()?.reason).toBe('expected-wait');
    for (const miss of misses.slice(waiting)) backlog.remove(miss);
  }

  test('their patience is short', () => {
    overload(SHORT_MS * PER_MS + 1);
    expect(refusal()?.reason).toBe('expected-wait');
    start();
    expect(refusal()).toBeUndefined();
    startAll();
  });

  test('patience returns when the lane is empty', () => {
    overload(0);
    knownBacklog(2 * SHORT_MS * PER_MS);
    expect(refusal()).toBeUndefined();
    startAll();
  });

  test('patience returns when the last of the lane leaves', () => {
    overload(1);
    const last = join('last');
    start();
    backlog.remove(last);
    knownBacklog(2 * SHORT_MS * PER_MS);
    expect(refusal()).toBeUndefined();
    startAll();
  });

  test('other operations keep their patience', () => {
    overload(10);
    joinMany(200 * PER_MS + 100, 'miss', 'other');
    for (let n = 0; n < 200 * PER_MS; n++) {
      pass(1 / PER_MS);
      start((operation) => operation === 'other');
    }
    expect(backlog.expectedWaitMs('other')).toBeGreaterThan(SHORT_MS);
    expect(refusal('miss', 'other')).toBeUndefined();
    startAll();
  });

  test('who was let in before keeps its whole patience', () => {
    overload(10);
    const patient = join('patient');
    pass(PATIENCE_MS - 1);
    expect(patient.gaveUp).toBe(0);
    pass(1);
    expect(patient.gaveUp).toBe(1);
  });

  test.each(['miss-with-fallback', 'refresh'] as const)(
    'who can do without an answer says nothing about the patience of a miss: %s',
    (priority) => {
      joinMany(2 * PATIENCE_MS * PER_MS, 'refresh');
      knownBacklog(3 * SHORT_MS * PER_MS);
      expect(refusal(priority)?.reason).toBe('expected-wait');
      expect(refusal('miss')).toBeUndefined();
      startAll();
    },
  );
});

describe('who waits gives up', () => {
  test('when its patience is over, because the indexer became slower', () => {
    const [first] = [join('first')];
    pass(1);
    const second = join('second');
    pass(PATIENCE_MS - 2);
    expect([first.gaveUp, backlog.size]).toEqual([0, 2]);
    pass(1);
    expect([first.gaveUp, second.gaveUp, backlog.size]).toEqual([1, 0, 1]);
    pass(1);
    expect([second.gaveUp, backlog.size]).toEqual([1, 0]);
  });

  test('after short patience where a stale copy can be served, though others that wait are patient', () => {
    const miss = join('miss');
    const withFallback = join('with fallback', 'miss-with-fallback');
    pass(SHORT_MS - 1);
    expect(withFallback.gaveUp).toBe(0);
    pass(1);
    expect([withFallback.gaveUp, miss.gaveUp]).toEqual([1, 0]);
    startAll();
  });

  test('on time after others before it have started', () => {
    join('a');
    pass(700);
    const b = join('b', 'miss', 'other');
    start();
    pass(PATIENCE_MS - 1);
    expect(b.gaveUp).toBe(0);
    pass(1);
    expect(b.gaveUp).toBe(1);
  });

  test('and newcomers are impatient from then on: the indexer cannot keep up', () => {
    const slow = join('slow');
    pass(PATIENCE_MS - 1);
    joinMany(300);
    pass(1);
    expect(slow.gaveUp).toBe(1);
    work(1000);
    expect(refusal()).toEqual({ reason: 'expected-wait', expectedWaitMs: expect.closeTo(100 / PER_MS, -1) });
    startAll();
  });

  test.each(['miss-with-fallback', 'refresh'] as const)(
    'and a miss stays patient where that was only a %s',
    (priority) => {
      const optional = join('optional', priority);
      for (let ms = 0; ms < PATIENCE_MS; ms += 100) {
        joinMany(200 * PER_MS);
        work(100);
      }
      expect(optional.gaveUp).toBe(1);
      expect(backlog.expectedWaitMs('any')).toBeGreaterThan(SHORT_MS);
      expect(refusal('miss')).toBeUndefined();
      startAll();
    },
  );

  test('not any more once it has started or left', () => {
    const [a, b] = [join('a'), join('b')];
    start();
    backlog.remove(b);
    pass(10 * PATIENCE_MS);
    expect([a.started, a.gaveUp, b.started, b.gaveUp]).toEqual([1, 0, 0, 0]);
  });
});

describe('a refresh for which a client waits from now on', () => {
  test('goes to the end of the misses, with the patience of a miss', () => {
    const refresh = join('refresh', 'refresh');
    join('other refresh', 'refresh');
    join('miss');
    pass(1000);
    backlog.raise(refresh);
    expect(refresh.priority).toBe('miss');
    pass(499);
    expect(backlog.expectedWaitMs('any', 'miss')).toBeUndefined();
    expect(startAll()).toEqual(['miss', 'refresh', 'other refresh']);
  });

  test.each(['miss', 'miss-with-fallback'] as const)('stays where it is when it is a %s', (priority) => {
    const one = join('one', priority);
    join('two', priority);
    backlog.raise(one);
    expect([one.priority, ...startAll()]).toEqual([priority, 'one', 'two']);
  });

  test('stays away when it does not wait any more', () => {
    const gone = join('gone', 'refresh');
    start();
    backlog.raise(gone);
    expect([backlog.size, gone.priority]).toEqual([0, 'refresh']);
  });

  test('does not make newcomers of an overloaded lane patient again', () => {
    knownBacklog(PATIENCE_MS * PER_MS + 1);
    expect(refusal()?.reason).toBe('expected-wait');
    const refresh = join('refresh', 'refresh');
    while (backlog.size > 1) start();
    backlog.raise(refresh);
    joinMany(2 * SHORT_MS * PER_MS);
    work(SHORT_MS);
    joinMany(2 * SHORT_MS * PER_MS);
    expect(refusal()?.reason).toBe('expected-wait');
    startAll();
  });
});
