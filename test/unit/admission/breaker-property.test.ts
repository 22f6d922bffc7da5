import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Breaker, type BreakerTransition } from '../../../src/admission/breaker.ts';
import type { Outcome } from '../../../src/admission/outcome.ts';

const WINDOW_MS = 10_000;
const LONGEST_OPEN_MS = 30_000;
const FAILURES: readonly Outcome[] = ['server-error', 'timeout', 'unreachable'];
const OUTCOMES: readonly Outcome[] = [
  ...FAILURES,
  'answered',
  'answered',
  'client-error',
  'rate-limited',
  'abandoned',
  'unsent',
];

let now = 0;
let transitions: BreakerTransition[] = [];

function newBreaker(): Breaker {
  now = 0;
  transitions = [];
  const options = {
    failureRate: 0.5,
    minimumThroughput: 20,
    windowMs: WINDOW_MS,
    openMs: 2000,
    longestOpenMs: LONGEST_OPEN_MS,
  };
  return new Breaker(
    { now: () => now, random: () => 0, onTransition: (transition) => transitions.push(transition) },
    options,
  );
}

test('whatever happens, a breaker opens exactly when the latest results of the keys in the window say so', () => {
  const request = fc.record({ waitMs: fc.nat(1500), key: fc.nat(40), outcome: fc.constantFrom(...OUTCOMES) });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 150, size: 'max' }), (history) => {
      const breaker = newBreaker();
      const lastWords = new Map<number, { at: number; failed: boolean }>();
      for (const { waitMs, key, outcome } of history) {
        now += waitMs;
        breaker.admit(`${key}`)?.end(outcome);
        const failed = FAILURES.includes(outcome);
        if (failed || outcome === 'answered') lastWords.set(key, { at: now, failed });
        const heard = [...lastWords.values()].filter(({ at }) => now - at < WINDOW_MS);
        const failures = heard.filter((each) => each.failed).length;
        expect(breaker.isOpen).toBe(failed && heard.length >= 20 && failures >= heard.length / 2);
        if (breaker.isOpen) return;
      }
    }),
    { numRuns: 300 },
  );
});

test('whatever happens, an open breaker sends one trial at a time, as soon as the open duration is over', () => {
  const step = fc.record({ waitMs: fc.nat(6000), outcomes: fc.array(fc.constantFrom(...OUTCOMES), { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const breaker = newBreaker();
      for (let n = 0; n < 20; n++) breaker.admit(`failed ${n}`)?.end('timeout');
      let fresh = 0;
      for (const { waitMs, outcomes } of steps) {
        now += waitMs;
        for (const outcome of outcomes) {
          if (transitions.at(-1)?.state === 'closed') return;
          const { retryAfterMs } = breaker;
          expect(retryAfterMs).toBeLessThanOrEqual(LONGEST_OPEN_MS);
          const pass = breaker.admit(`fresh ${fresh++}`);
          expect(pass === undefined).toBe(retryAfterMs > 0);
          if (pass === undefined) continue;
          expect(breaker.admit(`fresh ${fresh++}`)).toBeUndefined();
          pass.end(outcome);
        }
      }
    }),
  );
});
