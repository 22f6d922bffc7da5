import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderBlock } from '../render-transaction.ts';
import type { BlockSet } from '../trace.ts';

const BLOCKS_BACK = 600;

/** The newest indexed masterchain block and the history floor. */
function answer(question: SimulatorQuestion): object {
  const { chain, databaseAt } = question;
  const blockOf = (seqno: number) => {
    const [blockSet] = question.selectAll<BlockSet | undefined>([chain.block(seqno, databaseAt)]);
    const block = blockSet?.blocks[0];
    if (blockSet === undefined || block === undefined) throw new IndexerRefusal(500, 'no rows in result set');
    return renderBlock(block, blockSet);
  };
  let newest = Math.min(chain.headSeqno, chain.clock.seqnoBy(databaseAt));
  const floor = chain.floorSeqno(databaseAt);
  while (newest > floor && chain.block(newest, databaseAt) === undefined) newest--;
  return { last: blockOf(newest), first: blockOf(floor) };
}

/** Each commit is a new head; those of the last minutes are enough, even if the database falls back by 500 blocks. */
function changes({ chain }: SimulatorQuestion): readonly number[] {
  const { headSeqno } = chain;
  const first = Math.max(chain.floorSeqno(), headSeqno - BLOCKS_BACK);
  return Array.from({ length: headSeqno - first + 1 }, (_, n) => chain.indexedAt(first + n));
}

export const masterchainInfo = { name: 'masterchainInfo', answer, changes } as const satisfies SimulatedOperation;
