import { decodeHash } from '../../simulator/spellings.ts';
import { listed } from '../bodies.ts';
import { promiseOf } from '../cache-headers.ts';
import { checkRepeat } from '../check-answers.ts';
import { checkSet, hashQueries } from '../check-spellings.ts';
import { examine, type Run } from '../examine.ts';
import type { ChainSample } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

const rowsIn = listed('transactions');

/** Checks the received messages of indexed transactions: an answer about an external message is never final. */
async function check(run: Run, { chosen, transactions }: ChainSample): Promise<void> {
  const hash = decodeHash(chosen?.messageHash ?? '');
  if (hash === undefined) run.report.notAsked('message', 'transactionsByMessage?msg_hash=', 'no message was found');
  else await checkSet(run, transactionsByMessage, hashQueries('msg_hash', hash));
  for (const { messageHash, hasParent } of transactions) {
    if (messageHash === undefined) continue;
    const answered = await examine(run, {
      check: 'message',
      rowsIn,
      target: `transactionsByMessage?msg_hash=${encodeURIComponent(messageHash)}`,
      statuses: [200],
      problemsOf: ({ headers }, rowCount) => [
        ...(rowCount === 0 ? ['no rows for the message of a transaction'] : []),
        ...(!hasParent && promiseOf(headers) === 'final' ? ['an external message is taken for final'] : []),
      ],
    });
    await checkRepeat(run, answered);
  }
}

export const transactionsByMessage: VerifiedOperation = {
  name: 'transactionsByMessage',
  rowsIn,
  badInput: [[`msg_hash=${'0'.repeat(64)}&limit=1001`, 'limit']],
  unknown: (hash) => `msg_hash=${encodeURIComponent(hash)}`,
  check,
};
