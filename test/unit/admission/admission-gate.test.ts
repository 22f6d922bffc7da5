import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AdmissionGate,
  type Limit,
  type Permit,
  type PermitRequest,
  type Rejection,
} from '../../../src/admission/admission-gate.ts';
import { fixedLimit } from '../../../src/admission/fixed-limit.ts';
import { type Priority, WaitQueue } from '../../../src/admission/wait-queue.ts';

const patient = new AbortController().signal;

/** A gate of one kind of request, whose queue is never overloaded. */
function openGate({ maxConcurrency, maxQueue }: { maxConcurrency: number; maxQueue: number }): AdmissionGate {
  const now = () => 0;
  return new AdmissionGate({
    limit: fixedLimit(maxConcurrency),
    shares: {},
    caps: {},
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

/** A limit that is what the test says, and keeps what it was told. */
class SetLimit implements Limit {
  limit: number;
  readonly told: unknown[] = [];
  /** What an answer makes of the limit. */
  afterAnswer: number | undefined;

  constructor(limit: number) {
    this.limit = limit;
  }

  onAnswer(answered: Parameters<Limit['onAnswer']>[0]): void {
    this.told.push(answered);
    this.limit = this.afterAnswer ?? this.limit;
  }

  onFailure(failed: Parameters<Limit['onFailure']>[0]): void {
    this.told.push(failed);
  }

  onHeard(at: number): void {
    this.told.push({ heardAt: at });
  }
}

const SHARES = { pending: 0.4, adjacent: 0.3, shards: 0.2 };
const REST_MS = 1000;

/** A gate with shares, on the fake clock. */
function openSharedGate(limit: Limit, maxWaiting = 100, caps: Readonly<Record<string, number>> = {}): AdmissionGate {
  const now = () => Date.now();
  const queue = new WaitQueue({ maxWaiting, targetMs: 50, intervalMs: 3_600_000, now });
  return new AdmissionGate({ limit, shares: SHARES, caps, queue, restAfterTimeoutMs: REST_MS, now });
}

/** Those who were let in, by operation, in the order of that. */
class Admitted {
  readonly #gate: AdmissionGate;
  readonly order: string[] = [];
  readonly permits: { operation: string; permit: Permit }[] = [];
  readonly rejections: { operation: string; rejection: Rejection }[] = [];

  constructor(gate: AdmissionGate) {
    this.#gate = gate;
  }

  async ask(operation: string, count = 1, priority: Priority = 'miss'): Promise<void> {
    for (let time = 0; time < count; time++) {
      vi.advanceTimersByTime(1);
      void this.#gate.acquire({ operation, priority, signal: patient }).then((outcome) => {
        if (typeof outcome === 'string') this.rejections.push({ operation, rejection: outcome });
        else {
          this.order.push(operation);
          this.permits.push({ operation, permit: outcome });
        }
      });
      await vi.advanceTimersByTimeAsync(0);
    }
  }

  /** Ends the permits of so many of an operation, one after the other. */
  async end(operation: string, count = 1, outcome: Parameters<Permit['end']>[0] = 'answered'): Promise<void> {
    for (let time = 0; time < count; time++) {
      const place = this.permits.findIndex((holder) => holder.operation === operation);
      const [holder] = this.permits.splice(place, place < 0 ? 0 : 1);
      if (holder === undefined) throw new Error(`${operation} holds no permit`);
      holder.permit.end(outcome);
      await vi.advanceTimersByTimeAsync(0);
    }
  }

  count(operation: string): number {
    return this.permits.filter((holder) => holder.operation === operation).length;
  }
}

describe('on the fake clock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  describe('a share', () => {
    test('that is idle is lent: one operation may have every permit', async () => {
      const admitted = new Admitted(openSharedGate(new SetLimit(10)));
      await admitted.ask('shards', 12);
      expect(admitted.count('shards')).toBe(10);
    });

    test('comes back with the next permits, whoever waited before, until it is whole', async () => {
      const admitted = new Admitted(openSharedGate(new SetLimit(10)));
      await admitted.ask('shards', 30);
      await admitted.ask('pending', 10);
      await admitted.ask('adjacent', 10);
      await admitted.end('shards', 7);
      expect([admitted.count('pending'), admitted.count('adjacent'), admitted.count('shards')]).toEqual([4, 3, 3]);
      // From here on nobody is under a share, and the oldest is next.
      await admitted.end('shards');
      expect(admitted.order.at(-1)).toBe('shards');
    });

    test('is kept by an operation at its share, however long the queues of the others', async () => {
      const admitted = new Admitted(openSharedGate(new SetLimit(10)));
      for (const operation of Object.keys(SHARES)) await admitted.ask(operation, 20);
      for (let turn = 0; turn < 10; turn++) {
        const [holder] = admitted.permits;
        await admitted.end(holder?.operation ?? '');
        // The tenth is nobody's share.
        if (turn < 6) continue;
        expect(admitted.count('pending')).toBeGreaterThanOrEqual(4);
        expect(admitted.count('adjacent')).toBeGreaterThanOrEqual(3);
        expect(admitted.count('shards')).toBeGreaterThanOrEqual(2);
      }
    });

    test('is not for an operation that has none, and that one is served all the same', async () => {
      const admitted = new Admitted(openSharedGate(new SetLimit(2)));
      await admitted.ask('pending', 2);
      await admitted.ask('other');
      await admitted.end('pending');
      expect(admitted.order.at(-1)).toBe('other');
    });

    test('is of use to an operation that comes when others have filled the queue', async () => {
      const admitted = new Admitted(openSharedGate(new SetLimit(10), 5));
      await admitted.ask('shards', 15);
      await admitted.ask('pending');
      expect(admitted.rejections.map(({ operation }) => operation)).not.toContain('pending');
      await admitted.end('shards');
      expect(admitted.order.at(-1)).toBe('pending');
    });

    test.each([1, 2])('of less than a permit, of %s, is a turn, however long the queue of another', async (limit) => {
      const admitted = new Admitted(openSharedGate(new SetLimit(limit)));
      await admitted.ask('shards', 20);
      await admitted.ask('pending', 2);
      await admitted.ask('adjacent', 1);
      for (let turn = 0; turn < 6; turn++) {
        const [holder] = admitted.permits;
        await admitted.end(holder?.operation ?? '');
      }
      const turns = admitted.order.slice(limit);
      expect(turns.filter((operation) => operation === 'shards')).toHaveLength(3);
      expect(turns.toSorted().slice(0, 3)).toEqual(['adjacent', 'pending', 'pending']);
    });

    test('counts again from a permit that was given back', async () => {
      const admitted = new Admitted(openSharedGate(new SetLimit(5)));
      await admitted.ask('pending', 2);
      await admitted.ask('other', 3);
      await admitted.ask('other');
      await admitted.ask('pending');
      await admitted.end('pending');
      expect(admitted.order.at(-1)).toBe('pending');
    });
  });

  describe('a cap', () => {
    test('keeps an operation waiting though permits are free, and nobody else', async () => {
      const gate = openSharedGate(new SetLimit(10), 100, { capped: 0.5 });
      const admitted = new Admitted(gate);
      await admitted.ask('capped', 7);
      await admitted.ask('any', 2);
      expect([admitted.count('capped'), admitted.count('any'), gate.queued]).toEqual([5, 2, 2]);
      await admitted.end('any', 2);
      expect([admitted.count('capped'), gate.queued]).toEqual([5, 2]);
      await admitted.end('capped');
      expect([admitted.count('capped'), gate.queued]).toEqual([5, 1]);
    });

    test('lets those behind go first who have none, and leaves one permit where it comes to less', async () => {
      const admitted = new Admitted(openSharedGate(new SetLimit(2), 100, { capped: 0.1 }));
      await admitted.ask('capped', 3);
      await admitted.ask('any', 2);
      await admitted.end('any');
      expect(admitted.order).toEqual(['capped', 'any', 'any']);
      await admitted.end('capped');
      expect(admitted.order.at(-1)).toBe('capped');
    });
  });

  test('a freed permit goes to the most worth among those who wait', async () => {
    const admitted = new Admitted(openSharedGate(new SetLimit(1)));
    await admitted.ask('holder');
    await admitted.ask('a refresh', 1, 'refresh');
    await admitted.ask('a miss with a copy', 1, 'miss-with-fallback');
    await admitted.ask('a miss', 1, 'miss');
    for (const operation of ['holder', 'a miss', 'a miss with a copy', 'a refresh']) await admitted.end(operation);
    expect(admitted.order).toEqual(['holder', 'a miss', 'a miss with a copy', 'a refresh']);
  });

  describe('the permit of a request that timed out', () => {
    test('rests, though somebody waits for it, and is handed on when it has', async () => {
      const gate = openSharedGate(new SetLimit(1));
      const admitted = new Admitted(gate);
      await admitted.ask('first');
      await admitted.ask('second');
      await admitted.end('first', 1, 'timed-out');
      await vi.advanceTimersByTimeAsync(REST_MS - 1);
      expect([admitted.order, gate.inUse, gate.queued]).toEqual([['first'], 1, 1]);
      await vi.advanceTimersByTimeAsync(1);
      expect([admitted.order, gate.inUse, gate.queued]).toEqual([['first', 'second'], 1, 0]);
    });

    test('is free after its rest when nobody waits', async () => {
      const gate = openSharedGate(new SetLimit(1));
      const admitted = new Admitted(gate);
      await admitted.ask('first');
      await admitted.end('first', 1, 'timed-out');
      expect(gate.inUse).toBe(1);
      await vi.advanceTimersByTimeAsync(REST_MS);
      expect(gate.inUse).toBe(0);
    });

    test.each(['answered', 'failed', 'ignored'] as const)('rests alone: one that %s does not', async (outcome) => {
      const gate = openSharedGate(new SetLimit(1));
      const admitted = new Admitted(gate);
      await admitted.ask('first');
      await admitted.end('first', 1, outcome);
      expect(gate.inUse).toBe(0);
    });
  });

  describe('a limit', () => {
    test('below what is out takes nothing back, and hands nothing on until it is kept again', async () => {
      const limit = new SetLimit(5);
      const gate = openSharedGate(limit);
      const admitted = new Admitted(gate);
      await admitted.ask('any', 8);
      limit.limit = 2;
      await admitted.end('any', 3);
      expect([gate.inUse, gate.queued]).toEqual([2, 3]);
      await admitted.end('any');
      expect([gate.inUse, gate.queued]).toEqual([2, 2]);
    });

    test('that an answer makes grow by several hands several on at once', async () => {
      const limit = new SetLimit(2);
      const gate = openSharedGate(limit);
      const admitted = new Admitted(gate);
      await admitted.ask('any', 10);
      limit.afterAnswer = 6;
      await admitted.end('any');
      expect([gate.inUse, gate.queued]).toEqual([6, 3]);
    });

    test('learns what an answer took since it was sent, not since its permit was given', async () => {
      const limit = new SetLimit(2);
      const gate = openSharedGate(limit);
      const admitted = new Admitted(gate);
      await admitted.ask('any');
      vi.advanceTimersByTime(500);
      admitted.permits[0]?.permit.sent();
      vi.advanceTimersByTime(30);
      await admitted.end('any');
      expect(limit.told).toEqual([{ operation: 'any', latencyMs: 30, inFlight: 1, at: Date.now() }]);
    });

    test('learns of each failure once, and nothing of what tells nothing', async () => {
      const limit = new SetLimit(3);
      const admitted = new Admitted(openSharedGate(limit));
      await admitted.ask('any', 3);
      for (const { permit } of admitted.permits.slice(0, 1)) permit.end('ignored');
      for (const { permit } of admitted.permits.slice(0, 1)) permit.end('failed');
      for (const outcome of ['failed', 'answered'] as const) admitted.permits[1]?.permit.end(outcome);
      admitted.permits[2]?.permit.end('timed-out');
      await vi.advanceTimersByTimeAsync(REST_MS);
      expect(limit.told).toMatchObject([{ kind: 'error' }, { kind: 'timeout' }]);
    });

    test('learns that the indexer is there from an answer that tells nothing else', async () => {
      const limit = new SetLimit(3);
      const admitted = new Admitted(openSharedGate(limit));
      await admitted.ask('any');
      admitted.permits[0]?.permit.end('heard');
      expect(limit.told).toEqual([{ heardAt: Date.now() }]);
    });
  });
});
