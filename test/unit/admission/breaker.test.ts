import { beforeEach, describe, expect, test } from 'vitest';
import { Breaker, type BreakerTransition } from '../../../src/admission/breaker.ts';
import type { Pass } from '../../../src/admission/guard.ts';
import type { Outcome } from '../../../src/admission/outcome.ts';

const WINDOW_MS = 10_000;
const OPEN_MS = 2000;
const LONGEST_OPEN_MS = 30_000;

let now = 0;
let chance = 0;
let breaker: Breaker;
let transitions: BreakerTransition[] = [];

function newBreaker(): Breaker {
  return new Breaker(
    { now: () => now, random: () => chance, onTransition: (transition) => transitions.push(transition) },
    {
      failureRate: 0.5,
      minimumThroughput: 20,
      windowMs: WINDOW_MS,
      openMs: OPEN_MS,
      longestOpenMs: LONGEST_OPEN_MS,
    },
  );
}

beforeEach(() => {
  now = 0;
  chance = 0;
  transitions = [];
  breaker = newBreaker();
});

function admitted(key: string): Pass {
  const pass = breaker.admit(key);
  if (pass === undefined) throw new Error('the circuit breaker is open');
  return pass;
}

/** Requests that end so, each for a key of its own. */
function requests(times: number, outcome: Outcome, { keys = outcome }: { keys?: string } = {}): void {
  for (let n = 0; n < times; n++) admitted(`${keys} ${n}`).end(outcome);
}

/** Waits until a trial may be sent, and takes it. */
function trial(key: string): Pass {
  now += breaker.retryAfterMs;
  const pass = admitted(key);
  expect(breaker.admit('while the trial is under way')).toBeUndefined();
  return pass;
}

describe('a closed breaker', () => {
  test.each(['server-error', 'timeout', 'unreachable'] as const)(
    'opens for 2 s when half of the keys fail with %s',
    (outcome) => {
      requests(10, 'answered');
      requests(10, outcome);
      expect([breaker.isOpen, breaker.retryAfterMs, breaker.reason]).toEqual([true, OPEN_MS, 'breaker-open']);
      expect(breaker.admit('any')).toBeUndefined();
      expect(transitions).toEqual([{ state: 'open', openMs: OPEN_MS }]);
    },
  );

  test('does not open for one broken key, however often it is requested', () => {
    for (let n = 0; n < 1000; n++) {
      now += 7;
      admitted('the broken one').end('timeout');
    }
    requests(9, 'answered');
    requests(9, 'server-error');
    expect(breaker.isOpen).toBe(false);
  });

  test('remembers a limited number of keys, and decides by the newest', () => {
    requests(5000, 'answered');
    requests(998, 'server-error');
    expect(breaker.isOpen).toBe(false);
    for (let key = 0; !breaker.isOpen && key < 1002; key++) requests(1, 'server-error', { keys: `another ${key}` });
    expect(breaker.isOpen).toBe(true);
  });
});

describe('an open breaker', () => {
  beforeEach(() => requests(20, 'server-error'));

  test.each(['answered', 'client-error', 'rate-limited'] as const)(
    'closes when its trial ends with %s, and forgets all failures',
    (outcome) => {
      trial('fresh').end('timeout');
      trial('another').end(outcome);
      expect([breaker.isOpen, transitions.at(-1)]).toEqual([false, { state: 'closed' }]);
      requests(19, 'server-error', { keys: 'again' });
      expect(breaker.isOpen).toBe(false);
    },
  );

  test('stays open twice as long after each failed trial, up to 30 s, and briefly again after a success', () => {
    const lengths = Array.from({ length: 6 }, (_, index) => {
      trial(`fresh ${index}`).end(index % 2 === 0 ? 'server-error' : 'timeout');
      return breaker.retryAfterMs;
    });
    expect(lengths).toEqual([4000, 8000, 16_000, LONGEST_OPEN_MS, LONGEST_OPEN_MS, LONGEST_OPEN_MS]);
    trial('last').end('answered');
    requests(20, 'server-error', { keys: 'again' });
    expect(breaker.retryAfterMs).toBe(OPEN_MS);
  });

  test('is open for up to half of the time less, at random, and never longer', () => {
    chance = 1;
    trial('fresh').end('server-error');
    expect(breaker.retryAfterMs).toBeCloseTo(0.5 * 4000);
    chance = 0.5;
    trial('another').end('server-error');
    expect(breaker.retryAfterMs).toBeCloseTo(0.75 * 8000);
    expect(transitions.at(-1)).toEqual({ state: 'open', openMs: expect.closeTo(0.75 * 8000) });
  });

  test.each(['unsent', 'abandoned'] as const)(
    'lets the next request be the trial when one ends with %s, and keeps its open duration',
    (outcome) => {
      const only = trial('fresh');
      only.end(outcome);
      only.end('timeout');
      only.end('answered');
      expect([breaker.isOpen, transitions.length]).toEqual([false, 1]);
      trial('another').end('server-error');
      expect(breaker.retryAfterMs).toBe(4000);
    },
  );

  test('does not use a key whose trial failed for another trial within the window', () => {
    trial('the broken one').end('server-error');
    now += 4000;
    expect(breaker.admit('the broken one')).toBeUndefined();
    trial('fresh').end('unsent');
    now += WINDOW_MS - 4000;
    trial('the broken one');
  });

  test('may use a key for the trial that failed before it opened', () => {
    trial('server-error 7').end('answered');
    expect(breaker.isOpen).toBe(false);
  });

  test('is neither closed nor opened for longer by requests that were sent before it opened', () => {
    breaker = newBreaker();
    transitions = [];
    const early = Array.from({ length: 31 }, (_, index) => admitted(`early ${index}`));
    requests(20, 'server-error');
    now = OPEN_MS - 1;
    for (const [index, pass] of early.entries()) if (index > 0) pass.end(index < 5 ? 'answered' : 'timeout');
    expect([transitions.length, breaker.retryAfterMs]).toEqual([1, 1]);
    trial('fresh');
    early[0]?.end('answered');
    expect(breaker.admit('another')).toBeUndefined();
  });
});
