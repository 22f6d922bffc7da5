import { beforeEach, describe, expect, test } from 'vitest';
import { type EndPass, type Guard, passBy } from '../../../src/admission/guard.ts';
import { pauseOf } from '../../../src/admission/pause.ts';
import type { CircuitTransition } from '../../../src/circuit-breaker.ts';

const DEFAULT_MS = 1000;
const LONGEST_MS = 60_000;

let now: number;
let pause: Guard;
let transitions: CircuitTransition[];

beforeEach(() => {
  now = 0;
  transitions = [];
  pause = pauseOf({
    now: () => now,
    onTransition: (transition) => void transitions.push(transition),
    defaultMs: DEFAULT_MS,
    longestMs: LONGEST_MS,
  });
});

function admitted(): EndPass {
  const pass = passBy(pause, '');
  if (pass === undefined) throw new Error('nothing may be sent');
  return pass;
}

/** Waits for the end of the pause, and takes the trial. */
function trialAfterPause(): EndPass {
  now += pause.breaker.retryAfterMs;
  const trial = admitted();
  expect(passBy(pause, '')).toBeUndefined();
  return trial;
}

describe('a 429', () => {
  test.each<[string, number | undefined, number]>([
    ['a time', 7000, 7000],
    ['less than the default', 300, 300],
    ['no time', undefined, DEFAULT_MS],
    ['a week', 604_800_000, LONGEST_MS],
    ['a number beyond numbers', Number.POSITIVE_INFINITY, LONGEST_MS],
  ])('that asks for %s pauses everything for a plausible time', (_, retryAfterMs, ms) => {
    admitted()('rate-limited', retryAfterMs);
    expect([pause.breaker.isOpen, pause.breaker.retryAfterMs, pause.reason]).toEqual([true, ms, 'paused']);
    now += ms - 1;
    expect(passBy(pause, '')).toBeUndefined();
    now += 1;
    expect([pause.breaker.isOpen, pause.breaker.retryAfterMs]).toEqual([false, 0]);
    expect(transitions).toEqual([{ state: 'open', openMs: ms }]);
  });

  test('that asks for less than an earlier one does not shorten the pause, and one that asks for more extends it', () => {
    const [first, second, third, fourth] = [admitted(), admitted(), admitted(), admitted()];
    first('rate-limited', 10_000);
    second('rate-limited', 2_000);
    expect(pause.breaker.retryAfterMs).toBe(10_000);
    third('rate-limited', 20_000);
    expect(pause.breaker.retryAfterMs).toBe(20_000);
    fourth('rate-limited', 604_800_000);
    expect(pause.breaker.retryAfterMs).toBe(LONGEST_MS);
  });
});

describe('after a pause', () => {
  beforeEach(() => admitted()('rate-limited'));

  test.each(['answered', 'absent', 'refused-key', 'not-served'] as const)(
    'a trial that ends with %s lets everything be sent',
    (outcome) => {
      trialAfterPause()(outcome);
      expect([admitted(), admitted(), pause.breaker.isOpen]).toEqual([expect.anything(), expect.anything(), false]);
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
    admitted()('rate-limited');
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
});
