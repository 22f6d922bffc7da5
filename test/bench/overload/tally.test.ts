import { describe, expect, it } from 'vitest';
import type { Call } from './calls.ts';
import { Tally } from './tally.ts';

const call: Call = { kind: 'unique', operation: 'pendingTraces', target: '/', says: '' };

/** Of a phase of five seconds in which the requests that were due then failed. */
function wholeAfterMs(failedAtMs: readonly number[]): number | undefined {
  const tally = new Tally(5);
  for (const dueMs of failedAtMs) tally.ended(call, { kind: 'left' }, dueMs, 2000);
  return tally.result().wholeAfterMs;
}

describe('the time to recover', () => {
  it('is zero when the first second is whole', () => {
    expect(wholeAfterMs([])).toBe(0);
    expect(wholeAfterMs([1000, 4500])).toBe(0);
  });

  it('ends with the last failure before a whole second, in whatever order they became known', () => {
    expect(wholeAfterMs([1600, 10, 800, 3000])).toBe(1600);
  });

  it('is unknown when no second of the phase was whole', () => {
    expect(wholeAfterMs([900, 1800, 2700, 3600, 4100])).toBeUndefined();
  });
});

describe('a tally', () => {
  it('has no percentile of what did not occur', () => {
    expect(new Tally(1).result()).toMatchObject({ requests: 0, hitP99Ms: undefined, shedP99Ms: undefined });
  });

  it('counts a right answer where it came, not where it was asked for', () => {
    const [asked, came] = [new Tally(1), new Tally(1)];
    asked.ended(call, { kind: 'right', fromCache: false }, 900, 300);
    came.answered(call, false);
    expect(asked.result()).toMatchObject({ rightMisses: 0, rightByIndexer: 0 });
    expect(asked.result().missP99Ms).toBeCloseTo(300, 0);
    expect(came.result()).toMatchObject({ rightMisses: 1, rightByIndexer: 1 });
  });

  it('tells each operation apart, and hot requests from both', () => {
    const tally = new Tally(1);
    tally.ended(call, { kind: 'right', fromCache: false }, 100, 50);
    tally.ended(call, { kind: 'shed' }, 200, 50);
    tally.ended({ ...call, operation: 'adjacentTransactions' }, { kind: 'left' }, 300, 2000);
    tally.ended(
      { ...call, kind: 'hot', operation: 'masterchainBlockShards' },
      { kind: 'right', fromCache: true },
      400,
      1,
    );
    expect(tally.result().uniqueBy).toEqual({
      pendingTraces: { requests: 2, right: 1 },
      adjacentTransactions: { requests: 1, right: 0 },
      masterchainBlockShards: { requests: 0, right: 0 },
    });
  });
});
