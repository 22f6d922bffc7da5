import { expect, test } from 'vitest';
import { FAULTS } from './faults.ts';
import { MUTANTS } from './mutants.ts';
import { PatchedSource } from './patched-source.ts';
import { type RunOptions, runChecker } from './run-checker.ts';
import { Tally } from './tally.ts';

/** How long the checker may look for a broken rule, ms; it needs some seconds. */
const PATIENCE_MS = 120_000;

function world(root: URL, tally: Tally, more: Partial<RunOptions> = {}): RunOptions {
  const options = {
    root,
    tally,
    dialect: '1.3',
    seed: 1,
    instances: 1,
    redis: 'none',
    twoIndexers: false,
    faults: [],
  } as const;
  return { ...options, forMs: PATIENCE_MS, report: () => {}, ...more };
}

test.each(MUTANTS)('the checker notices that $rule', async ({ finding, fault, ...patch }) => {
  await using source = await PatchedSource.make(patch);
  const tally = new Tally(() => {});
  const faults = FAULTS.filter(({ name }) => name === fault);
  const twoIndexers = faults.some((each) => each.twoIndexers);
  const [needed] = faults.flatMap(({ redis }) => redis ?? []);
  const sharing = needed === undefined ? {} : { redis: needed, instances: 2 };
  await runChecker(world(source.root, tally, { faults, twoIndexers, ...sharing, endsAt: finding }));
  expect(tally.findings.map(({ kind }) => kind)).toContain(finding);
});

test('the checker finds nothing in an unchanged copy of the source', async () => {
  const nothing = { file: 'freshness.ts', from: "return 'expired';", to: "return 'expired';" };
  await using source = await PatchedSource.make(nothing);
  const tally = new Tally(() => {});
  await runChecker(world(source.root, tally, { forMs: 10_000 }));
  expect(tally.findings).toEqual([]);
  expect(tally.of('answers')).toBeGreaterThan(100);
});

test.each([
  ['does not occur in the file', 'no such text anywhere'],
  ['occurs more than once', 'export'],
])('a patch is refused if its place %s', async (_, from) => {
  await expect(PatchedSource.make({ file: 'cache/entry.ts', from, to: '' })).rejects.toThrow('exactly once');
});
