import { decodeHash } from '../../simulator/spellings.ts';
import { listed } from '../bodies.ts';
import { checkRepeat } from '../check-answers.ts';
import { checkSet, hashQueries } from '../check-spellings.ts';
import { examine, type Run } from '../examine.ts';
import type { ChainSample } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

const rowsIn = listed('transactions');

/** Checks indexed transactions by their hashes. */
async function check(run: Run, { chosen, transactions: sampled }: ChainSample): Promise<void> {
  const hash = decodeHash(chosen?.hash ?? '');
  if (hash === undefined) return run.report.notAsked('transaction', 'transactions?hash=', 'no transaction was found');
  await checkSet(run, transactions, hashQueries('hash', hash));
  for (const { hash } of sampled) {
    const answered = await examine(run, {
      check: 'transaction',
      rowsIn,
      target: `transactions?hash=${encodeURIComponent(hash)}`,
      statuses: [200],
      problemsOf: (_, rowCount) => (rowCount === 1 ? [] : [`${rowCount} rows for one transaction`]),
    });
    await checkRepeat(run, answered);
  }
}

export const transactions: VerifiedOperation = {
  name: 'transactions',
  rowsIn,
  badInput: [[`hash=${'0'.repeat(64)}&limit=1001`, 'limit']],
  unknown: (hash) => `hash=${encodeURIComponent(hash)}`,
  check,
};
