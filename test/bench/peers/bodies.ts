import { Chain } from '../../../src/tools/simulator/chain.ts';
import { accountsIn, renderAddressBook } from '../../../src/tools/simulator/render-address-book.ts';
import { renderBlock } from '../../../src/tools/simulator/render-block.ts';
import { renderTransaction } from '../../../src/tools/simulator/render-transaction.ts';
import type { Transaction } from '../../../src/tools/simulator/trace.ts';
import { HEAD_SEQNO } from './targets.ts';

// Bodies in the shape of the indexer's, with as many hashes, so that they compress as little. Their transactions are
// years old, so toncache keeps each body for an hour or longer.

/** Years ago, epoch ms. */
const STARTED_AT = 1_700_000_000_000;
const BLOCKS = 1000;

const chain = new Chain({ startAt: STARTED_AT, firstSeqno: HEAD_SEQNO - BLOCKS, historyBlocks: BLOCKS });
chain.advanceTo(STARTED_AT + (BLOCKS - 1) * 400);

/** The body for a masterchain block, about 2 KB, split at every place where the requested seqno has to stand. */
export function blocksBody(): readonly string[] {
  const blockSet = chain.block(chain.headSeqno);
  if (blockSet === undefined) throw new Error('the simulated chain has no block at its head');
  // The masterchain block and two shard blocks.
  const body = JSON.stringify({ blocks: blockSet.blocks.slice(0, 3).map((block) => renderBlock(block, blockSet)) });
  return body.split(String(blockSet.seqno));
}

/** A body of adjacent transactions: `sizeKb` to 10 % more. Throws when the chain has none of that size. */
export function transactionsBody(sizeKb: number): string {
  const all = Array.from({ length: BLOCKS }, (_, back) => chain.block(HEAD_SEQNO - back)?.transactions ?? []).flat();
  const rows = all.filter(({ inMessage }) => inMessage !== undefined);
  for (let first = 0; first < rows.length; first++) {
    let body = '';
    for (let count = 1; body.length < sizeKb * 1000; count++) body = render(rows.slice(first, first + count));
    if (body.length <= sizeKb * 1100) return body;
  }
  throw new Error(`the simulated chain has no transactions that make ${sizeKb} KB`);
}

function render(rows: readonly Transaction[]): string {
  return JSON.stringify({
    transactions: rows.map((row) => renderTransaction(row, 'finalized', '1.2')),
    address_book: renderAddressBook(accountsIn(rows)),
  });
}
