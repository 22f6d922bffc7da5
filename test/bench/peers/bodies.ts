import { Chain } from '../../../src/tools/simulator/chain.ts';
import {
  accountsIn,
  renderAddressBook,
  renderBlock,
  renderTransaction,
} from '../../../src/tools/simulator/render-transaction.ts';
import { digest } from '../../../src/tools/simulator/seeded-random.ts';
import type { Transaction } from '../../../src/tools/simulator/trace.ts';
import { HEAD_SEQNO } from './targets.ts';

// Bodies like the indexer's, with as many hashes, so that they compress equally badly. Their transactions are years
// old, so toncache keeps each body for an hour or longer.

/** Years ago, epoch ms. */
const STARTED_AT = 1_700_000_000_000;
const BLOCKS = 1000;

const chain = new Chain({ startAt: STARTED_AT, firstSeqno: HEAD_SEQNO - BLOCKS, historyBlocks: BLOCKS });
chain.advanceTo(STARTED_AT + (BLOCKS - 1) * 400);

/** The body for a masterchain block, about 2 KB, split at every place of the requested seqno. */
export function blocksBody(): readonly string[] {
  const blockSet = chain.block(chain.headSeqno);
  if (blockSet === undefined) throw new Error('the simulated chain has no block at its head');
  // The masterchain block and a shard block.
  const body = JSON.stringify({ blocks: blockSet.blocks.slice(0, 2).map((block) => renderBlock(block, blockSet)) });
  return body.split(String(blockSet.seqno));
}

/** A body of adjacent transactions of `sizeKb`: as many as fit, and hashes in a member that toncache does not read. */
export function transactionsBody(sizeKb: number): string {
  const all = Array.from(
    { length: BLOCKS },
    (_, back) => chain.block(chain.headSeqno - back)?.transactions ?? [],
  ).flat();
  const rows = all.filter(({ messageHash }) => messageHash !== undefined);
  const bytes = sizeKb * 1000;
  let count = 1;
  while (count < rows.length && render(rows.slice(0, count + 1)).length <= bytes) count++;
  const fitting = rows.slice(0, count);
  return render(fitting, Math.max(0, bytes - render(fitting).length));
}

/** The same as a page of a masterchain block, split at every place of the requested seqno. */
export function pageBody(sizeKb: number): readonly string[] {
  return transactionsBody(sizeKb).split(/(?<="mc_block_seqno":)\d+/);
}

function render(rows: readonly Transaction[], paddingBytes = 0): string {
  return JSON.stringify({
    transactions: rows.map((row) => renderTransaction(row, 'finalized', '1.2')),
    address_book: renderAddressBook(accountsIn(rows)),
    padding: Array.from({ length: paddingBytes / 40 }, (_, number) => digest('padding', number))
      .join('')
      .slice(0, paddingBytes),
  });
}
