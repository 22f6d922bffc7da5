import { decodeHash } from '../../simulator/spellings.ts';
import { listed } from '../bodies.ts';
import { checkRepeat } from '../check-answers.ts';
import { checkSet, hashQueries } from '../check-spellings.ts';
import { examine, type Run } from '../examine.ts';
import type { ChainSample } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

const rowsIn = listed('traces');

/** Checks the traces of indexed transactions, with actions and without, and by the messages that began the transactions. */
async function check(run: Run, { chosen, transactions }: ChainSample): Promise<void> {
  const hash = decodeHash(chosen?.hash ?? '');
  if (hash === undefined) return run.report.notAsked('trace', 'traces?tx_hash=', 'no transaction was found');
  await checkSet(run, traces, hashQueries('tx_hash', hash));
  for (const { hash, messageHash } of transactions) {
    const query = `tx_hash=${encodeURIComponent(hash)}`;
    const byMessage = messageHash === undefined ? [] : [`msg_hash=${encodeURIComponent(messageHash)}`];
    for (const asked of [query, `${query}&include_actions=true`, ...byMessage]) {
      const target = `traces?${asked}`;
      // A trace is missing before it has ended, and if it began before the history of the indexer.
      const answered = await examine(run, { check: 'trace', rowsIn, target, statuses: [200], problemsOf: () => [] });
      await checkRepeat(run, answered);
    }
  }
}

export const traces: VerifiedOperation = {
  name: 'traces',
  rowsIn,
  badInput: [[`tx_hash=${'0'.repeat(64)}&limit=1001`, 'limit']],
  unknown: (hash) => `trace_id=${encodeURIComponent(hash)}`,
  check,
};
