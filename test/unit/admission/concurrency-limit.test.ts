import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConcurrencyLimit } from '../../../src/admission/concurrency-limit.ts';
import { type SimulatedOperation, SimulatedOverload, type Stretch } from '../../support/simulated-overload.ts';
import { exponential, heavyTailed, type ServiceTime, uniform } from '../../support/simulated-upstream.ts';

const SERVICE_MS = 50;
const someJitter = uniform(SERVICE_MS, 0.3);
const limit = { initial: 20, min: 1, max: 400 };

const one = (serviceTime: ServiceTime): SimulatedOperation => ({ operation: 'adjacent', share: 1, serviceTime });

/** Answers a second of so many workers. */
const capacity = (workers: number, serviceMs = SERVICE_MS) => (workers * 1000) / serviceMs;

/** Near all of the capacity is used, and upstream is not pushed over. */
function expectSteady(stretch: Stretch, workers: number, serviceMs = SERVICE_MS): void {
  expect(stretch.goodput).toBeGreaterThan(0.9 * capacity(workers, serviceMs));
  expect(stretch.meanInHand).toBeLessThan(1.6 * workers);
  expect(stretch.highestInHand).toBeLessThanOrEqual(2 * workers);
}

describe('the concurrency limit before an upstream that only gets slower', () => {
  describe.each([5, 20, 60])('of %d workers', (workers) => {
    it.each([
      { overload: 2, initial: 20 },
      { overload: 5, initial: 20 },
      { overload: 2, initial: 64 },
      { overload: 5, initial: 64 },
    ])('settles near their number at $overload times the capacity, begun at $initial', ({ overload, initial }) => {
      const world = new SimulatedOverload({ limit: { ...limit, initial }, workers, operations: [one(someJitter)] });
      world.arrive(overload * capacity(workers));
      world.run(8000);
      expectSteady(world.run(30_000), workers);
    });

    it('settles as well where clients ask again as soon as they are answered', () => {
      const world = new SimulatedOverload({ limit, workers, operations: [one(someJitter)] });
      world.addClients(5 * workers);
      world.run(8000);
      expectSteady(world.run(30_000), workers);
    });

    it('does not run to its maximum on a service time without any jitter', () => {
      const world = new SimulatedOverload({ limit, workers, operations: [one(uniform(SERVICE_MS, 0))] });
      world.arrive(5 * capacity(workers));
      world.run(8000);
      expectSteady(world.run(60_000), workers);
    });

    it('finds the latency without a queue though it has never seen upstream without one', () => {
      const world = new SimulatedOverload({
        limit: { ...limit, initial: 64 },
        workers,
        operations: [one(someJitter)],
      });
      // Another's backlog, as a restarted proxy finds it: two seconds of work.
      for (let n = 0; n < 2 * capacity(workers); n++) {
        world.upstream.submit(
          () => SERVICE_MS,
          () => {},
        );
      }
      world.arrive(3 * capacity(workers));
      world.run(12_000);
      expectSteady(world.run(20_000), workers);
    });

    it('follows half of the workers, and twice the workers, within three seconds', () => {
      const world = new SimulatedOverload({ limit, workers: 2 * workers, operations: [one(someJitter)] });
      world.arrive(4 * capacity(workers));
      world.run(20_000);
      world.upstream.workers = workers;
      world.run(3000);
      expectSteady(world.run(7000), workers);
      world.upstream.workers = 2 * workers;
      world.run(3000);
      expectSteady(world.run(7000), 2 * workers);
    });

    it('comes back within three seconds after a minute in which nothing was answered', () => {
      const world = new SimulatedOverload({ limit, workers, operations: [one(someJitter)] });
      world.arrive(2 * capacity(workers));
      world.run(20_000);
      world.upstream.hangs = true;
      world.run(60_000);
      world.upstream.hangs = false;
      world.run(3000);
      expectSteady(world.run(10_000), workers);
    });

    it('comes back after ten seconds in which nothing was answered', () => {
      const world = new SimulatedOverload({ limit, workers, operations: [one(someJitter)] });
      world.arrive(2 * capacity(workers));
      const before = world.run(20_000);
      world.upstream.hangs = true;
      const outage = world.run(10_000);
      expect(outage.lowestLimit).toBeLessThan(0.2 * before.highestLimit);
      expect(outage.highestInHand).toBeLessThanOrEqual(2 * workers);
      world.upstream.hangs = false;
      world.run(3000);
      expectSteady(world.run(10_000), workers);
    });
  });

  it.each(['a', 'b', 'c', 'd', 'e', 'f'])(
    'serves half of the capacity whole three seconds after all was slow for a moment under overload (%s)',
    (seed) => {
      for (const slowdown of [4, 8]) {
        const workers = 20;
        const operation = one(someJitter);
        const world = new SimulatedOverload({ limit: { ...limit, max: 64 }, workers, operations: [operation], seed });
        world.arrive(5 * capacity(workers));
        world.run(8000);
        operation.serviceTime = uniform(slowdown * SERVICE_MS, 0.3);
        expect(world.run(1500).lowestLimit).toBeLessThan(workers);
        operation.serviceTime = someJitter;
        world.arrive(0.5 * capacity(workers));
        world.run(3000);
        expect(world.run(3000).goodput).toBeGreaterThan(0.95 * 0.5 * capacity(workers));
      }
    },
  );

  it('finds them also where there are fewer clients than it allows', () => {
    const workers = 5;
    const world = new SimulatedOverload({ limit: { ...limit, initial: 64 }, workers, operations: [one(someJitter)] });
    world.addClients(5 * workers);
    world.run(8000);
    expectSteady(world.run(30_000), workers);
  });

  it('settles as well beside two others before the same upstream', () => {
    const workers = 60;
    const operations = [one(someJitter)];
    const world = new SimulatedOverload({ limit, workers, operations });
    const others = ['second', 'third'].map(
      (seed) => new SimulatedOverload({ limit, workers, operations, seed, beside: world }),
    );
    const all = [world, ...others];
    for (const each of all) each.arrive(capacity(workers));
    world.run(60_000);
    const steady = world.run(30_000);
    expect(steady.meanInHand).toBeLessThan(2 * workers);
    const goodput = all.reduce((sum, each) => sum + each.look(60_000, 90_000).goodput, 0);
    expect(goodput).toBeGreaterThan(0.9 * capacity(workers));
  });

  it.each([
    { name: 'exponential', serviceTime: exponential(SERVICE_MS), workers: 20 },
    { name: 'exponential', serviceTime: exponential(SERVICE_MS), workers: 60 },
    { name: 'heavy-tailed', serviceTime: heavyTailed(SERVICE_MS, 30), workers: 20 },
    { name: 'heavy-tailed', serviceTime: heavyTailed(SERVICE_MS, 30), workers: 60 },
  ])(
    'keeps the mean of six runs near capacity on $name service times, $workers workers',
    ({ serviceTime, workers }) => {
      const runs = Array.from({ length: 6 }, (_, run) => {
        const world = new SimulatedOverload({ limit, workers, operations: [one(serviceTime)], seed: `run ${run}` });
        world.arrive(3 * capacity(workers));
        world.run(10_000);
        return world.run(20_000);
      });
      expect(runs.reduce((sum, { goodput }) => sum + goodput, 0) / runs.length).toBeGreaterThan(
        0.9 * capacity(workers),
      );
      for (const { meanInHand } of runs) expect(meanInHand).toBeLessThan(2 * workers);
    },
  );
});

describe('the concurrency limit before an upstream that is not overloaded', () => {
  it('does not grow while it is not used', () => {
    const world = new SimulatedOverload({
      limit: { ...limit, initial: 64 },
      workers: 60,
      operations: [one(someJitter)],
    });
    world.arrive(10 * (1000 / SERVICE_MS));
    expect(world.run(60_000).highestLimit).toBe(64);
  });

  it('grows with what is used on constant latency, and not beyond', () => {
    const world = new SimulatedOverload({ limit, workers: 1000, operations: [one(uniform(SERVICE_MS, 0))] });
    world.addClients(100);
    world.run(10_000);
    const steady = world.run(30_000);
    expect(steady.lowestLimit).toBeLessThan(100);
    expect(steady.highestLimit).toBeGreaterThanOrEqual(100);
    expect(steady.highestLimit).toBeLessThanOrEqual(125);
    expect(steady.goodput).toBeGreaterThan(0.95 * capacity(100));
  });

  it('never grows above its maximum', () => {
    const world = new SimulatedOverload({ limit: { ...limit, max: 60 }, workers: 1000, operations: [one(someJitter)] });
    world.addClients(200);
    expect(world.run(10_000).highestLimit).toBe(60);
  });

  it('is left alone by a change of the mix', () => {
    const pending = { operation: 'pendingTraces', share: 0.9, serviceTime: uniform(20, 0.3) };
    const shards = { operation: 'masterchainBlockShards', share: 0.1, serviceTime: uniform(200, 0.3) };
    const world = new SimulatedOverload({ limit, workers: 20, operations: [pending, shards] });
    world.addClients(12);
    world.run(10_000);
    Object.assign(pending, { share: 0 });
    const after = world.run(20_000);
    expect(after.lowestLimit).toBe(limit.initial);
    expect(after.highestLimit).toBe(limit.initial);
  });

  it('does not punish work that became slower for good', () => {
    const operation = one(someJitter);
    const world = new SimulatedOverload({ limit: { ...limit, initial: 64 }, workers: 60, operations: [operation] });
    world.arrive(400);
    world.run(20_000);
    operation.serviceTime = uniform(2 * SERVICE_MS, 0.3);
    world.run(3000);
    const after = world.run(20_000);
    expect(after.goodput).toBeGreaterThan(0.95 * 400);
    expect(after.meanLimit).toBeGreaterThan(60);
  });
});

describe('the baseline of the concurrency limit', () => {
  it.each([
    { change: 'slower', factor: 3 },
    { change: 'faster', factor: 1 / 3 },
  ])('follows work that became $change for good under overload', ({ factor }) => {
    const workers = 20;
    const operation = one(someJitter);
    const world = new SimulatedOverload({ limit, workers, operations: [operation] });
    world.arrive(5 * capacity(workers) * Math.max(1, 1 / factor));
    world.run(20_000);
    operation.serviceTime = uniform(SERVICE_MS * factor, 0.3);
    world.run(5000);
    expectSteady(world.run(20_000), workers, SERVICE_MS * factor);
  });

  it('is one for each operation, so that neither a mix nor its change is taken for slowness', () => {
    const workers = 20;
    const pending = { operation: 'pendingTraces', share: 0.4, serviceTime: uniform(20, 0.3) };
    const adjacent = { operation: 'adjacentTransactions', share: 0.4, serviceTime: uniform(50, 0.3) };
    const shards = { operation: 'masterchainBlockShards', share: 0.2, serviceTime: uniform(100, 0.3) };
    const world = new SimulatedOverload({ limit, workers, operations: [pending, adjacent, shards] });
    world.arrive(1500);
    world.run(15_000);
    expectSteady(world.run(14_000), workers, 0.4 * 20 + 0.4 * 50 + 0.2 * 100);
    Object.assign(pending, { share: 0 });
    Object.assign(shards, { share: 0.6 });
    expectSteady(world.run(20_000), workers, 0.4 * 50 + 0.6 * 100);
    Object.assign(pending, { share: 1.6 });
    Object.assign(shards, { share: 0 });
    expectSteady(world.run(20_000), workers, 0.8 * 20 + 0.2 * 50);
  });
});

it('learns on after answers that took no time by the clock', () => {
  const tested = new ConcurrencyLimit(limit);
  const answer = (at: number, latencyMs: number) =>
    tested.onAnswer({ operation: 'adjacent', latencyMs, inFlight: tested.limit, at });
  for (let at = 0; at < 10_000; at += 5) answer(at, 0);
  for (let at = 10_000; at < 60_000; at += 5) answer(at, 10 * tested.limit);
  expect(tested.limit).toBeLessThan(limit.initial);
});

describe('failures', () => {
  /** Answers that leave the limit as it is and are enough for a window. */
  function answer(tested: ConcurrencyLimit, { from, operation }: { from: number; operation: string }): number {
    let at = from;
    for (let n = 0; n < 100; n++) {
      at += 50;
      tested.onAnswer({ operation, latencyMs: 50, inFlight: 1, at });
    }
    return at;
  }

  it('cut the limit at once when they are timeouts, and once for all that were sent before the cut', () => {
    const tested = new ConcurrencyLimit(limit);
    const hear = (at: number) => tested.onAnswer({ operation: 'adjacent', latencyMs: 50, inFlight: 1, at });
    hear(4000);
    for (let at = 5000; at < 6000; at += 10) {
      tested.onFailure({ kind: 'timeout', operation: 'adjacent', latencyMs: 5000, inFlight: 20, at });
      expect(tested.limit).toBe(14);
    }
    hear(9000);
    tested.onFailure({ kind: 'timeout', operation: 'adjacent', latencyMs: 5000, inFlight: 20, at: 10_001 });
    expect(tested.limit).toBe(9);
  });

  it('leave but a few to an indexer of which nothing was heard meanwhile, and then one, until something is', () => {
    const tested = new ConcurrencyLimit(limit);
    const timeOut = (at: number) =>
      tested.onFailure({ kind: 'timeout', operation: 'adjacent', latencyMs: 5000, inFlight: 20, at });
    tested.onAnswer({ operation: 'adjacent', latencyMs: 50, inFlight: 20, at: 1000 });
    for (let at = 5990; at < 6100; at++) {
      timeOut(at);
      expect(tested.limit).toBe(3);
    }
    for (let at = 11_000; at < 60_000; at += 1000) {
      timeOut(at);
      expect(tested.limit).toBe(1);
    }
    tested.onAnswer({ operation: 'adjacent', latencyMs: 50, inFlight: 1, at: 60_000 });
    expect(tested.limit).toBe(14);
  });

  it('are no reason to cut it while much of it is free', () => {
    const tested = new ConcurrencyLimit(limit);
    for (let at = 5000; at < 100_000; at += 1000) {
      tested.onFailure({ kind: 'timeout', operation: 'adjacent', latencyMs: 5000, inFlight: 6, at });
    }
    expect(tested.limit).toBe(20);
  });

  it('in whose time anything was heard of the indexer cut it as usual', () => {
    const tested = new ConcurrencyLimit(limit);
    for (let at = 1000; at < 20_000; at += 1000) {
      tested.onHeard(at);
      tested.onFailure({ kind: 'timeout', operation: 'adjacent', latencyMs: 5000, inFlight: 20, at });
      expect(tested.limit).toBeGreaterThanOrEqual(Math.floor(20 * 0.7 ** Math.ceil(at / 5000)));
    }
  });

  it('count as hearing of the indexer when they are errors', () => {
    const tested = new ConcurrencyLimit(limit);
    tested.onFailure({ kind: 'timeout', operation: 'adjacent', latencyMs: 5000, inFlight: 20, at: 5000 });
    expect(tested.limit).toBe(3);
    tested.onFailure({ kind: 'error', operation: 'pendingTraces', latencyMs: 5, inFlight: 20, at: 5100 });
    expect(tested.limit).toBe(14);
  });

  it('are not undone by what was seen before them', () => {
    const tested = new ConcurrencyLimit(limit);
    let at = 0;
    const answerUntil = (isReached: () => boolean) => {
      for (let n = 0; n < 1000 && !isReached(); n++) {
        at += 50 / tested.limit;
        tested.onAnswer({ operation: 'adjacent', latencyMs: 50, inFlight: tested.limit, at });
      }
    };
    answerUntil(() => tested.limit === 10);
    tested.onAnswer({ operation: 'adjacent', latencyMs: 50, inFlight: 1, at: at + 1 });
    tested.onFailure({ kind: 'timeout', operation: 'adjacent', latencyMs: 2, inFlight: 10, at: at + 2 });
    answerUntil(() => tested.limit !== 10);
    expect(tested.limit).toBe(14);
  });

  it('never cut it below its minimum', () => {
    const tested = new ConcurrencyLimit({ ...limit, min: 7 });
    for (let at = 0; at < 100_000; at += 5001) {
      tested.onFailure({ kind: 'timeout', operation: 'adjacent', latencyMs: 5000, inFlight: 20, at });
    }
    expect(tested.limit).toBe(7);
  });

  it('cut it when errors break out in what was answered before', () => {
    const tested = new ConcurrencyLimit(limit);
    const from = answer(tested, { from: 0, operation: 'adjacent' });
    expect(tested.limit).toBe(20);
    for (let n = 1; n <= 20; n++) {
      tested.onFailure({ kind: 'error', operation: 'adjacent', latencyMs: 5, inFlight: 20, at: from + n });
    }
    expect(tested.limit).toBe(14);
  });

  it('do not cut it when an operation answers nothing but errors', () => {
    const tested = new ConcurrencyLimit(limit);
    const from = answer(tested, { from: 0, operation: 'adjacent' });
    for (let n = 1; n <= 200; n++) {
      tested.onFailure({ kind: 'error', operation: 'pendingTraces', latencyMs: 5, inFlight: 20, at: from + n });
    }
    expect(tested.limit).toBe(20);
  });

  it.each([0.05, 0.1])('do not starve the rest when a part of %d is poisoned', (failingShare) => {
    const workers = 20;
    const world = new SimulatedOverload({ limit, workers, failingShare, operations: [one(someJitter)] });
    world.arrive(3 * capacity(workers));
    world.run(10_000);
    expect(world.run(30_000).goodput).toBeGreaterThan(0.9 * (1 - failingShare) * capacity(workers));
  });

  it('are no latencies: constant timeouts never raise the limit', () => {
    const world = new SimulatedOverload({ limit, workers: 20, operations: [one(someJitter)] });
    world.upstream.hangs = true;
    world.arrive(800);
    const outage = world.run(60_000);
    expect(outage.highestLimit).toBe(limit.initial);
    expect(world.limit.limit).toBeLessThan(4);
  });
});

it('is a whole number between its minimum and its maximum, whatever happens', () => {
  const event = fc.record({
    kind: fc.constantFrom('answer', 'answer', 'answer', 'timeout', 'error'),
    operation: fc.constantFrom('a', 'b', 'c'),
    latencyMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 60_000, noNaN: true })),
    inFlight: fc.integer({ min: 0, max: 500 }),
    afterMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 100, noNaN: true }), fc.constant(10_000)),
    times: fc.integer({ min: 1, max: 100 }),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const bounds = { initial: 30, min: 3, max: 90 };
      const tested = new ConcurrencyLimit(bounds);
      let at = 0;
      for (const { kind, operation, latencyMs, inFlight, afterMs, times } of events) {
        for (let n = 0; n < times; n++) {
          at += afterMs;
          if (kind === 'answer') tested.onAnswer({ operation, latencyMs, inFlight, at });
          else tested.onFailure({ kind: kind === 'error' ? 'error' : 'timeout', operation, latencyMs, inFlight, at });
          expect(Number.isInteger(tested.limit)).toBe(true);
          expect(tested.limit).toBeGreaterThanOrEqual(bounds.min);
          expect(tested.limit).toBeLessThanOrEqual(bounds.max);
        }
      }
    }),
  );
});

it('is never lowered to look at an indexer that has little to do', () => {
  const tested = new ConcurrencyLimit({ initial: 20, min: 1, max: 64 });
  for (let n = 0; n < 5000; n++) {
    tested.onAnswer({ operation: 'a', latencyMs: n % 7 === 0 ? 150 : 40, inFlight: 1 + (n % 4), at: n * 20 });
    expect(tested.limit).toBeGreaterThanOrEqual(20);
  }
});
