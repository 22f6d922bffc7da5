import type { Account } from './accounts.ts';
import { type BlockId, blockOf } from './blocks.ts';
import { DIALECTS, type Dialect } from './dialect.ts';
import { type JettonMessage, messageOf, sourceOf as sourceOfAct } from './jetton-act.ts';
import type { SimulatorQuestion } from './question.ts';
import { digest } from './seeded-random.ts';
import { type BlockSet, logicalTime, type SimulatedFinality, type Transaction } from './trace.ts';

/** Cells of a body, with zeros between them, that give it the size of a real one, with gzip and without. */
const CELLS = 17;
const ZEROS = 'A'.repeat(20);

/** A body that nobody reads. */
function anyBody(hash: string): string {
  const cells = Array.from({ length: CELLS }, (_, n) => digest(hash, 'body', n).slice(0, 43));
  return `te6cckEBAgEA${cells.join(ZEROS)}`;
}

/** The account that sent the message of a transaction; `undefined`: it came from outside. */
function sourceOf({ parent, act }: Transaction): Account | undefined {
  return act === undefined ? parent?.account : sourceOfAct(act);
}

/** The message that caused a transaction, about 1.2 KB, the same at every rendering. */
function renderMessage(transaction: Transaction): object | null {
  const { messageHash: hash, account, lt, now, act } = transaction;
  if (hash === undefined) return null;
  const source = sourceOf(transaction);
  const isExternal = source === undefined;
  const { opcode, body = anyBody(hash) } = act === undefined ? plainMessage(isExternal) : messageOf(act, hash);
  return {
    hash,
    source: source?.address ?? null,
    destination: account.address,
    value: isExternal ? null : '250000000',
    fwd_fee: isExternal ? null : '266669',
    created_lt: isExternal ? null : String(lt - 1),
    created_at: isExternal ? null : String(now),
    opcode,
    bounce: isExternal ? null : true,
    message_content: body === null ? null : { hash: digest(hash, 'content'), body, decoded: null },
    ...(isExternal ? { hash_norm: hash } : {}),
  };
}

function plainMessage(isExternal: boolean): JettonMessage {
  return { opcode: isExternal ? '0x7369676e' : '0x00000000' };
}

function traceIdOf({ hash, parent }: Transaction): string {
  return parent === undefined ? hash : traceIdOf(parent);
}

/** The hash of the code of each kind of account. That of a wallet is the real one of version 5. */
export function codeHashOf(kind: Account['kind']): string {
  return kind === 'wallet' ? 'IINLe3KxEhR+Gy+0V7hOdNGjDwT3N9T2KmaOlVLSty8=' : digest(kind, 'code');
}

/** The code of an account before or after a transaction, by the kind of account that has it; `null`: none. */
export function codeOf({ account, effect }: Transaction, when: 'before' | 'after'): Account['kind'] | null {
  return effect === undefined ? account.kind : effect.code[when];
}

/** The status of an account after a transaction. */
export function statusAfter(transaction: Transaction): 'active' | 'nonexist' {
  return codeOf(transaction, 'after') === null ? 'nonexist' : 'active';
}

/**
 * The hash of the data of an account, while it has code. A transaction changes the data, but if it leaves the rows of a
 * jetton as they were.
 */
export function dataHashOf(transaction: Transaction, when: 'before' | 'after'): string | null {
  if (codeOf(transaction, when) === null) return null;
  const data = transaction.effect?.data[when];
  return data === undefined ? digest(transaction.hash, 'data', when) : digest(transaction.account.address, data);
}

function accountState(transaction: Transaction, when: 'before' | 'after', finality: SimulatedFinality): object {
  const code = codeOf(transaction, when);
  const without = when === 'before' ? 'uninit' : 'nonexist';
  return {
    hash: digest(transaction.hash, when),
    balance: when === 'before' ? '4100100' : balanceAfter(transaction),
    account_status: code === null ? without : 'active',
    frozen_hash: null,
    // While a transaction is in no block, its effect is not known.
    data_hash:
      finality === 'finalized' ? dataHashOf(transaction, when) : code && digest(transaction.hash, 'data', when),
    code_hash: code === null ? null : codeHashOf(code),
  };
}

/** The balance of the account after a transaction, in nanotons. */
export function balanceAfter({ hash }: Transaction): string {
  return String(4_000_000 + Buffer.from(hash, 'base64').readUInt32BE());
}

/** The number of a wallet's next message after a transaction. */
export function walletSeqnoAfter({ seqno }: Transaction): number {
  return seqno % 100_000;
}

/** The previous transaction in the account's first one. */
export const NO_TRANSACTION = { hash: Buffer.alloc(32).toString('base64'), lt: 0 };

/**
 * The account's previous transaction. While a transaction is in no block, others may still come in between: then it is
 * a guess.
 */
function previousOf(
  transaction: Transaction,
  finality: SimulatedFinality,
): { readonly hash: string; readonly lt: number } {
  if (finality === 'finalized') return transaction.previous ?? NO_TRANSACTION;
  return { hash: digest(transaction.hash, 'previous'), lt: transaction.lt - 1_000_000 };
}

function description(transaction: Transaction): object {
  const { messageHash, children, effect } = transaction;
  if (messageHash === undefined) return { type: 'tick_tock', aborted: false, destroyed: false, is_tock: false };
  const isAborted = effect?.isAborted === true;
  const computePhase = { skipped: false, gas_used: '5207', gas_limit: '200000', vm_steps: 107 };
  return {
    type: 'ord',
    aborted: isAborted,
    destroyed: effect?.row === null,
    credit_first: sourceOf(transaction) === undefined,
    compute_ph: { ...computePhase, success: !isAborted, exit_code: isAborted ? 706 : 0 },
    action: isAborted
      ? null
      : { success: true, valid: true, no_funds: false, result_code: 0, msgs_created: children.length },
  };
}

function certainty(transaction: Transaction, finality: SimulatedFinality, dialect: Dialect): object {
  const { seqno } = transaction;
  if (DIALECTS[dialect].finalityWords) {
    return { mc_block_seqno: finality === 'pending' ? null : seqno, emulated: finality === 'pending', finality };
  }
  // Dialects without `finality` show a confirmed transaction as still emulated (1.2), or as executed but in no
  // masterchain block (spec).
  if (finality === 'finalized') return { mc_block_seqno: seqno, emulated: false };
  return dialect === '1.2' ? { mc_block_seqno: null, emulated: true } : { emulated: finality === 'pending' };
}

/**
 * A transaction in the indexer's JSON, with the fields that toncache, the demo or `verify` read: about 4 KB. A final
 * one always renders the same: its messages were all sent when it executed, whether they have been executed themselves
 * or not.
 */
export function renderTransaction(transaction: Transaction, finality: SimulatedFinality, dialect: Dialect): object {
  const previous = previousOf(transaction, finality);
  return {
    account: transaction.account.address,
    hash: transaction.hash,
    lt: String(transaction.lt),
    now: transaction.now,
    ...certainty(transaction, finality, dialect),
    trace_id: traceIdOf(transaction),
    prev_trans_hash: previous.hash,
    prev_trans_lt: String(previous.lt),
    description: description(transaction),
    block_ref: blockOf(transaction.account, transaction.seqno),
    in_msg: renderMessage(transaction),
    out_msgs: transaction.children.map(renderMessage),
    account_state_before: accountState(transaction, 'before', finality),
    account_state_after: accountState(transaction, 'after', finality),
  };
}

function nameOf({ workchain, shard, seqno }: BlockId): string {
  return `${workchain},${shard},${seqno}`;
}

/** The hashes that identify a block in requests. */
export function hashesOfBlock(block: BlockId): { readonly root_hash: string; readonly file_hash: string } {
  const name = nameOf(block);
  return { root_hash: digest(name, 'root'), file_hash: digest(name, 'file') };
}

const KEY_BLOCK_EVERY = 1000;

/** A block of a block set with the 29 fields of the indexer's JSON: 0.9 KB, the same at every rendering. */
export function renderBlock(block: BlockId, blockSet: BlockSet): object {
  const name = nameOf(block);
  const transactions = blockSet.transactions.filter(
    ({ account, seqno }) => blockOf(account, seqno).seqno === block.seqno,
  );
  return {
    ...block,
    ...hashesOfBlock(block),
    global_id: -239,
    version: 0,
    after_merge: false,
    before_split: false,
    after_split: false,
    want_merge: true,
    want_split: false,
    key_block: false,
    vert_seqno_incr: false,
    flags: 1,
    gen_utime: String(Math.floor(blockSet.committedAt / 1000)),
    start_lt: String(logicalTime(blockSet.seqno, 0)),
    end_lt: String(logicalTime(blockSet.seqno + 1, 0)),
    validator_list_hash_short: Buffer.from(digest(name, 'validators'), 'base64').readUInt32BE(),
    gen_catchain_seqno: Math.floor(blockSet.seqno / KEY_BLOCK_EVERY),
    min_ref_mc_seqno: blockSet.seqno - 7,
    prev_key_block_seqno: blockSet.seqno - 1 - ((blockSet.seqno - 1) % KEY_BLOCK_EVERY),
    vert_seqno: 0,
    master_ref_seqno: block.workchain === -1 ? 0 : blockSet.seqno - 1,
    rand_seed: digest(name, 'random'),
    created_by: digest(name, 'creator'),
    tx_count: transactions.length,
    masterchain_block_ref: blockSet.blocks[0],
    prev_blocks: [{ ...block, seqno: block.seqno - 1 }],
  };
}

const INTERFACES: Readonly<Record<Account['kind'], readonly string[]>> = {
  wallet: ['wallet_v5r1'],
  'jetton-wallet': ['jetton_wallet'],
  'jetton-master': ['jetton_master'],
  contract: ['dedust_pool'],
};

/** Every account in these transactions, each once, in the order of their addresses. */
export function accountsIn(transactions: Iterable<Transaction>): readonly Account[] {
  const named = new Map<string, Account>();
  for (const transaction of transactions) {
    const source = sourceOf(transaction);
    for (const { account } of [transaction, ...transaction.children]) named.set(account.address, account);
    if (source !== undefined) named.set(source.address, source);
  }
  return [...named.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
}

/** `address_book`: the shown form of each account. */
export function renderAddressBook(accounts: readonly Account[]): object {
  return Object.fromEntries(
    accounts.map(({ address, friendly, kind }) => [
      address,
      { user_friendly: friendly, domain: null, interfaces: INTERFACES[kind] },
    ]),
  );
}

/** `metadata`: the indexer's data about the jetton wallets among the accounts. */
export function renderMetadata(accounts: readonly Account[]): object {
  const wallets = accounts.filter(({ kind }) => kind === 'jetton-wallet');
  const extra = { balance: '4100100', decimals: '6', uri: 'https://jettons.example/sim.json' };
  const token = { valid: true, type: 'jetton_wallets', name: 'Simulated', symbol: 'SIM', extra };
  return Object.fromEntries(wallets.map(({ address }) => [address, { is_indexed: true, token_info: [token] }]));
}

/** A list of transactions with its address book, as in several operations. Uncommitted transactions are pending. */
export function renderTransactions(transactions: readonly Transaction[], question: SimulatorQuestion): object {
  const { chain, databaseAt, dialect } = question;
  const finalityOf = ({ hash }: Transaction) =>
    chain.transaction(hash, databaseAt) === undefined ? 'pending' : 'finalized';
  return {
    transactions: transactions.map((transaction) => renderTransaction(transaction, finalityOf(transaction), dialect)),
    address_book: question.flag('X-No-Address-Book') ? {} : renderAddressBook(accountsIn(transactions)),
  };
}
