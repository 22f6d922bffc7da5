import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type LoaderDependencies, loaderWith } from '../../../src/answer/load.ts';
import type { Lookup } from '../../../src/cache/tiered-cache.ts';
import type { Acquisition } from '../../../src/once/lease.ts';
import { anEntry } from '../../support/entry.ts';
import { sentFor } from '../../support/sent-for.ts';
import { openAdmission, slotsInUse } from '../admission/open-admission.ts';
import { SHARDS } from './classified.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HIT: Lookup = { state: 'fresh', entry: anEntry(), tier: 'redis' };
const MISS: Lookup = { state: 'miss' };

/** A load whose look-ups find this, the last one again and again, and that gets this instead of its own lease. */
function open(looks: readonly Lookup[], acquired: Acquisition) {
  const admission = openAdmission();
  const asked: unknown[] = [];
  const found = [...looks];
  const parts = {
    cache: { lookUp: () => found.shift() ?? HIT, lookInMemory: () => MISS },
    admission,
    ask: async (question: unknown) => void asked.push(question),
    leases: { acquire: async () => acquired },
    refusalError: () => new Error('refused'),
    monotonic: () => 0,
    report: () => {},
    redisBudgetMs: 50,
    failureTtlMs: 250,
  };
  // The cast: these are the parts of cache and leases that are used.
  const load = loaderWith(parts as unknown as LoaderDependencies);
  const flight = { ...sentFor(), clients: new Set(['one']), depart: () => {} };
  return { admission, asked, load: () => load(SHARDS, 'key', flight, true) };
}

test('a load whose entry another instance stored while it waited for its ticket frees its slot, and asks nobody', async () => {
  const lease = { token: '', endsWith: () => {}, fail: () => {}, release: vi.fn() };
  const { admission, asked, load } = open([MISS], { state: 'ours', lease, found: HIT });
  expect(await load()).toMatchObject({ kind: 'hit' });
  expect([slotsInUse(admission), asked, lease.release.mock.calls.length]).toEqual([0, [], 1]);
});

test('a load that waits for the lease of another instance holds no slot meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<{ state: 'over' }>();
  const { admission, asked, load } = open([MISS], { state: 'taken', found: MISS, landed: () => promise });
  const loaded = load();
  await vi.advanceTimersByTimeAsync(0);
  expect(slotsInUse(admission)).toBe(0);
  resolve({ state: 'over' });
  expect(await loaded).toMatchObject({ kind: 'hit' });
  expect([slotsInUse(admission), asked]).toEqual([0, []]);
});
