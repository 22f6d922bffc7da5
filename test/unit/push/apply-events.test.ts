import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { account, by, ONE, PushUnderTest, traceHash } from './push-under-test.ts';

let push: PushUnderTest;

beforeEach(() => {
  push = new PushUnderTest();
});

afterEach(() => push[Symbol.dispose]());

const byHash = (n: number) => `ext_msg_hash=${encodeURIComponent(traceHash(n))}`;

describe('an answer is fresh for 2 s', () => {
  test('and has no stale windows, if it lists nothing and its account is subscribed to', () => {
    push.watch(by(1));
    expect(push.answer(by(1))).toMatchObject({ staleWhileRevalidate: 0, staleIfError: 0 });
    expect(push.freshMs(push.answer(by(1)))).toBe(2000);
  });

  test.each<[string, () => [key: string, listed?: typeof ONE | undefined, options?: object]]>([
    ['it lists a trace', () => [by(1), ONE]],
    ['its request names only a hash', () => [byHash(1)]],
    ['its request names an account and a hash', () => [`${by(1)}&${byHash(1)}`]],
    ['its key is not polled', () => [by(2)]],
    ['it was requested before the acknowledgement', () => [by(1), undefined, { tookMs: 60 }]],
    [
      'it comes from another cache, which may have stored it before the last event',
      () => [by(1), undefined, { ageValueSeconds: 1 }],
    ],
  ])('but not if %s', (_, make) => {
    const [key, listed, options] = make();
    if (key !== by(2)) push.watch(key);
    push.watch(by(1));
    expect(push.freshMs(push.answer(key, listed, options))).toBeLessThanOrEqual(250);
  });

  test('but not if its account exceeds the maximum number of addresses', () => {
    push[Symbol.dispose]();
    push = new PushUnderTest(1);
    push.watch(by(1), by(2));
    expect([1, 2].map((n) => push.freshMs(push.answer(by(n))))).toEqual([2000, 250]);
  });
});

describe('an answer is stale', () => {
  test.each([
    ['the requested account', traceHash(9), account(1)],
    ['a trace that it lists', traceHash(1), account(9)],
  ])('10 ms after an event of %s', (_, trace, name) => {
    push.watch(by(1));
    vi.advanceTimersByTime(100);
    const kept = push.answer(by(1), ONE, { lifetime: 400 });
    push.event(trace, name);
    vi.advanceTimersByTime(9);
    expect(push.freshness(kept)).toBe('fresh');
    vi.advanceTimersByTime(1);
    expect(push.freshness(kept)).toBe('stale-if-error');
  });

  test('but not after an event of a listed account with another trace', () => {
    push.watch(by(1));
    vi.advanceTimersByTime(100);
    const kept = push.answer(by(1), ONE, { lifetime: 400 });
    push.event(traceHash(2), account(2));
    vi.advanceTimersByTime(10);
    expect(push.freshness(kept)).toBe('fresh');
    expect(push.refreshed).toEqual([]);
  });

  test('if it was requested before the event took effect, even if it arrives afterwards', () => {
    push.watch(by(1));
    vi.advanceTimersByTime(100);
    push.event(traceHash(9), account(1));
    vi.advanceTimersByTime(30);
    expect(push.freshMs(push.answer(by(1), undefined, { tookMs: 21 }))).toBe(0);
    expect(push.freshMs(push.answer(by(1), undefined, { tookMs: 19 }))).toBe(2000);
  });

  test('if it was requested before its watch began, when events had no effect', () => {
    push.watch(by(1));
    push.onClockJump();
    push.ask(by(1));
    expect(push.freshMs(push.answer(by(1), undefined, { tookMs: 1 }))).toBe(0);
  });
});

describe('a refresh', () => {
  test('follows the end of freshness, once for all events of a change', () => {
    push.watch(by(1));
    vi.advanceTimersByTime(100);
    for (let event = 0; event < 5; event++) push.event(traceHash(9), account(1));
    vi.advanceTimersByTime(9);
    expect(push.refreshed).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(push.refreshed).toEqual([by(1)]);
  });

  test('happens at most every 100 ms for each key', () => {
    push.watch(by(1));
    for (let ms = 0; ms < 1000; ms++) {
      push.ask(by(1));
      push.event(traceHash(9), account(1));
      vi.advanceTimersByTime(1);
    }
    expect(push.refreshed).toHaveLength(10);
  });

  test('happens at most 50 times a second for all keys together', () => {
    const keys = Array.from({ length: 80 }, (_, n) => `${by(1)}&supported_action_types=v1&_=${n}`);
    push.watch(...keys);
    vi.advanceTimersByTime(1000 - (Date.now() % 1000));
    push.event(traceHash(9), account(1));
    vi.advanceTimersByTime(900);
    expect(push.refreshed).toHaveLength(50);
    vi.advanceTimersByTime(100);
    push.event(traceHash(9), account(1));
    vi.advanceTimersByTime(900);
    expect(new Set(push.refreshed).size).toBe(80);
  });

  test('is skipped for a key that was requested only once', () => {
    push.watch(by(1));
    push.ask(`${by(1)}&supported_action_types=v1`);
    push.event(traceHash(9), account(1));
    vi.advanceTimersByTime(1000);
    expect(push.refreshed).toEqual([by(1)]);
  });
});
