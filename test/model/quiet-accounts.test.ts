import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cases } from '../support/property-runs.ts';
import { type Patch, PatchedSource } from '../truth/patched-source.ts';
import { outdatedResults, partsIn, quietSchedules } from './quiet-accounts.ts';

const ROOT = new URL('../../', import.meta.url);
const RUNS = cases(1000);

const QUIET = 'proof/quiet.ts';

/** Each rule of the proof, without which a result is outdated. */
const MUTANTS: readonly (Patch & { readonly rule: string })[] = [
  {
    rule: 'transactions seen before the request count',
    file: QUIET,
    from: 'if (lastAt >= quietFrom) return',
    to: 'if (lastAt >= askedAt) return',
  },
  {
    rule: 'a result has no lifetime',
    file: 'ton/lifetime-table.ts',
    from: "methodResult: row('live', [0, 0, 0])",
    to: "methodResult: row('live', [400, 0, 0])",
  },
  {
    rule: 'a result is equal twice',
    file: QUIET,
    from: "return isEqualTwice ? undefined : 'asked-once';",
    to: 'return undefined;',
  },
  {
    rule: 'transactions in answers count',
    file: 'proof/proofs.ts',
    from: 'touches.add(this.#judged(unread), this.isBeginning);',
    to: '',
  },
  {
    rule: 'a missing hash counts as changed',
    file: 'proof/touches.ts',
    from: 'after !== undefined && after === before',
    to: 'after === before',
  },
  {
    rule: 'each transaction counts for a method that may read the balance',
    file: QUIET,
    from: "new Set(['get_wallet_address', ",
    to: "new Set(['get_wallet_address', 'get_wallet_data', ",
  },
  {
    rule: 'the instant counts at which a transaction was seen, not its own time',
    file: 'proof/touches.ts',
    from: 'return this.#touches.get(account)?.at(-1)?.batch.seenAt;',
    to: 'return (this.#touches.get(account)?.at(-1)?.now ?? -Infinity) * 1000;',
  },
  {
    rule: 'a transaction of an account with unchanged hashes counts from the one before',
    file: 'proof/touches.ts',
    from: 'changedAt: changeOf(last)',
    to: 'changedAt: -Infinity',
  },
  {
    rule: 'an unchanged state is the last known one: otherwise it hides a transaction that is not read yet',
    file: 'proof/touches.ts',
    from: 'last === undefined ? isBeginning : after === last.state;',
    to: 'true;',
  },
  {
    rule: 'a result without a lifetime is not fresh by a clock that is behind',
    file: 'cache/tiered-cache.ts',
    from: "if (isNeverKept(entry)) return 'expired';",
    to: '',
  },
  {
    rule: 'a result from Redis is as old as its request',
    file: 'answer/redis-judge.ts',
    from: 'monotonic() - Math.max(0, now() - entry.askedAt) - entry.ageValueSeconds * 1000',
    to: 'monotonic()',
  },
  {
    rule: 'a result from Redis is equal twice only if it was',
    file: 'answer/redis-judge.ts',
    from: 'askedAt, entry.equalMs)',
    to: 'askedAt, entry.equalMs ?? 3000)',
  },
  {
    rule: 'the equal result of one from Redis came after the last transaction',
    file: QUIET,
    from: 'equalMs === undefined ? undefined : askedAt - equalMs',
    to: 'equalMs === undefined ? undefined : askedAt - APART_MS',
  },
];

describe('results of get-methods that a quiet account proves', () => {
  test('lack no transaction that was seen when they were served', async () => {
    const parts = await partsIn(ROOT);
    let [proven, taken] = [0, 0];
    await fc.assert(
      fc.asyncProperty(quietSchedules, async (schedule) => {
        const judged = await outdatedResults(schedule, parts);
        proven += judged.proven;
        taken += judged.taken;
        expect(judged.outdated).toEqual([]);
        // The method that reads the time never gives the same answer twice.
        expect(judged.provenByTime).toBe(0);
      }),
      RUNS,
    );
    // Otherwise the property would show nothing.
    expect(proven).toBeGreaterThan(RUNS.numRuns);
    expect(taken).toBeGreaterThan(RUNS.numRuns / 10);
    console.log(proven, taken, RUNS.numRuns);
  });

  test.each(MUTANTS)('need the rule: $rule', async (patch) => {
    await using source = await PatchedSource.make(patch);
    const parts = await partsIn(source.root);
    const { failed } = await fc.check(
      fc.asyncProperty(quietSchedules, async (schedule) => {
        const { outdated, provenByTime } = await outdatedResults(schedule, parts);
        return outdated.length === 0 && provenByTime === 0;
      }),
      { numRuns: 5000, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });
});
