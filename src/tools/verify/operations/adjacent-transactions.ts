import { decodeHash, hashSpellings } from '../../simulator/spellings.ts';
import { isUnchanged, listed } from '../bodies.ts';
import { promiseOf } from '../cache-headers.ts';
import { checkRepeat } from '../check-answers.ts';
import { checkSet, hashQueries } from '../check-spellings.ts';
import { examine, type Run } from '../examine.ts';
import type { ChainSample } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

const rowsIn = listed('transactions');

/** Checks the spellings of a hash, and that parents and children of indexed transactions are answered. */
async function check(run: Run, sample: ChainSample): Promise<void> {
  const hash = decodeHash(sample.chosen?.hash ?? '');
  if (hash === undefined) run.report.notAsked('spellings', 'a hash', 'no transaction was found');
  else {
    await checkSet(run, adjacentTransactions, hashQueries('hash', hash));
    await checkIndexerAgrees(run, hash);
  }
  await checkAdjacent(run, sample);
}

/**
 * Checks that other spellings mean the same to the indexer as the canonical one, which is the only one that toncache
 * sends.
 */
async function checkIndexerAgrees(run: Run, hash: Buffer): Promise<void> {
  const { base64, hex, base64url } = hashSpellings(hash);
  const target = (spelling: string) => `adjacentTransactions?direction=in&hash=${encodeURIComponent(spelling)}`;
  const answered = await run.toncache.ask(target(base64));
  const problems: string[] = [];
  for (const spelling of [hex, base64url]) {
    const direct = await run.indexer.ask(target(spelling));
    if (direct.status !== answered.status || !isUnchanged(answered.body, direct.body)) {
      problems.push(`the indexer sends another response for ${spelling} (status ${direct.status})`);
    }
  }
  run.report.add({ check: 'canonical spelling', asked: target(base64), problems, detail: `${answered.status}` });
}

/** Checks that parents and children of indexed transactions are answered, or absent in the indexer's own form. */
async function checkAdjacent(run: Run, { transactions }: ChainSample): Promise<void> {
  const found = { in: 0, out: 0 };
  for (const { hash } of transactions) {
    for (const direction of ['in', 'out', undefined] as const) {
      const query = direction === undefined ? '' : `&direction=${direction}`;
      const answered = await examine(run, {
        check: 'adjacent',
        rowsIn,
        target: `adjacentTransactions?hash=${encodeURIComponent(hash)}${query}`,
        statuses: [200, 404],
        // Another child can always come, so clients must not keep a list of children as final.
        problemsOf: ({ headers }) =>
          direction !== 'in' && promiseOf(headers) === 'final' ? ['children are taken for final'] : [],
      });
      if (direction !== undefined && answered.status === 200) found[direction]++;
      await checkRepeat(run, answered);
    }
  }
  const among = `${transactions.length} transactions`;
  if (found.in === 0) run.report.notAsked('adjacent', 'parents', `none of ${among} has one`);
  if (found.out === 0) run.report.notAsked('adjacent', 'children', `none of ${among} has one`);
}

export const adjacentTransactions: VerifiedOperation = {
  name: 'adjacentTransactions',
  rowsIn,
  badInput: [
    ['', 'hash'],
    ['hash=', 'hash'],
    ['hash=%ff%zz', 'hash'],
  ],
  unknown: (hash) => `hash=${encodeURIComponent(hash)}`,
  check,
};
