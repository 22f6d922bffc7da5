import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type BacklogRefusal, PRIORITIES } from '../../../src/admission/backlog.ts';
import { DrivenBacklog, PATIENCE_MS, PER_MS, pass, SHORT_MS } from '../../support/driven-backlog.ts';

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

describe('a new request', () => {
  test('is never refused before the drain rate is known: a burst is not an overload', () => {
    driven.joinMany(900);
    driven.work(95);
    expect([driven.refusal(), driven.backlog.expectedWaitMs('any')]).toEqual([undefined, undefined]);
    driven.startAll();
  });

  test('is refused on arrival when its expected wait is longer than its patience, with that wait', () => {
    driven.knownBacklog(PATIENCE_MS * PER_MS);
    expect(driven.refusal()).toBeUndefined();
    driven.join('one more');
    const expectedWaitMs = PATIENCE_MS + 1 / PER_MS;
    expect(driven.backlog.expectedWaitMs('any')).toBeCloseTo(expectedWaitMs);
    expect(driven.refusal()).toEqual<BacklogRefusal>({
      reason: 'expected-wait',
      expectedWaitMs: expect.closeTo(expectedWaitMs),
    });
    driven.startAll();
  });

  test('counts only requests of its priority and above as ahead of it', () => {
    driven.join('refresh', 'refresh');
    driven.knownBacklog(10);
    driven.join('with fallback', 'miss-with-fallback');
    const expected = PRIORITIES.map((priority) => driven.backlog.expectedWaitMs('any', priority));
    expect(expected).toEqual([10, 11, 12].map((ahead) => expect.closeTo(ahead / PER_MS)));
    driven.startAll();
  });

  test('is refused even as the first of the misses when nothing started for the whole patience', () => {
    driven.join('refresh', 'refresh');
    pass(PATIENCE_MS - 1);
    driven.joinMany(5, 'refresh');
    expect(driven.refusal('miss')).toBeUndefined();
    pass(1);
    expect(driven.refusal('miss')).toEqual({ reason: 'expected-wait', expectedWaitMs: 2 * PATIENCE_MS });
    driven.startAll();
  });

  test('does not wait for another operation', () => {
    driven.knownBacklog(900);
    expect([driven.refusal()?.reason, driven.refusal('miss', 'other')]).toEqual(['expected-wait', undefined]);
    expect(driven.backlog.expectedWaitMs('other')).toBe(0);
    driven.startAll();
  });

  test('with a stale copy to fall back on has short patience', () => {
    driven.knownBacklog(SHORT_MS * PER_MS);
    expect(driven.refusal('miss-with-fallback')).toBeUndefined();
    driven.join('one more');
    expect(driven.refusal('miss-with-fallback')?.reason).toBe('expected-wait');
    driven.startAll();
  });

  test('is refused when the backlog is full, whatever operation waits', () => {
    driven = new DrivenBacklog(2);
    driven.join('a', 'miss', 'a');
    driven.join('b', 'miss', 'b');
    expect(driven.refusal('miss', 'c')).toEqual({ reason: 'queue-full', expectedWaitMs: 0 });
    driven.startAll();
    expect(driven.refusal('miss', 'c')).toBeUndefined();
  });

  test('is refused where the backlog may hold none', () => {
    driven = new DrivenBacklog(0);
    expect(driven.refusal()).toEqual({ reason: 'queue-full', expectedWaitMs: 0 });
  });

  test.each([0, 1])(
    'gets an expected wait of at most twice the patience, because those ahead give up before: %i started',
    (started) => {
      driven.join('first');
      pass(1);
      driven.joinMany(500);
      if (started > 0) driven.start();
      pass(PATIENCE_MS - 1);
      expect(driven.refusal()).toEqual({ reason: 'expected-wait', expectedWaitMs: 2 * PATIENCE_MS });
      expect(driven.backlog.expectedWaitMs('any')).toBe(2 * PATIENCE_MS);
      driven.startAll();
    },
  );
});

describe('while new requests are refused', () => {
  /** A lane that refused a miss, and of which so many wait on. */
  function overload(waiting: number): void {
    const misses = driven.knownBacklog(2 * PATIENCE_MS * PER_MS);
    expect(driven.refusal()?.reason).toBe('expected-wait');
    for (const miss of misses.slice(waiting)) driven.backlog.remove(miss);
  }

  test('new requests have short patience', () => {
    overload(SHORT_MS * PER_MS + 1);
    expect(driven.refusal()?.reason).toBe('expected-wait');
    driven.start();
    expect(driven.refusal()).toBeUndefined();
    driven.startAll();
  });

  test('full patience returns when the lane is empty', () => {
    overload(0);
    driven.knownBacklog(2 * SHORT_MS * PER_MS);
    expect(driven.refusal()).toBeUndefined();
    driven.startAll();
  });

  test('full patience returns when the last of the lane leaves', () => {
    overload(1);
    const last = driven.join('last');
    driven.start();
    driven.backlog.remove(last);
    driven.knownBacklog(2 * SHORT_MS * PER_MS);
    expect(driven.refusal()).toBeUndefined();
    driven.startAll();
  });

  test('other operations keep their full patience', () => {
    overload(10);
    driven.knownBacklog(100, 'other');
    expect(driven.backlog.expectedWaitMs('other')).toBeGreaterThan(SHORT_MS);
    expect(driven.refusal('miss', 'other')).toBeUndefined();
    driven.startAll();
  });

  test('requests that were admitted before keep their full patience', () => {
    overload(10);
    const patient = driven.join('patient');
    pass(PATIENCE_MS - 1);
    expect(patient.gaveUp).toBe(0);
    pass(1);
    expect(patient.gaveUp).toBe(1);
  });

  test.each(['miss-with-fallback', 'refresh'] as const)(
    'a refused request of lower priority does not shorten the patience of misses: %s',
    (priority) => {
      driven.joinMany(2 * PATIENCE_MS * PER_MS, 'refresh');
      driven.knownBacklog(3 * SHORT_MS * PER_MS);
      expect(driven.refusal(priority)?.reason).toBe('expected-wait');
      expect(driven.refusal('miss')).toBeUndefined();
      driven.startAll();
    },
  );
});
