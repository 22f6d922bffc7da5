import { beforeEach, describe, expect, test } from 'vitest';
import { type EndPass, type Guard, passBy, refusalNow } from '../../../src/admission/guard.ts';
import { type KeyPaused, Pause } from '../../../src/admission/pause.ts';
import type { CircuitTransition } from '../../../src/circuit-breaker.ts';

const DEFAULT_MS = 1000;
const LONGEST_MS = 60_000;

let now: number;
let pause: Pause;
let cached: Guard;
let passed: Guard;
let transitions: CircuitTransition[];
let pausedKeys: KeyPaused[];
let newKeys: number;

beforeEach(() => {
  now = 0;
  newKeys = 0;
  transitions = [];
  pausedKeys = [];
  pause = new Pause({
    now: () => now,
    onTransition: (transition) => void transitions.push(transition),
    onKeyPaused: (key) => void pausedKeys.push(key),
    defaultMs: DEFAULT_MS,
    longestMs: LONGEST_MS,
  });
  [cached, passed] = [pause.guard(true), pause.guard(false)];
});

/** A key that was never asked for. */
const newKey = () => `new ${newKeys++}`;

function admitted(key = newKey(), guard = cached): EndPass {
  const pass = passBy(guard, key);
  if (pass === undefined) throw new Error(`${key} may not be sent`);
  return pass;
}

/** Answers a request with 429. */
const refuse = (key: string, retryAfterMs?: number, guard = cached) =>
  admitted(key, guard)('rate-limited', retryAfterMs);

/** How a request for a key would be refused; `undefined` when it would be sent. */
function refusalOf(key: string, guard = cached) {
  const refusal = refusalNow(guard, key);
  return refusal && `${refusal.reason} ${refusal.retryAfterMs}`;
}

/** That nothing is sent for this time, and then a trial. */
function expectEverythingPaused(ms: number): void {
  expect([refusalOf(newKey()), refusalOf(newKey(), passed)]).toEqual([`paused ${ms}`, `paused ${ms}`]);
  expect([pause.breaker.isOpen, pause.breaker.retryAfterMs, cached.reason]).toEqual([true, ms, 'paused']);
  now += ms - 1;
  expect(passBy(cached, newKey())).toBeUndefined();
  now += 1;
  expect([pause.breaker.isOpen, pause.breaker.retryAfterMs]).toEqual([false, 0]);
}

/** Waits for the end of the pause, and takes the trial. */
function trialAfterPause(): EndPass {
  now += pause.breaker.retryAfterMs;
  const trial = admitted();
  expect(passBy(cached, newKey())).toBeUndefined();
  return trial;
}

describe('a 429', () => {
  test.each<[string, number | undefined, number]>([
    ['a time', 7000, 7000],
    ['less than the default', 300, 300],
    ['no time', undefined, DEFAULT_MS],
    ['a week', 604_800_000, LONGEST_MS],
    ['a number beyond numbers', Number.POSITIVE_INFINITY, LONGEST_MS],
  ])(
    'that asks for %s pauses its key for a plausible time, and everything if it is the second',
    (_, retryAfterMs, ms) => {
      refuse('one', retryAfterMs);
      expect([refusalOf('one'), refusalOf('other'), refusalOf('one', passed)]).toEqual([
        `key-paused ${ms}`,
        undefined,
        `key-paused ${ms}`,
      ]);
      expect(pausedKeys).toEqual([{ key: 'one', isCached: true, ms }]);
      now += ms - 1;
      expect([passBy(cached, 'one'), refusalOf('one')]).toEqual([undefined, 'key-paused 1']);
      now += 1;
      expect([refusalOf('one'), transitions, pause.breaker.isClosed]).toEqual([undefined, [], true]);
      refuse('one', LONGEST_MS);
      refuse('other', retryAfterMs);
      expectEverythingPaused(ms);
      expect(transitions).toEqual([{ state: 'open', openMs: ms }]);
    },
  );

  test('to the same key does not pause others, however often it comes', () => {
    const passes = Array.from({ length: 5 }, () => admitted('one', passed));
    for (const pass of passes) pass('rate-limited', 5000);
    for (let time = 0; time < 100; time++) {
      now += 5000;
      refuse('one', 5000);
    }
    expect([refusalOf(newKey()), transitions]).toEqual([undefined, []]);
  });

  test('that asks for less than an earlier one to the same key does not shorten its pause', () => {
    const [first, second] = [admitted('one', passed), admitted('one', passed)];
    first('rate-limited', 10_000);
    second('rate-limited', 2000);
    expect(refusalOf('one', passed)).toBe('key-paused 10000');
  });

  test('is forgotten when its time ends: the next one to another key is the first', () => {
    refuse('one', 1000);
    now += 1000;
    refuse('other', 1000);
    expect([refusalOf('one'), refusalOf(newKey()), transitions]).toEqual([undefined, undefined, []]);
  });

  test.each([
    ['two cached keys', true, true, true],
    ['a cached key and a path', true, false, true],
    ['a path and a cached key', false, true, true],
    ['two paths', false, false, false],
  ])('to %s pauses everything: %s, %s -> %s', (_, first, second, isEverything) => {
    refuse('one', 5000, pause.guard(first));
    refuse('two', 5000, pause.guard(second));
    expect([pause.breaker.isOpen, transitions.length]).toEqual([isEverything, Number(isEverything)]);
  });

  test('to a cached key pauses everything if one of many paths is paused', () => {
    for (let path = 0; path < 1000; path++) refuse(`GET /${path}`, 5000, passed);
    expect(refusalOf(newKey())).toBeUndefined();
    refuse('one', 5000);
    expectEverythingPaused(5000);
  });

  test('of requests that were under way together, the longest pause counts, and a later one extends it', () => {
    const [first, second, third, fourth] = [admitted(), admitted(), admitted(), admitted()];
    first('rate-limited', 10_000);
    second('rate-limited', 2_000);
    expect(pause.breaker.retryAfterMs).toBe(10_000);
    third('rate-limited', 20_000);
    expect(pause.breaker.retryAfterMs).toBe(20_000);
    fourth('rate-limited', 604_800_000);
    expect(pause.breaker.retryAfterMs).toBe(LONGEST_MS);
  });

  test('to one key for a minute does not make the pause of everything as long, and outlasts it', () => {
    refuse('one', 60_000);
    refuse('other', 1000);
    expect(refusalOf('one')).toBe('paused 60000');
    expectEverythingPaused(1000);
    trialAfterPause()('answered');
    expect([refusalOf('one'), refusalOf('other'), refusalOf(newKey())]).toEqual([
      'key-paused 59000',
      undefined,
      undefined,
    ]);
  });

  test('to more paths than the memory holds forgets the oldest ones', () => {
    for (let path = 0; path < 300; path++) refuse(`GET /${path}`, 5000, passed);
    expect([refusalOf('GET /0'), refusalOf('GET /43'), refusalOf('GET /44')]).toEqual([
      undefined,
      undefined,
      'key-paused 5000',
    ]);
  });
});

describe('after a pause of everything', () => {
  beforeEach(() => {
    refuse('one');
    refuse('other');
  });

  test.each(['answered', 'absent', 'refused-key', 'not-served'] as const)(
    'a trial that ends with %s lets everything be sent',
    (outcome) => {
      trialAfterPause()(outcome);
      expect([admitted(), admitted('one'), pause.breaker.isOpen]).toEqual([
        expect.anything(),
        expect.anything(),
        false,
      ]);
      expect(transitions.at(-1)).toEqual({ state: 'closed' });
    },
  );

  test('a trial that met another 429 begins a longer pause, up to the longest, until one is answered', () => {
    const lengths = Array.from({ length: 14 }, () => {
      trialAfterPause()('rate-limited');
      return pause.breaker.retryAfterMs;
    });
    expect(lengths.slice(0, 3)).toEqual([2000, 4000, 8000]);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(lengths.at(-1)).toBe(LONGEST_MS);
    trialAfterPause()('answered');
    refuse('one');
    refuse('other');
    expect(pause.breaker.retryAfterMs).toBe(DEFAULT_MS);
  });

  test.each(['failed', 'broken', 'unreachable', 'unknown'] as const)(
    'after a trial that ends with %s the next request is the trial',
    (outcome) => {
      trialAfterPause()(outcome);
      expect([pause.breaker.isOpen, transitions.length]).toEqual([false, 1]);
      trialAfterPause();
    },
  );

  test('a 429 to a key that got one before pauses only such keys, and the next request for another is the trial', () => {
    now += DEFAULT_MS;
    refuse('one', 5000);
    expect([refusalOf('one'), refusalOf('other'), refusalOf(newKey())]).toEqual([
      'key-paused 5000',
      'paused 5000',
      undefined,
    ]);
    trialAfterPause()('answered');
    expect([refusalOf('one'), refusalOf('other')]).toEqual(['key-paused 5000', undefined]);
  });

  test('a key that got a 429 before may be answered, if no other is requested', () => {
    now += DEFAULT_MS;
    admitted('one')('answered');
    expect([refusalOf('other'), refusalOf(newKey()), transitions.at(-1)?.state]).toEqual([
      undefined,
      undefined,
      'closed',
    ]);
  });

  test('with refused keys alone, one request is sent in the time that each 429 asks for', () => {
    let sent = 0;
    for (const end = now + 60_000; now < end; now += 100) {
      for (const key of ['one', 'other']) {
        const pass = passBy(cached, key);
        if (pass !== undefined) sent++;
        pass?.('rate-limited');
      }
    }
    expect(sent).toBe(59);
  });
});
