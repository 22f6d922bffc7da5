import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PRIORITIES } from '../../../src/admission/backlog.ts';
import { anybody, DrivenBacklog, PATIENCE_MS, PER_MS, pass, SHORT_MS } from '../../support/driven-backlog.ts';

let driven: DrivenBacklog;

beforeEach(() => {
  vi.useFakeTimers();
  driven = new DrivenBacklog();
});

afterEach(() => {
  const left = vi.getTimerCount();
  vi.useRealTimers();
  expect(left).toBe(0);
});

describe('waiting requests', () => {
  test('start in the order in which they came', () => {
    for (const name of ['a', 'b', 'c']) driven.join(name);
    expect([driven.backlog.size, driven.backlog.hasWaiting('any'), driven.backlog.hasWaiting('other')]).toEqual([
      3,
      true,
      false,
    ]);
    expect(driven.startAll()).toEqual(['a', 'b', 'c']);
    expect([driven.backlog.size, driven.backlog.hasWaiting('any'), driven.start()]).toEqual([0, false, undefined]);
  });

  test('start by priority, and in the order in which they came within one', () => {
    for (const priority of PRIORITIES.toReversed()) for (const n of [1, 2]) driven.join(`${priority} ${n}`, priority);
    expect(driven.startAll()).toEqual(PRIORITIES.flatMap((priority) => [`${priority} 1`, `${priority} 2`]));
  });

  test('start in the order in which they came over all operations', () => {
    for (const [index, operation] of ['a', 'b', 'c', 'b', 'a'].entries()) {
      driven.join(`${index}`, 'miss', operation);
      pass(1);
    }
    expect(driven.startAll()).toEqual(['0', '1', '2', '3', '4']);
  });

  test('keep waiting while their operation may not start, and do not delay other operations', () => {
    driven.join('a', 'miss', 'a');
    pass(1);
    driven.join('b', 'refresh', 'b');
    expect(driven.startAll((operation) => operation !== 'a')).toEqual(['b', undefined]);
    expect(driven.startAll()).toEqual(['a']);
  });

  test('start before priority and order when their operation goes first', () => {
    driven.join('old miss', 'miss', 'a');
    pass(1);
    driven.join('refresh', 'refresh', 'b');
    pass(1);
    driven.join('miss', 'miss', 'b');
    expect(driven.startAll(anybody, (operation) => operation === 'b')).toEqual(['miss', 'refresh', 'old miss']);
  });

  test('can leave at any time, and leaving twice does nothing', () => {
    const [a, b] = [driven.join('a'), driven.join('b')];
    driven.backlog.remove(a);
    driven.backlog.remove(a);
    expect(driven.startAll()).toEqual(['b']);
    driven.backlog.remove(b);
    expect([driven.backlog.size, a.started + a.gaveUp, b.gaveUp]).toEqual([0, 0, 0]);
  });
});

describe('a waiting request is refused', () => {
  test('when its patience ends, because the indexer became slower', () => {
    const [first] = [driven.join('first')];
    pass(1);
    const second = driven.join('second');
    pass(PATIENCE_MS - 2);
    expect([first.gaveUp, driven.backlog.size]).toEqual([0, 2]);
    pass(1);
    expect([first.gaveUp, second.gaveUp, driven.backlog.size]).toEqual([1, 0, 1]);
    pass(1);
    expect([second.gaveUp, driven.backlog.size]).toEqual([1, 0]);
  });

  test('after short patience when a stale copy can be served, even while others wait longer', () => {
    const miss = driven.join('miss');
    const withFallback = driven.join('with fallback', 'miss-with-fallback');
    pass(SHORT_MS - 1);
    expect(withFallback.gaveUp).toBe(0);
    pass(1);
    expect([withFallback.gaveUp, miss.gaveUp]).toEqual([1, 0]);
    driven.startAll();
  });

  test('on time after others ahead of it have started', () => {
    driven.join('a');
    pass(700);
    const b = driven.join('b', 'miss', 'other');
    driven.start();
    pass(PATIENCE_MS - 1);
    expect(b.gaveUp).toBe(0);
    pass(1);
    expect(b.gaveUp).toBe(1);
  });

  test('and new requests have short patience from then on: the indexer cannot keep up', () => {
    const slow = driven.join('slow');
    pass(PATIENCE_MS - 1);
    driven.joinMany(300);
    pass(1);
    expect(slow.gaveUp).toBe(1);
    driven.work(1000);
    expect(driven.refusal()).toEqual({ reason: 'expected-wait', expectedWaitMs: expect.closeTo(100 / PER_MS, -1) });
    driven.startAll();
  });

  test.each(['miss-with-fallback', 'refresh'] as const)(
    'and a miss keeps its full patience when that was only a %s',
    (priority) => {
      const optional = driven.join('optional', priority);
      for (let ms = 0; ms < PATIENCE_MS; ms += 100) {
        driven.joinMany(200 * PER_MS);
        driven.work(100);
      }
      expect(optional.gaveUp).toBe(1);
      expect(driven.backlog.expectedWaitMs('any')).toBeGreaterThan(SHORT_MS);
      expect(driven.refusal('miss')).toBeUndefined();
      driven.startAll();
    },
  );

  test('but not once it has started or left', () => {
    const [a, b] = [driven.join('a'), driven.join('b')];
    driven.start();
    driven.backlog.remove(b);
    pass(10 * PATIENCE_MS);
    expect([a.started, a.gaveUp, b.started, b.gaveUp]).toEqual([1, 0, 0, 0]);
  });
});

describe('a refresh that a client begins to wait for', () => {
  test('moves to the end of the misses, with the patience of a miss', () => {
    const refresh = driven.join('refresh', 'refresh');
    driven.join('other refresh', 'refresh');
    driven.join('miss');
    pass(1000);
    driven.backlog.raise(refresh);
    expect(refresh.priority).toBe('miss');
    pass(499);
    expect(driven.backlog.expectedWaitMs('any', 'miss')).toBeUndefined();
    expect(driven.startAll()).toEqual(['miss', 'refresh', 'other refresh']);
  });

  test.each(['miss', 'miss-with-fallback'] as const)('stays where it is when it is a %s', (priority) => {
    const one = driven.join('one', priority);
    driven.join('two', priority);
    driven.backlog.raise(one);
    expect([one.priority, ...driven.startAll()]).toEqual([priority, 'one', 'two']);
  });

  test('is not queued again when it no longer waits', () => {
    const gone = driven.join('gone', 'refresh');
    driven.start();
    driven.backlog.raise(gone);
    expect([driven.backlog.size, gone.priority]).toEqual([0, 'refresh']);
  });

  test('does not give new requests of an overloaded lane full patience again', () => {
    driven.knownBacklog(PATIENCE_MS * PER_MS + 1);
    expect(driven.refusal()?.reason).toBe('expected-wait');
    const refresh = driven.join('refresh', 'refresh');
    while (driven.backlog.size > 1) driven.start();
    driven.backlog.raise(refresh);
    driven.joinMany(3 * SHORT_MS * PER_MS);
    driven.work(SHORT_MS + 1);
    driven.joinMany(2 * SHORT_MS * PER_MS);
    expect(driven.refusal()?.reason).toBe('expected-wait');
    driven.startAll();
  });
});
