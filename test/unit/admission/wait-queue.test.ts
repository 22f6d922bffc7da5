import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  PRIORITIES,
  type Priority,
  type QueueRejection,
  type Waiter,
  WaitQueue,
} from '../../../src/admission/wait-queue.ts';

const TARGET_MS = 50;
const INTERVAL_MS = 100;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  const left = vi.getTimerCount();
  vi.useRealTimers();
  expect(left).toBe(0);
});

const now = () => Date.now();
const pass = (ms: number) => void vi.advanceTimersByTime(ms);
const nobody = (_operation: string) => false;
const anybody = (_operation: string) => true;

function queueOf(maxWaiting: number): WaitQueue {
  return new WaitQueue({ maxWaiting, targetMs: TARGET_MS, intervalMs: INTERVAL_MS, now });
}

/** One who waits, by name, and what it was told. */
class Someone implements Waiter {
  readonly name: string;
  readonly operation: string;
  readonly priority: Priority;
  readonly enqueuedAt = now();
  readonly told: QueueRejection[] = [];

  constructor(name: string, priority: Priority = 'miss', operation = 'any') {
    this.name = name;
    this.priority = priority;
    this.operation = operation;
  }

  readonly accept = (): void => {};
  readonly reject = (reason: QueueRejection): void => void this.told.push(reason);
}

/** Lets one in, a millisecond after the one before. */
function join(queue: WaitQueue, name: string, priority?: Priority, operation?: string, hasClaim = nobody): Someone {
  pass(1);
  const someone = new Someone(name, priority, operation);
  queue.add(someone, hasClaim);
  return someone;
}

function nameOf(waiter: Waiter | undefined): string | undefined {
  return waiter instanceof Someone ? waiter.name : undefined;
}

/** Takes all out, and says in which order they came. */
function drain(queue: WaitQueue, hasClaim: (operation: string) => boolean = nobody): (string | undefined)[] {
  return Array.from({ length: queue.size }, () => nameOf(queue.take(hasClaim)));
}

/** Fills the queue with those who came just now and a predecessor who has just left: not empty for the interval. */
function overloadedQueue(maxWaiting = 10): WaitQueue {
  const queue = queueOf(maxWaiting);
  // Each is gone before the queue is overloaded or its own time is up, and never leaves it empty.
  let previous = join(queue, 'before');
  for (let time = 0; time < 4; time++) {
    pass(TARGET_MS / 2);
    const next = join(queue, 'before');
    queue.remove(previous);
    previous = next;
  }
  expect(queue.overloaded).toBe(true);
  return queue;
}

describe('a queue that empties now and then', () => {
  test('gives turns in the order of coming, over all operations', () => {
    const queue = queueOf(10);
    join(queue, 'first', 'miss', 'a');
    join(queue, 'second', 'miss', 'b');
    join(queue, 'third', 'miss', 'a');
    join(queue, 'fourth', 'miss', 'b');
    expect(drain(queue)).toEqual(['first', 'second', 'third', 'fourth']);
    expect(queue.take(anybody)).toBeUndefined();
  });

  test('lets one wait longer than the target, until the interval is over', () => {
    const queue = queueOf(10);
    const early = join(queue, 'early');
    pass(INTERVAL_MS - 1);
    expect([queue.overloaded, queue.size, early.told]).toEqual([false, 1, []]);
    pass(1);
    expect([queue.size, early.told]).toEqual([0, ['waited-too-long']]);
  });

  test('is not overloaded however often it fills', () => {
    const queue = queueOf(10);
    for (let time = 0; time < 20; time++) {
      const one = join(queue, 'one');
      pass(INTERVAL_MS - 10);
      expect(queue.overloaded).toBe(false);
      expect(nameOf(queue.take(nobody))).toBe('one');
      expect(one.told).toEqual([]);
    }
  });
});

describe('a queue that was not empty for the interval', () => {
  test('gives the turn to the newest, over all operations', () => {
    const queue = overloadedQueue();
    join(queue, 'first', 'miss', 'a');
    join(queue, 'second', 'miss', 'b');
    join(queue, 'third', 'miss', 'a');
    expect(drain(queue)).toEqual(['third', 'second', 'first', 'before']);
  });

  test('turns away each as soon as it has waited for the target, without anybody coming or going', () => {
    const queue = overloadedQueue();
    const first = join(queue, 'first');
    pass(10);
    const second = join(queue, 'second', 'refresh');
    pass(TARGET_MS - 12);
    expect([first.told, second.told]).toEqual([[], []]);
    pass(1);
    expect([first.told, second.told]).toEqual([['waited-too-long'], []]);
    pass(10);
    expect([first.told, second.told]).toEqual([['waited-too-long'], []]);
    pass(1);
    expect([first.told, second.told]).toEqual([['waited-too-long'], ['waited-too-long']]);
    expect(queue.size).toBe(0);
  });

  test('is a buffer again once it has been empty', () => {
    const queue = overloadedQueue();
    drain(queue);
    join(queue, 'first');
    join(queue, 'second');
    expect(queue.overloaded).toBe(false);
    pass(TARGET_MS + 10);
    expect(drain(queue)).toEqual(['first', 'second']);
  });

  test('whose only place goes from one to the next is still one', () => {
    const queue = queueOf(1);
    const refresh = join(queue, 'refresh', 'refresh');
    pass(INTERVAL_MS - TARGET_MS / 2);
    const miss = join(queue, 'miss', 'miss');
    pass(TARGET_MS / 2);
    const { overloaded } = queue;
    drain(queue);
    expect([refresh.told, miss.told, overloaded]).toEqual([['queue-full'], [], true]);
  });
});

describe('worth', () => {
  test.each([
    ['not overloaded', () => queueOf(10)],
    ['overloaded', overloadedQueue],
  ])('decides who is next before the order of coming does: %s', (_, open) => {
    const queue = open();
    drain(queue);
    join(queue, 'refresh', 'refresh');
    join(queue, 'with a copy', 'miss-with-fallback');
    join(queue, 'without', 'miss');
    expect(drain(queue)).toEqual(['without', 'with a copy', 'refresh']);
  });

  test('decides who goes when the queue is full: refreshes, then misses with a copy, last misses without', () => {
    const queue = queueOf(3);
    const refresh = join(queue, 'refresh', 'refresh');
    const withCopy = join(queue, 'with a copy', 'miss-with-fallback');
    const first = join(queue, 'first', 'miss');
    const second = join(queue, 'second', 'miss');
    expect([refresh.told, withCopy.told]).toEqual([['queue-full'], []]);
    const third = join(queue, 'third', 'miss');
    expect(withCopy.told).toEqual(['queue-full']);
    const fourth = join(queue, 'fourth', 'miss');
    expect(fourth.told).toEqual(['queue-full']);
    expect([first, second, third].map(({ told }) => told)).toEqual([[], [], []]);
    expect(drain(queue)).toEqual(['first', 'second', 'third']);
  });

  test.each(['refresh', 'miss-with-fallback'] as const)(
    'of a newcomer that is the least turns it away: %s',
    (least) => {
      const queue = queueOf(2);
      join(queue, 'first', 'miss');
      join(queue, 'second', 'miss');
      expect(join(queue, 'newcomer', least).told).toEqual(['queue-full']);
      expect(drain(queue)).toEqual(['first', 'second']);
    },
  );

  test('being equal, a full queue keeps who came first, and while overloaded who came last', () => {
    const calm = queueOf(2);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => join(calm, name));
    expect([a?.told, b?.told, c?.told]).toEqual([[], [], ['queue-full']]);
    drain(calm);
    const busy = overloadedQueue(3);
    const [d, e, f] = ['d', 'e', 'f'].map((name) => join(busy, name));
    expect(drain(busy)).toEqual(['f', 'e', 'd']);
    expect([d?.told, e?.told, f?.told]).toEqual([[], [], []]);
  });

  test('of the least worth the one goes that waited longest, whatever its operation', () => {
    const queue = queueOf(3);
    const young = ['a', 'b', 'a'].map((operation, at) => join(queue, `${at}`, 'refresh', operation));
    join(queue, 'miss');
    expect(young.map(({ told }) => told.length)).toEqual([1, 0, 0]);
    drain(queue);
  });
});

describe('a claim', () => {
  test('goes before worth and before the order of coming', () => {
    const queue = queueOf(10);
    join(queue, 'other', 'miss', 'other');
    join(queue, 'claims, of little worth', 'refresh', 'claiming');
    join(queue, 'claims', 'miss', 'claiming');
    const hasClaim = (operation: string) => operation === 'claiming';
    expect(drain(queue, hasClaim)).toEqual(['claims', 'claims, of little worth', 'other']);
  });

  test('that nobody makes use of keeps nobody else waiting', () => {
    const queue = queueOf(10);
    join(queue, 'other', 'miss', 'other');
    expect(nameOf(queue.take((operation) => operation === 'idle'))).toBe('other');
  });
});

describe('a claim to a place in a full queue', () => {
  const hasClaim = (operation: string) => operation === 'claiming';

  /** Three places, of which one who claims has the oldest. */
  function fill(queue: WaitQueue): Someone[] {
    drain(queue);
    return [
      join(queue, 'claiming', 'miss', 'claiming', hasClaim),
      join(queue, 'first', 'miss', 'other', hasClaim),
      join(queue, 'second', 'miss', 'other', hasClaim),
    ];
  }

  test('is better than that of the oldest without one', () => {
    const queue = queueOf(3);
    fill(queue);
    expect(join(queue, 'newcomer', 'miss', 'claiming', hasClaim).told).toEqual([]);
    expect(drain(queue, hasClaim)).toEqual(['claiming', 'newcomer', 'second']);
  });

  test('is not lost to a newcomer without one, even where the newest goes first', () => {
    const queue = overloadedQueue(4);
    const claiming = join(queue, 'claiming', 'miss', 'claiming', hasClaim);
    for (const name of ['first', 'second', 'third', 'fourth']) join(queue, name, 'miss', 'other', hasClaim);
    expect([queue.overloaded, claiming.told]).toEqual([true, []]);
    expect(drain(queue, hasClaim)).toEqual(['claiming', 'fourth', 'third', 'second']);
  });

  test('of little worth is not better than worth', () => {
    const queue = queueOf(3);
    fill(queue);
    expect(join(queue, 'newcomer', 'refresh', 'claiming', hasClaim).told).toEqual(['queue-full']);
    drain(queue);
  });
});

test('who leaves is not next, is told nothing, and may leave twice', () => {
  const queue = queueOf(10);
  const [leaver] = [join(queue, 'leaver'), join(queue, 'stayer')];
  queue.remove(leaver);
  queue.remove(leaver);
  expect(queue.size).toBe(1);
  expect(drain(queue)).toEqual(['stayer']);
  expect(leaver.told).toEqual([]);
});

test('a queue without places turns everyone away', () => {
  const queue = queueOf(0);
  expect([join(queue, 'one').told, queue.size]).toEqual([['queue-full'], 0]);
});

/** The queue as a plain list that is looked through every millisecond. */
class Model {
  waiting: Someone[] = [];
  readonly turnedAway: { who: Someone; reason: QueueRejection }[] = [];
  #notEmptySince = 0;
  readonly #maxWaiting: number;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  get overloaded(): boolean {
    return this.waiting.length > 0 && now() - this.#notEmptySince >= INTERVAL_MS;
  }

  add(newcomer: Someone, hasClaim: (operation: string) => boolean): void {
    if (this.waiting.length === 0) this.#notEmptySince = now();
    const { overloaded } = this;
    this.waiting.push(newcomer);
    if (this.waiting.length <= this.#maxWaiting) return;
    const least = PRIORITIES.findLast((priority) => this.#of(priority).length > 0) ?? newcomer.priority;
    let candidates = this.#of(least);
    const without = candidates.filter(({ operation }) => !hasClaim(operation));
    if (newcomer.priority === least && without.length > 0) candidates = without;
    const [oldest = newcomer] = candidates;
    this.#turnAway(candidates.includes(newcomer) && !overloaded ? newcomer : oldest, 'queue-full');
  }

  remove(who: Someone): void {
    this.waiting = this.waiting.filter((other) => other !== who);
  }

  take(hasClaim: (operation: string) => boolean): Someone | undefined {
    const claiming = this.waiting.filter(({ operation }) => hasClaim(operation));
    const eligible = claiming.length > 0 ? claiming : this.waiting;
    const most = PRIORITIES.find((priority) => eligible.some((waiter) => waiter.priority === priority));
    const equal = eligible.filter(({ priority }) => priority === most);
    const next = this.overloaded ? equal.at(-1) : equal[0];
    if (next !== undefined) this.remove(next);
    return next;
  }

  /** To be called once a millisecond. */
  tick(): void {
    if (!this.overloaded) return;
    for (const waiter of this.waiting) {
      if (now() - waiter.enqueuedAt >= TARGET_MS) this.#turnAway(waiter, 'waited-too-long');
    }
  }

  #of(priority: Priority): Someone[] {
    return this.waiting.filter((waiter) => waiter.priority === priority);
  }

  #turnAway(who: Someone, reason: QueueRejection): void {
    this.remove(who);
    this.turnedAway.push({ who, reason });
  }
}

const OPERATIONS = ['a', 'b', 'c'];

const aStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      priority: fc.constantFrom(...PRIORITIES),
      operation: fc.constantFrom(...OPERATIONS),
      claims: fc.subarray(OPERATIONS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), who: fc.nat({ max: 1000 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('take' as const), claims: fc.subarray(OPERATIONS) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 60 }) }) },
);

test('whatever comes and goes, everyone is served once, turned away once, or waits; in the right order, at the right time', () => {
  const maxWaiting = fc.integer({ min: 1, max: 8 });
  fc.assert(
    fc.property(maxWaiting, fc.array(aStep, { maxLength: 120, size: 'max' }), (most, steps) => {
      const queue = queueOf(most);
      const model = new Model(most);
      const everyone: Someone[] = [];
      const served: (Someone | undefined)[] = [];
      const left = new Set<Someone>();
      const letPass = (ms: number) => {
        for (let time = 0; time < ms; time++) {
          pass(1);
          model.tick();
        }
      };
      for (const step of steps) {
        const hasClaim = (operation: string) => 'claims' in step && step.claims.includes(operation);
        if (step.kind === 'add') {
          letPass(1);
          const newcomer = new Someone(`${everyone.push()}`, step.priority, step.operation);
          everyone.push(newcomer);
          queue.add(newcomer, hasClaim);
          model.add(newcomer, hasClaim);
        } else if (step.kind === 'remove') {
          const who = everyone[step.who % Math.max(1, everyone.length)];
          if (who === undefined) continue;
          if (model.waiting.includes(who)) left.add(who);
          queue.remove(who);
          model.remove(who);
        } else if (step.kind === 'take') {
          const next = model.take(hasClaim);
          expect(nameOf(queue.take(hasClaim))).toBe(next?.name);
          if (next !== undefined) served.push(next);
        } else {
          letPass(step.ms);
        }
        expect([queue.size, queue.overloaded]).toEqual([model.waiting.length, model.overloaded]);
      }
      const rest = new Set([...model.waiting]);
      for (const who of everyone) {
        const turnedAway = model.turnedAway.filter((turned) => turned.who === who);
        expect(who.told).toEqual(turnedAway.map(({ reason }) => reason));
        const ends = turnedAway.length + served.filter((other) => other === who).length;
        expect(ends + (left.has(who) ? 1 : 0) + (rest.has(who) ? 1 : 0)).toBe(1);
      }
      expect(drain(queue)).toHaveLength(rest.size);
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 300 },
  );
});
