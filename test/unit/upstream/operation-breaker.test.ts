import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type BreakerPass,
  type BreakerTransition,
  type CallOutcome,
  OperationBreaker,
} from '../../../src/upstream/operation-breaker.ts';

const WINDOW_MS = 10_000;
const REST_MS = 2000;
const LONGEST_REST_MS = 30_000;

type Operation = 'pending' | 'adjacent' | 'shards';

let now = 0;
let chance = 0;
let breaker: OperationBreaker<Operation>;
let transitions: BreakerTransition<Operation>[] = [];

function newBreaker(): OperationBreaker<Operation> {
  now = 0;
  chance = 0;
  transitions = [];
  return new OperationBreaker<Operation>({
    operations: ['pending', 'adjacent', 'shards'],
    failureShare: 0.5,
    leastKeys: 20,
    windowMs: WINDOW_MS,
    restMs: REST_MS,
    longestRestMs: LONGEST_REST_MS,
    now: () => now,
    random: () => chance,
    onTransition: (transition) => transitions.push(transition),
  });
}

beforeEach(() => {
  breaker = newBreaker();
});

function admitted(operation: Operation, key: string): BreakerPass {
  const pass = breaker.admit(operation, key);
  if (pass === 'open') throw new Error(`${operation} is open`);
  return pass;
}

/** Calls that end so, each of a key of its own. */
function calls(
  times: number,
  outcome: CallOutcome,
  { operation = 'pending', keys = outcome }: { operation?: Operation; keys?: string } = {},
): void {
  for (let call = 0; call < times; call++) admitted(operation, `${keys} ${call}`).end(outcome);
}

/** Waits for the end of the rest and takes the probe. */
function probe(key: string, operation: Operation = 'pending'): BreakerPass {
  now += breaker.retryAfterMs(operation);
  const pass = admitted(operation, key);
  expect(breaker.admit(operation, 'while the probe is under way')).toBe('open');
  return pass;
}

describe('an operation', () => {
  test('is called as long as fewer than half of its keys fail', () => {
    calls(51, 'ok');
    calls(50, 'failed');
    expect(breaker.isOpen('pending')).toBe(false);
    expect(transitions).toEqual([]);
  });

  test('is cut off for two seconds when half of its keys fail', () => {
    calls(10, 'ok');
    calls(10, 'failed');
    expect(breaker.isOpen('pending')).toBe(true);
    expect(breaker.admit('pending', 'any')).toBe('open');
    expect(breaker.retryAfterMs('pending')).toBe(REST_MS);
    expect(transitions).toEqual([{ operation: 'pending', state: 'open', restMs: REST_MS }]);
  });

  test('is called as long as fewer than twenty keys were asked for, though all fail', () => {
    calls(19, 'failed');
    expect(breaker.isOpen('pending')).toBe(false);
    calls(1, 'failed', { keys: 'one more' });
    expect(breaker.isOpen('pending')).toBe(true);
  });

  test('is judged by the last ten seconds alone', () => {
    calls(19, 'failed');
    now = WINDOW_MS;
    calls(1, 'failed', { keys: 'later' });
    expect(breaker.isOpen('pending')).toBe(false);
    calls(100, 'ok');
    now += WINDOW_MS;
    calls(20, 'failed', { keys: 'last' });
    expect(breaker.isOpen('pending')).toBe(true);
  });

  test('is not cut off by another one that fails', () => {
    calls(20, 'failed');
    calls(20, 'ok', { operation: 'adjacent' });
    expect([breaker.isOpen('pending'), breaker.isOpen('adjacent'), breaker.isOpen('shards')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(breaker.retryAfterMs('adjacent')).toBe(0);
  });

  test('is not cut off by one broken key, however often it is asked for', () => {
    for (let call = 0; call < 1000; call++) {
      now += 7;
      admitted('pending', 'the broken one').end('failed');
    }
    calls(9, 'failed');
    calls(9, 'ok');
    expect(breaker.isOpen('pending')).toBe(false);
  });

  test('is not saved by one healthy key, however often it is asked for', () => {
    for (let call = 0; call < 1000; call++) admitted('pending', 'the healthy one').end('ok');
    calls(19, 'failed');
    expect(breaker.isOpen('pending')).toBe(true);
  });

  test('is not cut off by keys that failed and then answered', () => {
    calls(19, 'failed', { keys: 'key' });
    calls(19, 'ok', { keys: 'key' });
    calls(10, 'failed');
    expect(breaker.isOpen('pending')).toBe(false);
  });

  test.each(['ignored', 'unsent'] as const)('is not judged by calls that end %s', (outcome) => {
    calls(1000, outcome);
    calls(19, 'failed');
    expect(breaker.isOpen('pending')).toBe(false);
    calls(1, 'failed', { keys: 'one more' });
    expect(breaker.isOpen('pending')).toBe(true);
  });

  test('that nobody named is a mistake of ours', () => {
    const unknown = JSON.parse('"masterchainInfo"');
    expect(() => breaker.admit(unknown, 'any')).toThrow('no such operation');
  });
});

describe('a connection failure', () => {
  test('counts for all operations', () => {
    calls(10, 'unreachable');
    calls(10, 'unreachable', { operation: 'adjacent', keys: 'other' });
    expect(transitions.map(({ operation }) => operation)).toEqual(['pending', 'adjacent', 'shards']);
  });

  test('of one key counts once for each of them', () => {
    for (let call = 0; call < 100; call++) admitted('pending', 'the broken one').end('unreachable');
    expect(transitions).toEqual([]);
  });

  test('of a probe counts for the others too', () => {
    calls(20, 'failed');
    calls(10, 'unreachable', { operation: 'adjacent', keys: 'other' });
    calls(9, 'failed', { operation: 'shards', keys: 'third' });
    expect(transitions).toHaveLength(1);
    probe('fresh').end('unreachable');
    expect(transitions.map(({ operation }) => operation)).toEqual(['pending', 'shards', 'pending']);
  });
});

describe('after its rest', () => {
  beforeEach(() => calls(20, 'failed'));

  test('an operation gets one probe, and every other caller is turned away at once', () => {
    now = REST_MS - 1;
    expect(breaker.admit('pending', 'fresh')).toBe('open');
    now = REST_MS;
    expect(breaker.isOpen('pending')).toBe(false);
    probe('fresh');
    expect(Array.from({ length: 100 }, (_, call) => breaker.admit('pending', `${call}`))).toEqual(
      Array(100).fill('open'),
    );
    expect(breaker.isOpen('pending')).toBe(true);
    expect(breaker.retryAfterMs('pending')).toBe(0);
  });

  test.each(['ok', 'ignored'] as const)('a probe that ends %s closes it, with nothing held against it', (outcome) => {
    probe('fresh').end('failed');
    probe('another').end(outcome);
    expect(breaker.isOpen('pending')).toBe(false);
    expect(transitions.at(-1)).toEqual({ operation: 'pending', state: 'closed' });
    calls(19, 'failed', { keys: 'again' });
    expect(breaker.isOpen('pending')).toBe(false);
  });

  test('each failed probe doubles the rest up to half a minute, and a good one makes it short again', () => {
    const rests = Array.from({ length: 6 }, (_, time) => {
      probe(`fresh ${time}`).end(time % 2 === 0 ? 'failed' : 'unreachable');
      return breaker.retryAfterMs('pending');
    });
    expect(rests).toEqual([4000, 8000, 16_000, LONGEST_REST_MS, LONGEST_REST_MS, LONGEST_REST_MS]);
    probe('last').end('ok');
    calls(20, 'failed', { keys: 'again' });
    expect(breaker.retryAfterMs('pending')).toBe(REST_MS);
  });

  test('a rest is up to a fifth shorter, by chance, and never longer', () => {
    chance = 1;
    probe('fresh').end('failed');
    expect(breaker.retryAfterMs('pending')).toBeCloseTo(0.8 * 4000);
    chance = 0.5;
    probe('another').end('failed');
    expect(breaker.retryAfterMs('pending')).toBeCloseTo(0.9 * 8000);
  });

  test('a probe that was not sent leaves the next one to try, and the rest as it was', () => {
    probe('fresh').end('unsent');
    expect(breaker.isOpen('pending')).toBe(false);
    probe('another').end('failed');
    expect(breaker.retryAfterMs('pending')).toBe(4000);
  });

  test('a probe that is never ended does not keep it open for ever', () => {
    probe('fresh');
    now += 59_999;
    expect(breaker.admit('pending', 'another')).toBe('open');
    now += 1;
    admitted('pending', 'another');
    expect(breaker.admit('pending', 'yet another')).toBe('open');
  });

  test('a key that failed a probe is no probe again within the window: others are', () => {
    probe('the broken one').end('failed');
    now += 4000;
    expect(breaker.admit('pending', 'the broken one')).toBe('open');
    admitted('pending', 'fresh');
    expect(breaker.admit('pending', 'fresh as well')).toBe('open');
  });

  test('a key that failed before may be the probe', () => {
    probe('failed 7').end('ok');
    expect(breaker.isOpen('pending')).toBe(false);
  });

  test('a key that failed a probe may try again when the window is over', () => {
    probe('the only one').end('failed');
    now += WINDOW_MS;
    admitted('pending', 'the only one');
    expect(breaker.admit('pending', 'another')).toBe('open');
  });
});

describe('calls that were sent before', () => {
  test('neither close nor reopen it', () => {
    const early = Array.from({ length: 30 }, (_, call) => admitted('pending', `early ${call}`));
    calls(20, 'failed');
    now = REST_MS - 1;
    for (const [index, pass] of early.entries()) pass.end(index < 5 ? 'ok' : 'failed');
    expect(transitions).toHaveLength(1);
    expect(breaker.retryAfterMs('pending')).toBe(1);
  });

  test('do not end the probe', () => {
    const early = admitted('pending', 'early');
    calls(20, 'failed');
    probe('fresh');
    early.end('ok');
    expect(breaker.admit('pending', 'another')).toBe('open');
  });
});

describe('a pass is ended once, and what is said later is not heard', () => {
  test('of a probe', () => {
    calls(20, 'failed');
    const only = probe('fresh');
    only.end('unsent');
    only.end('failed');
    only.end('ok');
    expect(transitions).toHaveLength(1);
  });

  test('of any call', () => {
    calls(19, 'failed');
    const last = admitted('pending', 'last');
    last.end('unsent');
    last.end('failed');
    last.end('unreachable');
    expect(transitions).toHaveLength(0);
  });
});

test('a window remembers a bounded number of keys, and judges by the newest', () => {
  calls(5000, 'ok');
  calls(499, 'failed');
  expect(breaker.isOpen('pending')).toBe(false);
  calls(1, 'failed', { keys: 'one more' });
  expect(breaker.isOpen('pending')).toBe(true);
});

test('whatever happens, it opens exactly when the last words on the keys of the window say so', () => {
  const call = fc.record({
    waitMs: fc.nat(1500),
    key: fc.nat(40),
    outcome: fc.constantFrom<CallOutcome>('ok', 'failed', 'failed', 'ignored', 'unsent', 'unreachable'),
    operation: fc.constantFrom<Operation>('pending', 'adjacent'),
  });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 150 }), (history) => {
      breaker = newBreaker();
      const lastWords = new Map<string, { at: number; failed: boolean }>();
      for (const { waitMs, key, outcome, operation } of history) {
        now += waitMs;
        admitted(operation, `${key}`).end(outcome);
        const counts = outcome === 'unreachable' || (operation === 'pending' && /^(ok|failed)$/.test(outcome));
        if (counts) lastWords.set(`${key}`, { at: now, failed: outcome !== 'ok' });
        const heard = [...lastWords.values()].filter(({ at }) => now - at < WINDOW_MS);
        const failures = heard.filter(({ failed }) => failed).length;
        const expected = counts && outcome !== 'ok' && heard.length >= 20 && failures >= heard.length / 2;
        expect(breaker.isOpen('pending')).toBe(expected);
        if (breaker.isOpen('pending') || breaker.isOpen('adjacent')) return;
      }
    }),
    { numRuns: 500 },
  );
});

test('whatever happens, an open operation is called by one probe at a time, after its rest and never later', () => {
  const step = fc.record({
    waitMs: fc.nat(6000),
    outcomes: fc.array(fc.constantFrom<CallOutcome>('ok', 'failed', 'ignored', 'unsent', 'unreachable'), {
      maxLength: 3,
    }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      breaker = newBreaker();
      calls(20, 'failed');
      let fresh = 0;
      for (const { waitMs, outcomes } of steps) {
        now += waitMs;
        for (const outcome of outcomes) {
          if (transitions.at(-1)?.state === 'closed') return;
          const restsMs = breaker.retryAfterMs('pending');
          expect(restsMs).toBeLessThanOrEqual(LONGEST_REST_MS);
          const pass = breaker.admit('pending', `fresh ${fresh++}`);
          expect(pass === 'open').toBe(restsMs > 0);
          if (pass === 'open') continue;
          expect(breaker.admit('pending', `fresh ${fresh++}`)).toBe('open');
          pass.end(outcome);
        }
      }
    }),
  );
});
