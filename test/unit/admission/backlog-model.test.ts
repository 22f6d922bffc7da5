import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Backlog, type BacklogRefusal, PRIORITIES, type Priority } from '../../../src/admission/backlog.ts';
import { drainRateOf } from '../../support/drain-rate-of.ts';
import { NamedWaiter } from '../../support/waiters.ts';

const PATIENCE_MS = 400;
const SHORT_MS = 60;
const OPERATIONS = ['a', 'b', 'c'];

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const now = () => performance.now();

interface Lane {
  waiting: { readonly waiter: NamedWaiter; readonly order: number; readonly until: number }[];
  beganAt: number;
  starts: number[];
  overloaded: boolean;
}

/** A backlog of plain lists that are looked through every millisecond. */
class Model {
  readonly gaveUp = new Set<NamedWaiter>();
  #arrivals = 0;
  readonly #lanes = new Map<string, Lane>();
  readonly #maxWaiting: number;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
    for (const operation of OPERATIONS) {
      this.#lanes.set(operation, { waiting: [], beganAt: 0, starts: [], overloaded: false });
    }
  }

  get size(): number {
    return OPERATIONS.reduce((sum, operation) => sum + this.#lane(operation).waiting.length, 0);
  }

  get waiters(): NamedWaiter[] {
    return OPERATIONS.flatMap((operation) => this.#lane(operation).waiting.map(({ waiter }) => waiter));
  }

  expectedWaitMs(operation: string, priority: Priority): number | undefined {
    const { waiting, starts, beganAt } = this.#lane(operation);
    if (waiting.length === 0) return 0;
    const perMs = drainRateOf(starts, { beganAt, now: now(), patienceMs: PATIENCE_MS });
    if (perMs === undefined) return undefined;
    const ahead = waiting.filter(({ waiter }) => rank(waiter.priority) <= rank(priority)).length;
    return perMs === 0 ? 2 * PATIENCE_MS : Math.min(2 * PATIENCE_MS, ahead / perMs);
  }

  refuse(operation: string, priority: Priority): BacklogRefusal | undefined {
    const lane = this.#lane(operation);
    const expectedWaitMs = this.expectedWaitMs(operation, priority) ?? 0;
    const isFull = this.size >= this.#maxWaiting;
    const isImpatient = lane.overloaded || priority === 'miss-with-fallback';
    if (!isFull && expectedWaitMs <= (isImpatient ? SHORT_MS : PATIENCE_MS)) return undefined;
    if (priority === 'miss') lane.overloaded = lane.waiting.length > 0;
    return { reason: isFull ? 'queue-full' : 'expected-wait', expectedWaitMs };
  }

  add(waiter: NamedWaiter): void {
    const lane = this.#lane(waiter.operation);
    if (lane.waiting.length === 0) Object.assign(lane, { beganAt: now(), starts: [] });
    const patience = waiter.priority === 'miss-with-fallback' ? SHORT_MS : PATIENCE_MS;
    lane.waiting.push({ waiter, order: this.#arrivals++, until: now() + patience });
  }

  remove(waiter: NamedWaiter): void {
    const lane = this.#lane(waiter.operation);
    lane.waiting = lane.waiting.filter((each) => each.waiter !== waiter);
    if (lane.waiting.length === 0) lane.overloaded = false;
  }

  raise(waiter: NamedWaiter): void {
    const lane = this.#lane(waiter.operation);
    if (waiter.priority !== 'refresh' || !lane.waiting.some((each) => each.waiter === waiter)) return;
    const { overloaded } = lane;
    this.remove(waiter);
    waiter.priority = 'miss';
    this.add(waiter);
    lane.overloaded = overloaded;
  }

  next(mayStart: readonly string[], goFirst: readonly string[]): NamedWaiter | undefined {
    const candidates = mayStart.flatMap((operation) => this.#lane(operation).waiting);
    const first = candidates.toSorted(
      (one, other) =>
        Number(goFirst.includes(other.waiter.operation)) - Number(goFirst.includes(one.waiter.operation)) ||
        rank(one.waiter.priority) - rank(other.waiter.priority) ||
        one.order - other.order,
    )[0];
    if (first === undefined) return undefined;
    this.#lane(first.waiter.operation).starts.push(now());
    this.remove(first.waiter);
    return first.waiter;
  }

  /** To be called once a millisecond. */
  tick(): void {
    for (const operation of OPERATIONS) {
      const lane = this.#lane(operation);
      for (const { waiter, until } of lane.waiting) {
        if (until > now()) continue;
        this.gaveUp.add(waiter);
        if (waiter.priority === 'miss') lane.overloaded = true;
        this.remove(waiter);
      }
    }
  }

  #lane(operation: string): Lane {
    const lane = this.#lanes.get(operation);
    if (lane === undefined) throw new Error(`no operation ${operation}`);
    return lane;
  }
}

const rank = (priority: Priority) => PRIORITIES.indexOf(priority);

const operation = fc.constantFrom(...OPERATIONS);
const priority = fc.constantFrom<Priority>('miss', 'miss', 'miss-with-fallback', 'refresh');
const some = fc.subarray(OPERATIONS);
const aStep = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('come' as const), operation, priority }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('leave' as const, 'raise' as const), who: fc.nat(1000) }) },
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('start' as const), mayStart: some, goFirst: some }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 40 }) }) },
);

test('whatever comes, leaves and starts, each request is refused, started or given up as in a plain list', () => {
  const maxWaiting = fc.constantFrom(1, 5, 1000);
  fc.assert(
    fc.property(maxWaiting, fc.array(aStep, { minLength: 20, maxLength: 200, size: 'max' }), (most, steps) => {
      const backlog = new Backlog(
        { now },
        { patienceMs: PATIENCE_MS, shortPatienceMs: SHORT_MS, maxWaiting: most, slots: 16 },
      );
      const model = new Model(most);
      const everyone: NamedWaiter[] = [];
      for (const step of steps) {
        if (step.kind === 'come') {
          const refused = backlog.refuse(step.operation, step.priority);
          expect(refused).toEqual(model.refuse(step.operation, step.priority));
          pass(1);
          if (refused !== undefined) continue;
          const waiter = new NamedWaiter(`${everyone.length}`, step.operation, step.priority);
          everyone.push(waiter);
          backlog.add(waiter);
          model.add(waiter);
        } else if (step.kind === 'pass') {
          pass(step.ms);
        } else if (step.kind === 'start') {
          const next = model.next(step.mayStart, step.goFirst);
          const isIn = (operations: readonly string[]) => (name: string) => operations.includes(name);
          expect(backlog.next(isIn(step.mayStart), isIn(step.goFirst))).toBe(next);
        } else {
          // No two requests join at the same instant: which of them is older would be undefined.
          pass(1);
          const who = everyone[step.who % Math.max(1, everyone.length)];
          if (who === undefined) continue;
          // Each would find the other's priority changed.
          const { priority } = who;
          if (step.kind === 'raise') {
            backlog.raise(who);
            who.priority = priority;
            model.raise(who);
          } else {
            backlog.remove(who);
            model.remove(who);
          }
        }
        expect(backlog.size).toBe(model.size);
        const { operation, priority } = everyone.at(-1) ?? { operation: 'a', priority: 'miss' };
        expect(backlog.expectedWaitMs(operation, priority)).toBe(model.expectedWaitMs(operation, priority));
      }
      expect(everyone.filter(({ gaveUp }) => gaveUp > 0)).toEqual(everyone.filter((who) => model.gaveUp.has(who)));
      expect(everyone.filter(({ gaveUp }) => gaveUp > 1)).toEqual([]);
      // All remaining requests give up in the end, and then no timer is left.
      const left = model.waiters;
      pass(PATIENCE_MS);
      expect([backlog.size, vi.getTimerCount(), left.every(({ gaveUp }) => gaveUp === 1)]).toEqual([0, 0, true]);

      function pass(ms: number): void {
        for (let n = 0; n < ms; n++) {
          vi.advanceTimersByTime(1);
          model.tick();
        }
      }
    }),
    { numRuns: 200 },
  );
});
