import { expect, test, vi } from 'vitest';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import type { RedisTier } from '../../../src/cache/redis-tier.ts';
import { TieredCache } from '../../../src/cache/tiered-cache.ts';
import { anEntry, NOTHING_PURGED } from '../../support/entry.ts';

test.each([true, false])('an answer reaches Redis only while all purges and its time are known: %s', (isCurrent) => {
  const now = () => 1000;
  const set = vi.fn(() => undefined);
  const cache = new TieredCache({
    memory: new MemoryTier({ now, maxSizeBytes: 1_000_000, maxEntries: 10 }),
    // The cast: a store needs no more of the tier.
    redis: { set } as unknown as RedisTier,
    purges: { ...NOTHING_PURGED, isCurrent },
    applyEvents: undefined,
    hasReached: () => false,
    wentBack: { look: () => {} },
    now,
  });
  const lease = { token: '', endsWith: vi.fn() };
  expect(cache.set(anEntry({ askedAt: now() }), [], { lease }).outcome).toBe('stored');
  expect(set).toHaveBeenCalledTimes(isCurrent ? 1 : 0);
  expect(lease.endsWith).not.toHaveBeenCalled();
});
