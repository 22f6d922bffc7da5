import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  AdmissionGate,
  type Permit,
  type PermitRequest,
  type Rejection,
} from '../../../src/admission/admission-gate.ts';
import { fixedLimit } from '../../../src/admission/fixed-limit.ts';
import { WaitQueue } from '../../../src/admission/wait-queue.ts';

const patient = new AbortController().signal;

/** A gate of one kind of request, whose queue is never overloaded. */
function openGate({ maxConcurrency, maxQueue }: { maxConcurrency: number; maxQueue: number }): AdmissionGate {
  const now = () => 0;
  return new AdmissionGate({
    limit: fixedLimit(maxConcurrency),
    shares: {},
    queue: new WaitQueue({ maxWaiting: maxQueue, targetMs: 50, intervalMs: 3_600_000, now }),
    restAfterTimeoutMs: 1000,
    now,
  });
}

const asking = (signal: AbortSignal): PermitRequest => ({ operation: 'any', priority: 'miss', signal });

/** One who asked, and what came of it so far. */
class Asker {
  readonly #patience = new AbortController();
  outcome: Permit | Rejection | undefined;

  constructor(gate: AdmissionGate) {
    void gate.acquire(asking(this.#patience.signal)).then((outcome) => {
      this.outcome = outcome;
    });
  }

  get permit(): Permit | undefined {
    return typeof this.outcome === 'object' ? this.outcome : undefined;
  }

  /** `permit`, a rejection, or undefined while this one waits. */
  get said(): string | undefined {
    return typeof this.outcome === 'object' ? 'permit' : this.outcome;
  }

  leave(): void {
    this.#patience.abort();
  }
}

/** Lets all promises settle that can. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

async function ask(gate: AdmissionGate, count: number): Promise<Asker[]> {
  const askers = Array.from({ length: count }, () => new Asker(gate));
  await settle();
  return askers;
}

const said = (askers: readonly Asker[]) => askers.map((asker) => asker.said);

describe('the bound', () => {
  test('lets so many in at once, so many wait, and turns the others away at once', async () => {
    const gate = openGate({ maxConcurrency: 2, maxQueue: 1 });
    const askers = await ask(gate, 4);
    expect(said(askers)).toEqual(['permit', 'permit', undefined, 'queue-full']);
    expect([gate.inUse, gate.queued]).toEqual([2, 1]);
  });

  test('may be without a queue', async () => {
    const gate = openGate({ maxConcurrency: 1, maxQueue: 0 });
    const [holder, ...others] = await ask(gate, 3);
    expect(said(others)).toEqual(['queue-full', 'queue-full']);
    holder?.permit?.end('ignored');
    expect(said(await ask(gate, 1))).toEqual(['permit']);
  });

  test('gives no permit twice for one that is released twice', async () => {
    const gate = openGate({ maxConcurrency: 1, maxQueue: 5 });
    const [holder, second, third] = await ask(gate, 3);
    holder?.permit?.end('ignored');
    holder?.permit?.end('ignored');
    await settle();
    expect([second?.said, third?.said, gate.inUse]).toEqual(['permit', undefined, 1]);
  });
});

describe('a freed permit', () => {
  test('goes to who has waited longest, before anyone who comes at that moment', async () => {
    const gate = openGate({ maxConcurrency: 1, maxQueue: 5 });
    const [holder, first, second] = await ask(gate, 3);
    holder?.permit?.end('ignored');
    const newcomer = new Asker(gate);
    await settle();
    expect([first?.said, second?.said, newcomer.said]).toEqual(['permit', undefined, undefined]);
    first?.permit?.end('ignored');
    await settle();
    expect([second?.said, newcomer.said]).toEqual(['permit', undefined]);
  });

  test('passes over who has left', async () => {
    const gate = openGate({ maxConcurrency: 1, maxQueue: 5 });
    const [holder, first, second] = await ask(gate, 3);
    first?.leave();
    await settle();
    expect([first?.said, gate.queued]).toEqual(['abandoned', 1]);
    holder?.permit?.end('ignored');
    await settle();
    expect(second?.said).toBe('permit');
  });

  test('is not lost when its waiter leaves just after it was handed over', async () => {
    const gate = openGate({ maxConcurrency: 1, maxQueue: 5 });
    const [holder, waiter] = await ask(gate, 2);
    holder?.permit?.end('ignored');
    waiter?.leave();
    await settle();
    waiter?.permit?.end('ignored');
    await settle();
    expect(gate.inUse).toBe(0);
  });

  test('is free again when nobody waits', async () => {
    const gate = openGate({ maxConcurrency: 1, maxQueue: 5 });
    const [holder] = await ask(gate, 1);
    holder?.permit?.end('ignored');
    expect(gate.inUse).toBe(0);
    expect(said(await ask(gate, 1))).toEqual(['permit']);
  });
});

test('no listener stays behind on the signal of one who was let in', async () => {
  const gate = openGate({ maxConcurrency: 1, maxQueue: 5 });
  const [holder] = await ask(gate, 1);
  const signal = new AbortController().signal;
  const added = vi.spyOn(signal, 'addEventListener');
  const removed = vi.spyOn(signal, 'removeEventListener');
  const waiting = gate.acquire(asking(signal));
  holder?.permit?.end('ignored');
  await waiting;
  expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
});

test('who had left before asking gets no permit and no place in the queue', async () => {
  const gate = openGate({ maxConcurrency: 1, maxQueue: 5 });
  expect(await gate.acquire(asking(AbortSignal.abort()))).toBe('abandoned');
  await gate.acquire(asking(patient));
  expect(await gate.acquire(asking(AbortSignal.abort()))).toBe('abandoned');
  expect([gate.inUse, gate.queued]).toEqual([1, 0]);
});

type Step =
  | { readonly kind: 'ask' }
  | { readonly kind: 'leave' | 'release' | 'release again'; readonly who: number }
  | { readonly kind: 'settle' };

const who = fc.nat({ max: 40 });
const aStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'ask' } as const) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('leave', 'release', 'release again'), who }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'settle' } as const) },
);

/** The queue as a list, one entry an asker: what the gate has to do, without promises. */
class Model {
  readonly said: (string | undefined)[] = [];
  readonly holders = new Set<number>();
  readonly waiting: number[] = [];
  readonly #maxConcurrency: number;
  readonly #maxQueue: number;

  constructor(maxConcurrency: number, maxQueue: number) {
    this.#maxConcurrency = maxConcurrency;
    this.#maxQueue = maxQueue;
  }

  ask(): void {
    const asker = this.said.push(undefined) - 1;
    if (this.holders.size < this.#maxConcurrency) this.#admit(asker);
    else if (this.waiting.length < this.#maxQueue) this.waiting.push(asker);
    else this.said[asker] = 'queue-full';
  }

  leave(asker: number): void {
    const place = this.waiting.indexOf(asker);
    if (place < 0) return;
    this.waiting.splice(place, 1);
    this.said[asker] = 'abandoned';
  }

  release(asker: number): void {
    if (!this.holders.delete(asker)) return;
    const next = this.waiting.shift();
    if (next !== undefined) this.#admit(next);
  }

  #admit(asker: number): void {
    this.holders.add(asker);
    this.said[asker] = 'permit';
  }
}

test('permits never exceed the bound, go out in the order of asking whoever leaves, and none is lost', async () => {
  const bounds = fc.record({ maxConcurrency: fc.integer({ min: 1, max: 4 }), maxQueue: fc.nat({ max: 6 }) });
  await fc.assert(
    fc.asyncProperty(
      bounds,
      fc.array(aStep, { maxLength: 80, size: 'max' }),
      async ({ maxConcurrency, maxQueue }, steps) => {
        const gate = openGate({ maxConcurrency, maxQueue });
        const model = new Model(maxConcurrency, maxQueue);
        const askers: Asker[] = [];
        for (const step of steps) {
          if (step.kind === 'ask') {
            askers.push(new Asker(gate));
            model.ask();
          } else if (step.kind === 'settle') {
            await settle();
            expect(said(askers)).toEqual(model.said);
          } else if (askers.length > 0) {
            const chosen = step.who % askers.length;
            const asker = askers[chosen];
            if (step.kind === 'leave') {
              asker?.leave();
              model.leave(chosen);
            } else if (asker?.permit !== undefined) {
              asker.permit.end('ignored');
              if (step.kind === 'release again') asker.permit.end('ignored');
              model.release(chosen);
            }
          }
          expect(gate.inUse).toBe(model.holders.size);
          expect(gate.queued).toBe(model.waiting.length);
          expect(gate.inUse).toBeLessThanOrEqual(maxConcurrency);
        }
        // With every permit given back everyone has had a turn, and the gate is as new.
        for (let turn = 0; turn <= askers.length; turn++) {
          await settle();
          for (const asker of askers) asker.permit?.end('ignored');
        }
        expect(said(askers)).not.toContain(undefined);
        expect([gate.inUse, gate.queued]).toEqual([0, 0]);
      },
    ),
    { numRuns: 200 },
  );
});
