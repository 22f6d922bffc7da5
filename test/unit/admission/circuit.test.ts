import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Circuit } from '../../../src/admission/circuit.ts';

const TRIAL_LOST_AFTER_MS = 6 * 60_000;

let now = 0;
let circuit: Circuit;

beforeEach(() => {
  now = 0;
  circuit = new Circuit(() => now);
});

const state = () => [circuit.isClosed, circuit.isOpen, circuit.retryAfterMs];

test('a closed circuit admits everything', () => {
  expect(state()).toEqual([true, false, 0]);
  expect(Array.from({ length: 100 }, () => circuit.admit())).toEqual(Array(100).fill('closed'));
});

describe('an open circuit', () => {
  beforeEach(() => circuit.open(1000));

  test('admits nothing until its time is over', () => {
    now = 999;
    expect(state()).toEqual([false, true, 1]);
    expect(circuit.admit()).toBe('open');
    now = 1000;
    expect(state()).toEqual([false, false, 0]);
  });

  test('is half-open after that: it admits one trial, and nothing else until that ends', () => {
    now = 1000;
    expect([circuit.admit(), circuit.admit(), circuit.admit()]).toEqual(['trial', 'open', 'open']);
    expect(state()).toEqual([false, true, 0]);
  });

  test('admits one trial when no request came for an hour', () => {
    now = 3_600_000;
    expect([circuit.admit(), circuit.admit()]).toEqual(['trial', 'open']);
  });

  test('can be opened for longer, but not for less', () => {
    now = 500;
    circuit.open(100);
    expect(circuit.retryAfterMs).toBe(500);
    circuit.open(2000);
    expect(circuit.retryAfterMs).toBe(2000);
  });

  test('starts anew once it is closed', () => {
    circuit.open(50_000);
    circuit.close();
    expect(state()).toEqual([true, false, 0]);
    circuit.open(10);
    expect(circuit.retryAfterMs).toBe(10);
  });
});

describe('a trial', () => {
  beforeEach(() => {
    circuit.open(1000);
    now = 1000;
    circuit.admit();
  });

  test('closes the circuit', () => {
    circuit.close();
    expect([circuit.admit(), circuit.admit()]).toEqual(['closed', 'closed']);
  });

  test('opens it again when it fails, and then another is admitted', () => {
    circuit.forgetTrial();
    circuit.open(2000);
    expect([circuit.admit(), circuit.retryAfterMs]).toEqual(['open', 2000]);
    now = 3000;
    expect([circuit.admit(), circuit.admit()]).toEqual(['trial', 'open']);
  });

  test('stays the only one when an earlier request opens the circuit for longer', () => {
    circuit.open(2000);
    now = 3000;
    expect([circuit.admit(), circuit.retryAfterMs]).toEqual(['open', 0]);
    circuit.forgetTrial();
    expect(circuit.admit()).toBe('trial');
  });

  test('that is given up lets the next request be the trial at once', () => {
    circuit.forgetTrial();
    expect([circuit.isOpen, circuit.admit(), circuit.admit()]).toEqual([false, 'trial', 'open']);
  });

  test('that never ends does not keep the circuit open for ever', () => {
    now += TRIAL_LOST_AFTER_MS - 1;
    expect(circuit.admit()).toBe('open');
    now += 1;
    expect([circuit.admit(), circuit.admit()]).toEqual(['trial', 'open']);
  });
});

test('whatever happens, there is at most one trial, none while open, and the circuit is never open for longer than set', () => {
  const step = fc.record({
    act: fc.constantFrom('admit', 'admit', 'admit', 'open', 'close', 'forgetTrial'),
    waitMs: fc.nat(3000),
    openMs: fc.nat(5000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      now = 0;
      circuit = new Circuit(() => now);
      let until: number | undefined;
      let trialAt: number | undefined;
      for (const { act, waitMs, openMs } of steps) {
        now += waitMs;
        if (trialAt !== undefined && now - trialAt >= TRIAL_LOST_AFTER_MS) trialAt = undefined;
        const expected = until === undefined ? 'closed' : now < until || trialAt !== undefined ? 'open' : 'trial';
        expect(state()).toEqual([
          until === undefined,
          expected === 'open',
          until === undefined ? 0 : Math.max(0, until - now),
        ]);
        if (act === 'admit') {
          expect(circuit.admit()).toBe(expected);
          if (expected === 'trial') trialAt = now;
          continue;
        }
        if (act !== 'open') trialAt = undefined;
        if (act === 'open') {
          circuit.open(openMs);
          until = Math.max(until ?? 0, now + openMs);
        } else {
          circuit[act]();
          if (act === 'close') until = undefined;
        }
      }
    }),
  );
});
