import { isObject } from '../../../json-object.ts';
import { decodeHash } from '../../simulator/spellings.ts';
import type { Answered } from '../asker.ts';
import { listed } from '../bodies.ts';
import { checkRepeat } from '../check-answers.ts';
import { checkSet, hashQueries } from '../check-spellings.ts';
import { examine, type Run } from '../examine.ts';
import type { ChainSample } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

const rowsIn = listed('blocks');

/** So many masterchain blocks in a row without a shard block are a chain without shards. */
const MOST_BACK = 10;

/** Checks the blocks of past masterchain blocks, and one of them by all its identifiers. */
async function check(run: Run, { seqnos }: ChainSample): Promise<void> {
  let found: unknown;
  for (const seqno of seqnos) {
    const answered = await examineBlocks(run, `mc_seqno=${seqno}`);
    await checkRepeat(run, answered, `Blocks/?_=1&MC_SEQNO=${seqno}`);
    found ??= shardBlockIn(answered);
  }
  found ??= await shardBlockBefore(run, Math.min(...seqnos));
  if (!isObject(found)) return run.report.notAsked('block', 'blocks?root_hash=', 'no shard block was found');
  const { workchain, shard, seqno, root_hash: root, file_hash: file } = found;
  const name = `workchain=${workchain}&seqno=${seqno}`;
  await checkSet(run, blocks, [`${name}&shard=${shard}`, `${name}&shard=0x${String(shard).toLowerCase()}`]);
  const hash = decodeHash(String(root));
  if (hash !== undefined) await checkSet(run, blocks, hashQueries('root_hash', hash));
  for (const query of [`${name}&shard=${shard}`, `file_hash=${encodeURIComponent(String(file))}`]) {
    await checkRepeat(run, await examineBlocks(run, query));
  }
}

const shardBlockIn = ({ body }: Answered) =>
  rowsIn(body).rows.find((block) => isObject(block) && block['workchain'] === 0);

/** A masterchain block may have no shard block: the nearest one in those before it. */
async function shardBlockBefore({ indexer }: Run, seqno: number): Promise<unknown> {
  for (let back = 1; back <= MOST_BACK; back++) {
    const found = shardBlockIn(await indexer.ask(`blocks?mc_seqno=${seqno - back}`));
    if (found !== undefined) return found;
  }
  return undefined;
}

function examineBlocks(run: Run, query: string) {
  return examine(run, {
    check: 'block',
    rowsIn,
    target: `blocks?${query}`,
    statuses: [200],
    problemsOf: (_, rowCount) => (rowCount === 0 ? ['a block of the past is not there'] : []),
  });
}

export const blocks: VerifiedOperation = {
  name: 'blocks',
  rowsIn,
  badInput: [['mc_seqno=1&limit=1001', 'limit']],
  unknown: (hash) => `root_hash=${encodeURIComponent(hash)}`,
  check,
};
