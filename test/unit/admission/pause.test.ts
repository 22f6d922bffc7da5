import { beforeEach, describe, expect, test } from 'vitest';
import type { EndPass, Guard } from '../../../src/admission/guard.ts';
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

/** A key that has not been requested before. */
const newKey = () => `new ${newKeys++}`;

function admitted(key = newKey(), guard = cached): EndPass {
  const pass = guard.admit(key);
  if (pass === undefined) throw new Error(`${key} may not be sent`);
  return pass;
}

/** Sends a request that is answered with 429. */
const refuse = (key: string, retryAfterMs?: number, guard = cached) =>
  admitted(key, guard)('rate-limited', retryAfterMs);

/** Why a request for a key would be refused now; `undefined` if it would be sent. */
function refusalOf(key: string, guard = cached) {
  const refusal = guard.refusal(key);
  return refusal && `${refusal.reason} ${refusal.retryAfterMs}`;
}

/** Expects that nothing is sent for this time, and that a trial may be sent then. */
function expectEverythingPaused(ms: number): void {
  expect([refusalOf(newKey()), refusalOf(newKey(), passed)]).toEqual([`paused ${ms}`, `paused ${ms}`]);
  expect([pause.breaker.isOpen, pause.breaker.retryAfterMs, cached.reason]).toEqual([true, ms, 'paused']);
  now += ms - 1;
  expect(cached.admit(newKey())).toBeUndefined();
  now += 1;
  expect([pause.breaker.isOpen, pause.breaker.retryAfterMs]).toEqual([false, 0]);
}

/** Waits for the end of the pause, and starts the trial. */
function trialAfterPause(): EndPass {
  now += pause.breaker.retryAfterMs;
  const trial = admitted();
  expect(cached.admit(newKey())).toBeUndefined();
  return trial;
}

describe('a 429', () => {
  test.each<[string, number | undefined, number]>([
    ['a time', 7000, 7000],
    ['a time below the default', 300, 300],
    ['no time', undefined, DEFAULT_MS],
    ['a time of a week', 604_800_000, LONGEST_MS],
    ['an infinite time', Number.POSITIVE_INFINITY, LONGEST_MS],
  ])(
    'with %s pauses its key for at most the longest pause, and everything if it is for a second key',
    (_, retryAfterMs, ms) => {
      refuse('one', retryAfterMs);
      expect([refusalOf('one'), refusalOf('other'), refusalOf('one', passed)]).toEqual([
        `key-paused ${ms}`,
        undefined,
        `key-paused ${ms}`,
      ]);
      expect(pausedKeys).toEqual([{ key: 'one', isCached: true, ms }]);
      now += ms - 1;
      expect([cached.admit('one'), refusalOf('one')]).toEqual([undefined, 'key-paused 1']);
      now += 1;
      expect([refusalOf('one'), transitions, pause.breaker.isClosed]).toEqual([undefined, [], true]);
      refuse('one', LONGEST_MS);
      refuse('other', retryAfterMs);
      expectEverythingPaused(ms);
      expect(transitions).toEqual([{ state: 'open', openMs: ms }]);
    },
  );

  test('with a shorter time than an earlier one for the same key does not shorten its pause', () => {
    const [first, second] = [admitted('one', passed), admitted('one', passed)];
    first('rate-limited', 10_000);
    second('rate-limited', 2000);
    expect(refusalOf('one', passed)).toBe('key-paused 10000');
  });

  test('of concurrent requests: the longest one sets the pause of everything, and a longer later one extends it', () => {
    const [first, second, third, fourth] = [admitted(), admitted(), admitted(), admitted()];
    first('rate-limited', 10_000);
    second('rate-limited', 2_000);
    expect(pause.breaker.retryAfterMs).toBe(10_000);
    third('rate-limited', 20_000);
    expect(pause.breaker.retryAfterMs).toBe(20_000);
    fourth('rate-limited', 604_800_000);
    expect(pause.breaker.retryAfterMs).toBe(LONGEST_MS);
  });

  test('for more than 256 paths: the oldest ones are forgotten', () => {
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
    'a trial that ends with %s lets all requests through',
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

  test('each trial that gets a 429 begins a longer pause, up to the longest, until a trial is answered', () => {
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
    'after a trial that ends with %s the next request is the next trial',
    (outcome) => {
      trialAfterPause()(outcome);
      expect([pause.breaker.isOpen, transitions.length]).toEqual([false, 1]);
      trialAfterPause();
    },
  );

  test('a 429 for a key that got one before pauses only such keys, and the next request for another key is the trial', () => {
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

  test('a key that got a 429 before may be the trial if no other key is requested', () => {
    now += DEFAULT_MS;
    admitted('one')('answered');
    expect([refusalOf('other'), refusalOf(newKey()), transitions.at(-1)?.state]).toEqual([
      undefined,
      undefined,
      'closed',
    ]);
  });
});
