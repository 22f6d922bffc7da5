import { listed } from '../bodies.ts';
import { checkRepeat } from '../check-answers.ts';
import { examine, type Run, unkeepable } from '../examine.ts';
import type { ChainSample } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

const rowsIn = listed('transactions');

/** Checks pages of past blocks, and that the page after the last one is empty and must not be kept by clients. */
async function check(run: Run, { seqnos }: ChainSample): Promise<void> {
  for (const seqno of seqnos) {
    const query = `seqno=${seqno}&limit=20`;
    const question = { check: 'block page', rowsIn, statuses: [200] };
    const target = `transactionsByMasterchainBlock?${query}`;
    const answered = await examine(run, { ...question, target, problemsOf: () => [] });
    await checkRepeat(run, answered, `TransactionsByMasterchainBlock/?_=1&LIMIT=020&seqno=${seqno}`);
    await examine(run, {
      ...question,
      target: `${target}&offset=1000000`,
      problemsOf: (behind, rowCount) => [
        ...unkeepable(behind),
        ...(rowCount === 0 ? [] : ['rows behind the last one']),
      ],
    });
  }
}

export const transactionsByMasterchainBlock: VerifiedOperation = {
  name: 'transactionsByMasterchainBlock',
  rowsIn,
  badInput: [['seqno=1&limit=1001', 'limit']],
  unknown: () => 'seqno=2147483647',
  check,
};
