import { Chain } from '../../../src/simulator/chain.ts';
import { accountsIn, renderAddressBook } from '../../../src/simulator/render-address-book.ts';
import { renderBlock } from '../../../src/simulator/render-block.ts';
import { renderTransaction } from '../../../src/simulator/render-transaction.ts';
import type { Transaction } from '../../../src/simulator/trace.ts';
import { HEAD_SEQNO } from './targets.ts';

// Bodies as the indexer has them, with as much in them that cannot be compressed. They are old, so they are cached for
// an hour at least.

/** Long ago. */
const STARTED_AT = 1_700_000_000_000;
const BLOCKS = 1000;

const chain = new Chain({ startAt: STARTED_AT, firstSeqno: HEAD_SEQNO - BLOCKS, historyBlocks: BLOCKS });
chain.advanceTo(STARTED_AT + (BLOCKS - 1) * 400);

/** The blocks of a masterchain block, about 2 KB, cut where the seqno that was asked for has to stand. */
export function blocksBody(): readonly string[] {
  const blockSets = Array.from({ length: BLOCKS }, (_, back) => chain.block(HEAD_SEQNO - back));
  const blockSet = blockSets.find((candidate) => candidate?.blocks.length === 2);
  if (blockSet === undefined) throw new Error('the simulated chain has no masterchain block with one shard block');
  const body = JSON.stringify({ blocks: blockSet.blocks.map((block) => renderBlock(block, blockSet)) });
  return body.split(String(blockSet.seqno));
}

/** Adjacent transactions, as many as make that many KB and no more. */
export function transactionsBody(sizeKb: number): string {
  const rows: Transaction[] = [];
  let body = '';
  for (let seqno = HEAD_SEQNO - BLOCKS; ; seqno++) {
    for (const transaction of chain.block(seqno)?.transactions ?? []) {
      if (transaction.inMessage === undefined) continue;
      const longer = render([...rows, transaction]);
      if (longer.length > sizeKb * 1050) return body;
      rows.push(transaction);
      body = longer;
    }
  }
}

function render(rows: readonly Transaction[]): string {
  return JSON.stringify({
    transactions: rows.map((row) => renderTransaction(row, 'finalized', '1.2')),
    address_book: renderAddressBook(accountsIn(rows)),
  });
}
