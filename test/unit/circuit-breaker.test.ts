import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type CallResult,
  CircuitBreaker,
  type CircuitTransition,
  type EndCall,
  FailuresInARow,
} from '../../src/circuit-breaker.ts';

const FAILURES = 3;
const OPEN_MS = 1000;

let now: number;
let transitions: CircuitTransition[];
let breaker: CircuitBreaker;

function newBreaker(): CircuitBreaker {
  now = 0;
  transitions = [];
  return new CircuitBreaker({
    now: () => now,
    failures: new FailuresInARow(FAILURES),
    openMs: (failedTrials, retryAfterMs) => Math.max(retryAfterMs, OPEN_MS * 2 ** failedTrials),
    onTransition: (transition) => transitions.push(transition),
  });
}

beforeEach(() => {
  breaker = newBreaker();
});

function admitted(): EndCall {
  const end = breaker.admit();
  if (end === undefined) throw new Error('the circuit breaker is open');
  return end;
}

function open(): void {
  for (let call = 0; call < FAILURES; call++) admitted()('failure');
}

/** Waits until a trial may begin, begins it, and expects that no other call is admitted. */
function trial(): EndCall {
  now += breaker.retryAfterMs;
  const end = admitted();
  expect([breaker.admit(), breaker.isOpen]).toEqual([undefined, true]);
  return end;
}

describe('an open circuit breaker', () => {
  test('allows a trial immediately after tryNow()', () => {
    open();
    breaker.tryNow();
    expect([breaker.isOpen, breaker.retryAfterMs]).toEqual([false, 0]);
    trial();
  });

  test('is neither closed nor opened for longer by calls that began before it opened', () => {
    const early = Array.from({ length: 5 }, admitted);
    open();
    now = OPEN_MS - 1;
    for (const [index, end] of early.slice(1).entries()) end(index < 2 ? 'success' : 'failure');
    expect([transitions.length, breaker.retryAfterMs]).toEqual([1, 1]);
    trial();
    early[0]?.('success');
    expect(breaker.admit()).toBeUndefined();
  });

  test('stays open for the Retry-After of a call that began before it opened', () => {
    const early = admitted();
    open();
    early('failure', 5000);
    expect(breaker.retryAfterMs).toBe(5000);
  });
});

test('for any results of calls, a circuit breaker stays open for its open time and then admits one trial at a time', () => {
  const step = fc.record({
    afterMs: fc.nat(2 * OPEN_MS),
    result: fc.constantFrom<CallResult>('success', 'failure', 'failure', 'unknown'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      breaker = newBreaker();
      let [failures, trials] = [0, 0];
      let openUntil: number | undefined;
      for (const { afterMs, result } of steps) {
        now += afterMs;
        const end = breaker.admit();
        expect(end === undefined).toBe(openUntil !== undefined && now < openUntil);
        if (end === undefined) continue;
        if (openUntil !== undefined) expect(breaker.admit()).toBeUndefined();
        end(result);
        if (result === 'unknown') continue;
        failures = result === 'failure' ? failures + 1 : 0;
        trials = openUntil !== undefined && result === 'failure' ? trials + 1 : 0;
        openUntil = failures >= FAILURES ? now + OPEN_MS * 2 ** trials : undefined;
      }
    }),
  );
});

describe('a breaker is', () => {
  test('half-open when the next call would be its trial, and open again while the trial is under way', () => {
    expect(breaker.state).toBe('closed');
    open();
    expect(breaker.state).toBe('open');
    now += OPEN_MS;
    expect(breaker.state).toBe('half-open');
    const end = admitted();
    expect(breaker.state).toBe('open');
    end('success');
    expect(breaker.state).toBe('closed');
  });

  test('failing while it is open, and while it is half-open and nothing was answered since it opened', () => {
    expect([breaker.isFailing, breaker.answered()]).toEqual([false, false]);
    open();
    expect(breaker.isFailing).toBe(true);
    now += OPEN_MS;
    expect(breaker.isFailing).toBe(true);
    expect([breaker.answered(), breaker.answered()]).toEqual([true, false]);
    expect([breaker.state, breaker.isFailing]).toEqual(['half-open', false]);
    admitted()('failure');
    now += 2 * OPEN_MS;
    expect([breaker.state, breaker.isFailing]).toEqual(['half-open', true]);
  });
});
