import type { Account } from './accounts.ts';
import { OPCODES, writeTransfer } from './transfer-body.ts';

/** A message about jettons that an account gets. All others leave the rows of a jetton wallet as they are. */
export type JettonAct =
  /** A jetton begins: its master is deployed. */
  | { readonly kind: 'found' }
  /** The master creates coins for an owner, whose wallet receives them in a later block. */
  | { readonly kind: 'mint'; readonly to: Account; readonly amount: number }
  /**
   * `transfer`, from an owner. In a block after it the recipient's wallet receives the coins. It is aborted if the
   * account is no wallet of this owner with enough coins, and does nothing in an account that never was a wallet.
   */
  | {
      readonly kind: 'send';
      readonly from: Account;
      /** `undefined`: `addr_none`. */
      readonly to: Account | undefined;
      readonly amount: number;
      /** If true, the indexer shows no body. */
      readonly lacksBody?: boolean;
    }
  /** `internal_transfer`, from the sender's wallet or from the master. A wallet that does not exist is deployed. */
  | {
      readonly kind: 'receive';
      readonly from: Account;
      readonly owner: Account;
      readonly master: Account;
      readonly amount: number;
    }
  /** An account that was active before is a jetton wallet from now on. */
  | { readonly kind: 'become'; readonly owner: Account; readonly master: Account }
  /** The wallet gets another owner. */
  | { readonly kind: 'give'; readonly to: Account }
  | { readonly kind: 'delete' }
  /** The wallet runs, and the indexer cannot read its data or its master does not confirm it: nothing changes. */
  | { readonly kind: 'unconfirmed' };

/** A message that an account gets in the block that begins, or some blocks after it; without an act, any message. */
export interface PlannedAct {
  readonly account: Account;
  readonly act: JettonAct | undefined;
  readonly after?: number;
}

/** The row of a jetton wallet. */
export interface JettonRow {
  readonly owner: Account;
  readonly master: Account;
  readonly balance: number;
}

/** The row of a transfer. */
export interface JettonTransfer {
  readonly source: Account;
  readonly destination: Account;
  readonly master: Account;
  readonly amount: number;
}

/** The consequences of a transaction for the tables about jettons and the code of its account. */
export interface JettonEffect {
  /** The new row of the wallet; `null`: the wallet is deleted; absent: it does not change. */
  readonly row?: JettonRow | null;
  /** The new total supply of the master. */
  readonly supply?: number;
  readonly transfer?: JettonTransfer;
  readonly isAborted?: boolean;
  /** The data of the account before and after, as a name: equal names are equal data. `undefined`: unknown. */
  readonly data: { readonly before: string | undefined; readonly after: string | undefined };
  /** The code of the account before and after, by the kind of account that has it; `null`: none. */
  readonly code: { readonly before: Account['kind'] | null; readonly after: Account['kind'] | null };
}

/** The visible part of a message. */
export interface JettonMessage {
  readonly opcode: string;
  /** In base64; `undefined`: any. `null`: the indexer has none. */
  readonly body?: string | null;
}

/** The account that sends the message of an act; `undefined`: it comes from outside. */
export function sourceOf(act: JettonAct): Account | undefined {
  return 'from' in act ? act.from : undefined;
}

/** The message of an act. @param hash Its hash in base64, from which the other data in it is drawn. */
export function messageOf(act: JettonAct, hash: string): JettonMessage {
  switch (act.kind) {
    case 'send': {
      if (act.lacksBody === true) return { opcode: OPCODES.transfer, body: null };
      const seed = Buffer.from(hash, 'base64');
      const { from, to, amount } = act;
      const parties = { destination: to, responseDestination: from, amount };
      const body = writeTransfer({
        ...parties,
        queryId: seed.readBigUInt64BE(),
        hasPayload: seed.readUInt8(31) % 2 === 0,
      });
      return { opcode: OPCODES.transfer, body };
    }
    case 'receive':
      return { opcode: OPCODES.internalTransfer };
    case 'mint':
      return { opcode: OPCODES.mint };
    default:
      return { opcode: '0x00000000' };
  }
}
