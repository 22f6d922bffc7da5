import { isObject } from '../../../json-object.ts';
import { decodeHash } from '../../simulator/spellings.ts';
import { listed } from '../bodies.ts';
import { checkRepeat } from '../check-answers.ts';
import { checkSet, hashQueries } from '../check-spellings.ts';
import { examine, type Run } from '../examine.ts';
import type { ChainSample } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

const rowsIn = listed('blocks');

/** Checks the blocks of past masterchain blocks, and one of them by all its identifiers. */
async function check(run: Run, { seqnos }: ChainSample): Promise<void> {
  let found: unknown;
  for (const seqno of seqnos) {
    const answered = await examineBlocks(run, `mc_seqno=${seqno}`);
    await checkRepeat(run, answered, `Blocks/?_=1&MC_SEQNO=${seqno}`);
    found ??= rowsIn(answered.body).rows.find((block) => isObject(block) && block['workchain'] === 0);
  }
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
