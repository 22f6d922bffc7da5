import { expect, test } from 'vitest';
import { type ExplainDependencies, explainWith } from '../../../src/answer/explain.ts';
import type { FoundEntry, Lookup } from '../../../src/cache/tiered-cache.ts';
import { describeExplanation } from '../../../src/operate/describe-explanation.ts';
import { POLICIES } from '../../../src/ton/lifetime-table.ts';
import { OperationsInUse } from '../../../src/ton/operations.ts';
import { anEntry } from '../../support/entry.ts';
import { ACCOUNT } from '../ton/requests.ts';

const entry = anEntry({ freshUntil: 1000 });

/** The explanation of a request for the state of an account whose entry has this state in memory. */
function explain(state: FoundEntry['state'] | 'absent', at = 900) {
  // The cast: a proven entry is only in memory.
  const memory = (state === 'absent' ? { state: 'miss' } : { state, entry, tier: 'memory' }) as Lookup;
  const parts = {
    cache: { inspect: async () => ({ memory, redis: 'not configured' }) },
    operations: new OperationsInUse(['accountStates']),
    network: 'mainnet',
    passed: () => new Error('not passed'),
    indexersFor: () => [],
    policies: POLICIES,
    proof: undefined,
    now: () => at,
  };
  // The cast: these are the parts of the cache that are used.
  return explainWith(parts as unknown as ExplainDependencies)(`accountStates?address=${ACCOUNT}`, {});
}

test.each<[FoundEntry['state'] | 'absent', string]>([
  ['fresh', 'detail=memory'],
  ['stale-while-revalidate', 'detail=memory'],
  ['proven', 'detail=proven'],
  ['stale-if-error', 'a miss'],
  ['absent', 'a miss'],
])('an entry that is %s is explained as what a request gets now: %s', async (state, now) => {
  const text = describeExplanation(await explain(state));
  expect(text.split('\n').find((line) => line.startsWith('now'))).toContain(now);
});

test('an entry within its lifetime that lacks a seen transaction is shown as outdated', async () => {
  expect(describeExplanation(await explain('stale-if-error'))).toMatch(/memory .*outdated: it lacks a transaction/);
  expect(describeExplanation(await explain('stale-if-error', 1100))).not.toContain('outdated');
});

test('an absent response is shown with its lifetime if that is over before anybody can look', async () => {
  expect(describeExplanation(await explain('absent'))).toMatch(
    /memory +absent: a response is fresh for 400 ms at most/,
  );
});
