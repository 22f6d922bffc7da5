import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Slots } from '../../../src/admission/slots.ts';
import { SHARES as OF_OPERATIONS } from '../../../src/compose/indexer.ts';
import { OPERATION_NAMES } from '../../../src/ton/operation-names.ts';

const MINUTE_MS = 60_000;
const SHARES = { pending: 0.4, adjacent: 0.3, shards: 0.2 };
/** The slots that are never lent, of 64: a quarter of each share, rounded. */
const NEVER_LENT = { pending: 6, adjacent: 5, shards: 3 };

let now = 0;

beforeEach(() => {
  now = 0;
});

function slotsOf(max: number): Slots {
  return new Slots({ now: () => now, max, shares: SHARES, patienceMs: 1500 });
}

/** Takes as many slots for an operation as it may have; returns their number. */
function takeAll(slots: Slots, operation: string): number {
  slots.touch(operation);
  let taken = 0;
  for (; slots.mayTake(operation); taken++) slots.take(operation);
  return taken;
}

describe('a quarter of each share', () => {
  test('is never lent while its operation is in use', () => {
    const slots = slotsOf(64);
    for (const operation of Object.keys(SHARES)) slots.touch(operation);
    expect(takeAll(slots, 'pending')).toBe(64 - NEVER_LENT.adjacent - NEVER_LENT.shards);
    // Each of the others can take all slots that are kept for it.
    expect(takeAll(slots, 'adjacent')).toBe(NEVER_LENT.adjacent);
    expect(takeAll(slots, 'shards')).toBe(NEVER_LENT.shards);
    expect(slots.inUse).toBe(64);
  });

  test('is lent when its operation was not requested within the last minute', () => {
    const slots = slotsOf(64);
    slots.touch('pending');
    now = MINUTE_MS - 1;
    expect(takeAll(slots, 'shards')).toBe(64 - NEVER_LENT.pending);
    now = MINUTE_MS;
    expect(takeAll(slots, 'shards')).toBe(NEVER_LENT.pending);
  });
});

describe('shares that add up to more than all slots', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
  const shares = Object.fromEntries(NAMES.map((name, place) => [name, place === 0 ? 0.8 : 0.1]));
  const inUse = (max: number, names: readonly string[]) => {
    const slots = new Slots({ now: () => now, max, shares, patienceMs: 1500 });
    for (const name of names) slots.touch(name);
    return slots;
  };

  test('are weights among the operations in use', () => {
    // Kept for `a`, of 1600 slots: a quarter of 0.8, of 0.8 / 1.2 and of 0.8 / 1.6.
    expect(takeAll(inUse(1600, NAMES.slice(0, 3)), 'b')).toBe(1600 - 320 - 40);
    expect(takeAll(inUse(1600, NAMES.slice(0, 5)), 'b')).toBe(1600 - 267 - 3 * 33);
    expect(takeAll(inUse(1600, NAMES), 'b')).toBe(1600 - 200 - 7 * 25);
  });

  test('leave at least half of the slots to an operation while eight others are in use but hold none', () => {
    for (const max of [1, 2, 3, 4, 9, 64]) expect(takeAll(inUse(max, NAMES), 'b')).toBeGreaterThanOrEqual(max / 2);
  });
});

test('with any number of slots, each operation may take a slot while all are free', () => {
  const operations = [...Object.keys(SHARES), 'other'];
  for (let max = 1; max <= 100; max++) {
    const slots = slotsOf(max);
    for (const operation of operations) slots.touch(operation);
    expect(operations.filter((operation) => slots.mayTake(operation))).toEqual(operations);
  }
});

test.each([4, 9, 64])(
  'of %i slots, a hanging operation leaves one to each of two others while all operations are in use',
  (max) => {
    for (const hanging of OPERATION_NAMES) {
      for (const one of OPERATION_NAMES) {
        const others = [one, OPERATION_NAMES[OPERATION_NAMES.indexOf(one) + 1] ?? OPERATION_NAMES[0]];
        if (others.includes(hanging)) continue;
        now = 0;
        const slots = new Slots({ now: () => now, max, shares: OF_OPERATIONS, patienceMs: 1500 });
        for (const operation of OPERATION_NAMES) slots.touch(operation);
        while (slots.mayTake(hanging)) slots.take(hanging);
        for (const other of others) {
          expect([max, hanging, other, slots.mayTake(other ?? '')]).toEqual([max, hanging, other, true]);
          slots.take(other ?? '');
        }
      }
    }
  },
);

const OPERATIONS = ['pending', 'adjacent', 'shards', 'other'];
const aShare = fc.integer({ min: 0, max: 33 }).map((percent) => percent / 100);
const aStep = fc.record({
  kind: fc.constantFrom('ask', 'ask', 'ask', 'release', 'pass'),
  operation: fc.constantFrom(...OPERATIONS),
  ms: fc.integer({ min: 1, max: 40_000 }),
});

test('slots in use never exceed the limit, and those that are never lent stay free for their operation', () => {
  const options = fc.record({
    max: fc.integer({ min: 1, max: 80 }),
    shares: fc.record({ pending: aShare, adjacent: aShare, shards: aShare }),
  });
  fc.assert(
    fc.property(options, fc.array(aStep, { maxLength: 120, size: 'max' }), ({ max, shares }, steps) => {
      now = 0;
      const slots = new Slots({ now: () => now, max, shares, patienceMs: 1500 });
      const uses = new Map(
        OPERATIONS.map((name) => {
          const share = max * (new Map(Object.entries(shares)).get(name) ?? 0);
          const sharers = Object.values(shares).filter((each) => each > 0).length;
          const kept = share === 0 ? 0 : Math.max(max > sharers ? 1 : 0, Math.round(share / 4));
          return [name, { kept, inUse: 0, usedAt: Number.NEGATIVE_INFINITY }];
        }),
      );
      const isRecent = ({ usedAt }: { usedAt: number }) => now - usedAt < MINUTE_MS;
      /** True if the free slots cover all unused slots that the operations in use never lend. */
      let isWhole = true;
      for (const { kind, operation, ms } of steps) {
        const use = uses.get(operation);
        if (use === undefined) continue;
        if (kind === 'pass') now += ms;
        if (kind === 'release' && use.inUse > 0) {
          slots.release(operation, true);
          use.inUse--;
        }
        // Slots kept for an operation that is requested again after a minute may be lent at that moment.
        const cameBack = kind === 'ask' && !isRecent(use);
        if (kind === 'ask') {
          slots.touch(operation);
          use.usedAt = now;
          const mayTake = slots.mayTake(operation);
          if (use.inUse < use.kept) expect(mayTake).toBe(slots.inUse < max);
          if (mayTake) {
            slots.take(operation);
            use.inUse++;
          }
        }
        const all = [...uses.values()];
        const free = max - all.reduce((sum, { inUse }) => sum + inUse, 0);
        expect([max - slots.inUse, free >= 0]).toEqual([free, true]);
        const missing = all.filter(isRecent).reduce((sum, { kept, inUse }) => sum + Math.max(0, kept - inUse), 0);
        const wasWhole = isWhole;
        isWhole = free >= missing;
        if (wasWhole && !cameBack) expect(isWhole).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
