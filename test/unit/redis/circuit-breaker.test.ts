import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { CircuitBreaker, type CircuitTransition } from '../../../src/redis/circuit-breaker.ts';

const FAILURES = 3;
const OPEN_MS = 1000;

let now: number;
let begun: number;
let transitions: CircuitTransition[];
let breaker: CircuitBreaker;

beforeEach(() => {
  now = 0;
  begun = 0;
  transitions = [];
  breaker = new CircuitBreaker(
    { now: () => now, onTransition: (transition) => transitions.push(transition) },
    { failuresToOpen: FAILURES, openMs: OPEN_MS },
  );
});

const lost = new Error('lost');

function run(outcome: 'fails' | 'succeeds' | Promise<unknown>): Promise<unknown> {
  return breaker.run(async () => {
    begun++;
    if (outcome === 'fails') throw lost;
    return outcome === 'succeeds' ? 'value' : outcome;
  });
}

async function open(): Promise<void> {
  for (let call = 0; call < FAILURES; call++) await run('fails');
}

describe('closed', () => {
  test('it returns the result of the work, and "failed" when the work throws or rejects', async () => {
    expect(await run('succeeds')).toBe('value');
    expect(await run('fails')).toBe('failed');
    const thrown = breaker.run(() => {
      throw lost;
    });
    expect(await thrown).toBe('failed');
  });

  test('it opens once after the configured number of failures in a row, with the last error', async () => {
    await open();
    expect(transitions).toEqual([{ state: 'open', error: lost }]);
    expect(await run('succeeds')).toBe('rejected');
    expect(begun).toBe(FAILURES);
  });

  test('calls in flight when it opened change nothing when they end', async () => {
    const [first, second] = [Promise.withResolvers(), Promise.withResolvers()];
    const late = [run(first.promise), run(second.promise)];
    await open();
    first.resolve('late');
    second.reject(lost);
    expect(await Promise.all(late)).toEqual(['late', 'failed']);
    expect(await run('succeeds')).toBe('rejected');
    expect(transitions).toHaveLength(1);
  });
});

describe('open', () => {
  test('it rejects all calls for the open duration, then all but one trial', async () => {
    await open();
    now += OPEN_MS - 1;
    expect(await run('succeeds')).toBe('rejected');
    now += 1;
    const trial = Promise.withResolvers();
    const tried = run(trial.promise);
    now += 100 * OPEN_MS;
    expect(await run('succeeds')).toBe('rejected');
    trial.resolve('value');
    expect(await tried).toBe('value');
    expect(transitions.map(({ state }) => state)).toEqual(['open', 'closed']);
    expect(await run('succeeds')).toBe('value');
  });
});

test('whatever fails when, at most one call starts per open duration, and one success closes it', async () => {
  const step = fc.record({ fails: fc.boolean(), afterMs: fc.integer({ min: 0, max: 2 * OPEN_MS }) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      let failures = 0;
      let openUntil: number | undefined;
      const model = new CircuitBreaker(
        { now: () => now, onTransition: () => {} },
        { failuresToOpen: FAILURES, openMs: OPEN_MS },
      );
      for (const { fails, afterMs } of steps) {
        now += afterMs;
        const outcome = await model.run(async () => {
          if (fails) throw lost;
          return 'value';
        });
        if (openUntil !== undefined && now < openUntil) {
          expect(outcome).toBe('rejected');
          continue;
        }
        expect(outcome).toBe(fails ? 'failed' : 'value');
        failures = fails ? failures + 1 : 0;
        openUntil = failures >= FAILURES ? now + OPEN_MS : undefined;
      }
    }),
  );
});
