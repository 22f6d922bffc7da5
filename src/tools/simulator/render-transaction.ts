import { DIALECTS, type Dialect } from './dialect.ts';
import { renderMessage } from './render-message.ts';
import { digest } from './seeded-random.ts';
import type { SimulatedFinality, Transaction } from './trace.ts';

const NO_HASH = Buffer.alloc(32).toString('base64');

function rootOf(transaction: Transaction): Transaction {
  let root = transaction;
  while (root.parent !== undefined) root = root.parent;
  return root;
}

function accountState(transaction: Transaction, when: 'before' | 'after', balance: number): object {
  return {
    hash: digest(transaction.hash, when),
    balance: String(balance),
    extra_currencies: {},
    account_status: 'active',
    frozen_hash: null,
    data_hash: digest(transaction.hash, 'data', when),
    code_hash: digest(transaction.account.kind, 'code'),
  };
}

function ordinaryDescription(transaction: Transaction, gasUsed: number): object {
  const created = transaction.children.length;
  return {
    type: 'ord',
    aborted: false,
    destroyed: false,
    credit_first: transaction.parent === undefined,
    storage_ph: { storage_fees_collected: String(gasUsed % 97), status_change: 'unchanged' },
    credit_ph: { credit: String(gasUsed * 3571) },
    compute_ph: {
      skipped: false,
      success: true,
      msg_state_used: false,
      account_activated: false,
      gas_fees: String(gasUsed * 400),
      gas_used: String(gasUsed),
      gas_limit: '200000',
      gas_credit: '10000',
      mode: 0,
      exit_code: 0,
      vm_steps: gasUsed % 389,
      vm_init_state_hash: NO_HASH,
      vm_final_state_hash: NO_HASH,
    },
    action: {
      success: true,
      valid: true,
      no_funds: false,
      status_change: 'unchanged',
      total_fwd_fees: String(created * 400_000),
      total_action_fees: String(created * 133_331),
      result_code: 0,
      tot_actions: created,
      spec_actions: 0,
      skipped_actions: 0,
      msgs_created: created,
      action_list_hash: digest(transaction.hash, 'actions'),
      tot_msg_size: { cells: String(created * 2), bits: String(created * 1400) },
    },
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
 * A transaction as the indexer's JSON has it, about 4 KB. Once finalized it renders the same for ever: its messages were
 * all sent when it executed, whether or not they have been executed themselves.
 */
export function renderTransaction(transaction: Transaction, finality: SimulatedFinality, dialect: Dialect): object {
  const drawn = Buffer.from(digest(transaction.hash, 'numbers'), 'base64');
  const gasUsed = 900 + (drawn.readUInt16LE(0) % 14_000);
  const balance = drawn.readUInt32LE(2) * 10;
  const previousLt = transaction.lt - 1_000_000 * (1 + (drawn.readUInt8(8) % 90));
  return {
    account: transaction.account.address,
    hash: transaction.hash,
    lt: String(transaction.lt),
    now: transaction.now,
    ...certainty(transaction, finality, dialect),
    trace_id: rootOf(transaction).hash,
    prev_trans_hash: digest(transaction.hash, 'previous'),
    prev_trans_lt: String(previousLt),
    orig_status: 'active',
    end_status: 'active',
    total_fees: String(gasUsed * 430),
    total_fees_extra_currencies: {},
    description:
      transaction.inMessage === undefined
        ? { type: 'tick_tock', aborted: false, destroyed: false, is_tock: false, installed: false }
        : ordinaryDescription(transaction, gasUsed),
    block_ref: transaction.block,
    in_msg: transaction.inMessage === undefined ? null : renderMessage(transaction.inMessage),
    out_msgs: transaction.children.flatMap(({ inMessage }) =>
      inMessage === undefined ? [] : [renderMessage(inMessage)],
    ),
    account_state_before: accountState(transaction, 'before', balance),
    account_state_after: accountState(transaction, 'after', balance + gasUsed * 100),
  };
}
