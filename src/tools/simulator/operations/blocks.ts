import { type BlockId, blocksOf, masterchainSeqnosOf } from '../blocks.ts';
import type { Chain } from '../chain.ts';
import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { hashesOfBlock, renderBlock } from '../render-transaction.ts';

/**
 * The masterchain seqnos of the block sets that may contain the requested blocks; without a filter by seqno or hash all
 * of them, the newest first.
 */
function seqnosFor(question: SimulatorQuestion): readonly number[] {
  const seqno = question.integer('mc_seqno');
  if (seqno !== undefined) return [seqno];
  const hashes = [question.hash('root_hash'), question.hash('file_hash')].filter((hash) => hash !== undefined);
  if (hashes.length > 0) return hashes.flatMap((hash) => seqnosByHash(question.chain).get(hash) ?? []);
  const own = question.integer('seqno');
  if (own !== undefined) return masterchainSeqnosOf(own).toReversed();
  const { chain, databaseAt } = question;
  const [floor, head] = [chain.floorSeqno(databaseAt), chain.headSeqno];
  return Array.from({ length: head - floor + 1 }, (_, n) => head - n);
}

/** The root and file hashes of the blocks that a chain has made, with the seqnos of their block sets. */
const KNOWN_HASHES = new WeakMap<Chain, Map<string, number>>();
const READ_UP_TO = new WeakMap<Chain, number>();

function seqnosByHash(chain: Chain): ReadonlyMap<string, number> {
  const known = KNOWN_HASHES.get(chain) ?? new Map<string, number>();
  KNOWN_HASHES.set(chain, known);
  for (let seqno = READ_UP_TO.get(chain) ?? chain.floorSeqno(); seqno <= chain.headSeqno; seqno++) {
    for (const block of blocksOf(seqno)) for (const hash of Object.values(hashesOfBlock(block))) known.set(hash, seqno);
  }
  READ_UP_TO.set(chain, chain.headSeqno + 1);
  return known;
}

/** The number that the indexer reads in a shard: hex, or a decimal number that is not hex or has 17 digits or more. */
function shardOf(text: string): bigint {
  const hex = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text)?.[1];
  if (hex !== undefined) return BigInt(`0x${hex}`);
  if (!/^-?\d+$/.test(text))
    throw new IndexerRefusal(422, 'failed to decode: schema: error converting value for "shard"');
  return BigInt.asUintN(64, BigInt(text));
}

function isAsked(block: BlockId, question: SimulatorQuestion): boolean {
  const hashes = hashesOfBlock(block);
  const shard = question.scalar('shard');
  const conditions: readonly (readonly [unknown, unknown])[] = [
    [question.integer('workchain'), block.workchain],
    [shard === undefined ? undefined : shardOf(shard), shardOf(block.shard)],
    [question.integer('seqno'), block.seqno],
    [question.hash('root_hash'), hashes.root_hash],
    [question.hash('file_hash'), hashes.file_hash],
  ];
  return conditions.every(([asked, actual]) => asked === undefined || asked === actual);
}

/** The blocks that match all given filters; may be empty. */
function answer(question: SimulatorQuestion): object {
  const [from, to] = question.page();
  const sort = question.sort();
  const blockSets = seqnosFor(question).flatMap((seqno) => question.chain.block(seqno, question.databaseAt) ?? []);
  // With `sort` both versions order by a time that all blocks of a set share; 1.3 continues by the name of the block.
  const isReversed = sort === 'asc' && question.dialect !== '1.2';
  const ordered = sort === 'asc' ? blockSets.toReversed() : blockSets;
  const found = ordered.flatMap((blockSet) => {
    const asked = blockSet.blocks.filter((block) => isAsked(block, question));
    return (isReversed ? asked.toReversed() : asked).map((block) => ({ block, blockSet }));
  });
  const rows = question.selectAll(found.slice(from, to));
  return { blocks: rows.map(({ block, blockSet }) => renderBlock(block, blockSet)) };
}

export const blocks = {
  name: 'blocks',
  answer,
  changes: (question) => seqnosFor(question).map((seqno) => question.committedAt(seqno)),
} as const satisfies SimulatedOperation;
