import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderBlock } from '../render-transaction.ts';
import type { BlockSet } from '../trace.ts';

/** The newest indexed masterchain block and the history floor. */
function answer(question: SimulatorQuestion): object {
  const { chain, databaseAt } = question;
  const blockOf = (seqno: number) => {
    const [blockSet] = question.selectAll<BlockSet | undefined>([chain.block(seqno)]);
    const block = blockSet?.blocks[0];
    if (blockSet === undefined || block === undefined) throw new IndexerRefusal(404, 'masterchain blocks not found');
    return renderBlock(block, blockSet);
  };
  const newest = Math.min(chain.headSeqno, chain.clock.seqnoBy(databaseAt));
  return { last: blockOf(newest), first: blockOf(chain.floorSeqno) };
}

export const masterchainInfo = { name: 'masterchainInfo', answer } as const satisfies SimulatedOperation;
