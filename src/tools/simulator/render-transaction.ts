import { DIALECTS, type Dialect } from './dialect.ts';
import { renderMessage } from './render-message.ts';
import { digest } from './seeded-random.ts';
import type { SimulatedFinality, Transaction } from './trace.ts';

function rootOf(transaction: Transaction): Transaction {
  let root = transaction;
  while (root.parent !== undefined) root = root.parent;
  return root;
}

function accountState(transaction: Transaction, when: 'before' | 'after'): object {
  return {
    hash: digest(transaction.hash, when),
    balance: '4100100',
    account_status: 'active',
    frozen_hash: null,
    data_hash: digest(transaction.hash, 'data', when),
    code_hash: digest(transaction.account.kind, 'code'),
  };
}

function description({ inMessage, parent, children }: Transaction): object {
  if (inMessage === undefined) return { type: 'tick_tock', aborted: false, destroyed: false, is_tock: false };
  return {
    type: 'ord',
    aborted: false,
    destroyed: false,
    credit_first: parent === undefined,
    compute_ph: { skipped: false, success: true, gas_used: '5207', gas_limit: '200000', exit_code: 0, vm_steps: 107 },
    action: { success: true, valid: true, no_funds: false, result_code: 0, msgs_created: children.length },
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
 * A transaction as the indexer's JSON has it, as far as anybody reads it: about 4 KB. Once finalized it renders the same
 * for ever: its messages were all sent when it executed, whether or not they have been executed themselves.
 */
export function renderTransaction(transaction: Transaction, finality: SimulatedFinality, dialect: Dialect): object {
  return {
    account: transaction.account.address,
    hash: transaction.hash,
    lt: String(transaction.lt),
    now: transaction.now,
    ...certainty(transaction, finality, dialect),
    trace_id: rootOf(transaction).hash,
    prev_trans_hash: digest(transaction.hash, 'previous'),
    prev_trans_lt: String(transaction.lt - 1_000_000),
    orig_status: 'active',
    end_status: 'active',
    total_fees: '2239010',
    description: description(transaction),
    block_ref: transaction.block,
    in_msg: transaction.inMessage === undefined ? null : renderMessage(transaction.inMessage),
    out_msgs: transaction.children.flatMap(({ inMessage }) =>
      inMessage === undefined ? [] : [renderMessage(inMessage)],
    ),
    account_state_before: accountState(transaction, 'before'),
    account_state_after: accountState(transaction, 'after'),
  };
}
