import { isObject, type JsonObject } from '../json-object.ts';
import type { ShownRow } from './evidence.ts';
import { isFinal } from './finality.ts';
import { readLt } from './lt.ts';
import { TRANSFER_OPCODE } from './transfer-body.ts';

/** A transaction as a block shows it. */
export interface BlockRow extends ShownRow {
  /** Raw, in upper case. */
  readonly account: string;
  /** The masterchain block. */
  readonly seqno: number;
  /** The code of its account afterwards; `undefined` if it has none, or the row does not show it. */
  readonly codeHash?: string | undefined;
  /** The state of its account around it, as far as the row shows it. */
  readonly state?: ShownState | undefined;
  /** True if its account does not exist afterwards. */
  readonly isGone?: true | undefined;
  /** Set if it received a `transfer` of jettons and was not aborted. */
  readonly transfer?: ReceivedTransfer | undefined;
}

/** The hashes of code and data before and after a transaction; `undefined` if one of both is missing. */
export interface ShownState {
  /** The shard block: the indexer stores only the last state of an account in it. */
  readonly block: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The message that asks a jetton wallet to transfer jettons. */
export interface ReceivedTransfer {
  /** The sender, raw and in upper case; `undefined` for a message from outside. */
  readonly source: string | undefined;
  /** For {@link recipientIn}. */
  readonly body: unknown;
}

/** A masterchain block in a list of blocks. */
export interface ListedBlock {
  readonly seqno: number;
  /** Its time, in unix seconds. */
  readonly at: number;
}

/** The facts about blocks that an answer shows to the block follower. */
export interface BlockFacts {
  /** The number of transactions of the listed blocks; `undefined` if one block does not state it. */
  readonly transactions: number | undefined;
  /** The listed transactions; `undefined` if a row is not a final transaction. */
  readonly rows: readonly BlockRow[] | undefined;
  readonly blocks: readonly ListedBlock[];
}

/** The facts of a body that is not an answer about blocks. */
export const NO_BLOCK_FACTS: BlockFacts = { transactions: undefined, rows: undefined, blocks: [] };

/** Reads a body that lists blocks (`masterchainBlockShards`, `blocks`) or transactions (`transactionsByMasterchainBlock`). */
export function blockFactsOf({ blocks, transactions }: JsonObject): BlockFacts {
  return {
    transactions: Array.isArray(blocks) ? countIn(blocks) : undefined,
    rows: Array.isArray(transactions) ? rowsOf(transactions) : undefined,
    blocks: Array.isArray(blocks) ? blocks.flatMap(listedBlock) : [],
  };
}

function countIn(blocks: readonly unknown[]): number | undefined {
  let sum = 0;
  for (const block of blocks) {
    const count = isObject(block) ? block['tx_count'] : undefined;
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return undefined;
    sum += count;
  }
  return sum;
}

function rowsOf(transactions: readonly unknown[]): readonly BlockRow[] | undefined {
  const rows = transactions.map(rowOf);
  return rows.every((row) => row !== undefined) ? rows : undefined;
}

/**
 * The final transactions that a body shows, in lists of transactions and in traces, of the masterchain block `from` and
 * later ones.
 */
export function finalRowsIn({ transactions, traces }: JsonObject, from: number): readonly BlockRow[] {
  const listed = Array.isArray(transactions) ? transactions : [];
  const inTraces = (Array.isArray(traces) ? traces : []).flatMap((trace: unknown) =>
    isObject(trace) && isObject(trace['transactions']) ? Object.values(trace['transactions']) : [],
  );
  return [...listed, ...inTraces].flatMap((row: unknown) => {
    const isAsked = isObject(row) && Number(row['mc_block_seqno']) >= from;
    const final = isAsked ? rowOf(row) : undefined;
    return final === undefined ? [] : [final];
  });
}

function rowOf(row: unknown): BlockRow | undefined {
  if (!isFinal(row)) return undefined;
  const { account, hash, now, mc_block_seqno: seqno } = row;
  const lt = readLt(row['lt']);
  const isRow = typeof account === 'string' && typeof hash === 'string' && typeof now === 'number';
  if (!isRow || lt === undefined) return undefined;
  const { account_state_after: state } = row;
  const codeHash = isObject(state) && typeof state['code_hash'] === 'string' ? state['code_hash'] : undefined;
  return {
    account: account.toUpperCase(),
    lt,
    hash,
    now,
    seqno: Number(seqno),
    codeHash,
    state: stateIn(row),
    isGone: isGone(row),
    transfer: transferOf(row),
  };
}

function stateIn(row: JsonObject): ShownState | undefined {
  const { block_ref: block, account_state_before: before, account_state_after: after } = row;
  if (!isObject(block)) return undefined;
  const name = `${block['workchain']} ${block['shard']} ${block['seqno']}`;
  return { block: name, before: hashesIn(before), after: hashesIn(after) };
}

function hashesIn(state: unknown): string | undefined {
  const { code_hash: code, data_hash: data } = isObject(state) ? state : {};
  return typeof code === 'string' && typeof data === 'string' ? `${code} ${data}` : undefined;
}

/** True if a row shows that its account was deleted: then it has no code. */
function isGone({ end_status: status, account_state_after: state }: JsonObject): true | undefined {
  if (typeof status === 'string') return status === 'nonexist' || status === 'uninit' || undefined;
  return state === null || (isObject(state) && state['code_hash'] === null) || undefined;
}

/** The indexer lists no aborted transfer. */
function transferOf({ in_msg: message, description }: JsonObject): ReceivedTransfer | undefined {
  if (!isObject(message) || Number(message['opcode'] ?? 0) !== TRANSFER_OPCODE) return undefined;
  if (isObject(description) && description['aborted'] === true) return undefined;
  const { source, message_content: content } = message;
  return {
    source: typeof source === 'string' ? source.toUpperCase() : undefined,
    body: isObject(content) ? content['body'] : undefined,
  };
}

function listedBlock(block: unknown): ListedBlock[] {
  if (!isObject(block) || block['workchain'] !== -1) return [];
  const [seqno, at] = [block['seqno'], Number(block['gen_utime'])];
  return typeof seqno === 'number' && Number.isSafeInteger(seqno) && Number.isFinite(at) ? [{ seqno, at }] : [];
}
