import type { Account } from './accounts.ts';
import type { JettonAct, JettonEffect, JettonRow } from './jetton-act.ts';
import type { Transaction } from './trace.ts';

/** A message that an account gets because of another transaction. */
export interface Consequence {
  readonly account: Account;
  readonly act: JettonAct;
}

/** The parts of the population that the ledger needs. */
export interface LedgerDependencies {
  /** The wallet of an owner as its master deploys it. */
  readonly walletOf: (owner: Account, master: Account) => Account;
  /** The row of a jetton wallet that existed before the first block; `undefined` for any other account. */
  readonly firstRowOf: (wallet: Account) => JettonRow | undefined;
}

const NOTHING: readonly Consequence[] = [];

interface ExecutedAct extends Omit<JettonEffect, 'code' | 'data'> {
  readonly consequences?: readonly Consequence[];
}

/** The jettons of the newest block: it executes transactions in the order of their logical times. */
export class JettonLedger {
  readonly #dependencies: LedgerDependencies;
  readonly #wallets = new Map<string, JettonRow>();
  readonly #supplies = new Map<string, number>();
  /** The code of the accounts that have, or had, another one than their kind. */
  readonly #codes = new Map<string, Account['kind'] | null>();

  constructor(dependencies: LedgerDependencies) {
    this.#dependencies = dependencies;
  }

  /** The row of a wallet now. */
  row(wallet: Account): JettonRow | undefined {
    const isUntouched = !this.#codes.has(wallet.address);
    return this.#wallets.get(wallet.address) ?? (isUntouched ? this.#dependencies.firstRowOf(wallet) : undefined);
  }

  /** Executes a transaction, and sets its effect. Returns the messages that it sends. */
  execute(transaction: Transaction): readonly Consequence[] {
    const { account, act } = transaction;
    const { address, kind } = account;
    const isOfJettons = act !== undefined || kind === 'jetton-wallet' || kind === 'jetton-master';
    if (!isOfJettons && !this.#codes.has(address)) return NOTHING;
    const isNew = act?.kind === 'found' || (act?.kind === 'receive' && this.row(account) === undefined);
    const before = this.#codes.get(address) ?? (isNew || this.#codes.has(address) ? null : kind);
    const dataBefore = this.#dataOf(account);
    const { consequences = NOTHING, ...effect } = this.#outcomeOf(account, act);
    const { row, supply } = effect;
    const after = row === null ? null : row !== undefined ? 'jetton-wallet' : supply === undefined ? before : kind;
    if (row === null) this.#wallets.delete(address);
    else if (row !== undefined) this.#wallets.set(address, row);
    if (supply !== undefined) this.#supplies.set(address, supply);
    if (after !== kind) this.#codes.set(address, after);
    else if (before !== kind) this.#codes.delete(address);
    const isOrdinary = before === kind && after === kind && Object.keys(effect).length === 0;
    const data = { before: dataBefore, after: this.#dataOf(account) };
    if (!isOrdinary) transaction.effect = { ...effect, code: { before, after }, data };
    return consequences;
  }

  #dataOf(account: Account): string | undefined {
    const row = this.row(account);
    if (row !== undefined) return `${row.owner.address} ${row.master.address} ${row.balance}`;
    const supply = this.#supplies.get(account.address);
    return supply === undefined ? undefined : String(supply);
  }

  #outcomeOf(account: Account, act: JettonAct | undefined): ExecutedAct {
    const row = this.row(account);
    const supply = this.#supplies.get(account.address);
    switch (act?.kind) {
      case 'found':
        return { supply: 0 };
      case 'mint': {
        const { to: owner, amount } = act;
        const minted = { kind: 'receive', from: account, owner, master: account, amount } as const;
        const wallet = this.#dependencies.walletOf(owner, account);
        return { supply: (supply ?? 0) + amount, consequences: [{ account: wallet, act: minted }] };
      }
      case 'send':
        return this.#sent(account, row, act);
      case 'receive': {
        const { owner, master, amount } = act;
        return {
          row: row === undefined ? { owner, master, balance: amount } : { ...row, balance: row.balance + amount },
        };
      }
      case 'become':
        return { row: { owner: act.owner, master: act.master, balance: 0 } };
      case 'give':
        return row === undefined ? { isAborted: true } : { row: { ...row, owner: act.to } };
      case 'delete':
        return row === undefined ? { isAborted: true } : { row: null };
      case 'unconfirmed':
        return {};
      case undefined:
        return { ...(supply !== undefined && { supply }), ...(row !== undefined && { row }) };
    }
  }

  #sent(account: Account, row: JettonRow | undefined, act: Extract<JettonAct, { kind: 'send' }>): ExecutedAct {
    const { from, to, amount } = act;
    if (row === undefined) return account.kind === 'jetton-wallet' ? { isAborted: true } : {};
    if (row.owner.address !== from.address || row.balance < amount || to === undefined) return { row, isAborted: true };
    const { master } = row;
    const received = { kind: 'receive', from: account, owner: to, master, amount } as const;
    return {
      row: { ...row, balance: row.balance - amount },
      transfer: { source: from, destination: to, master, amount },
      consequences: [{ account: this.#dependencies.walletOf(to, master), act: received }],
    };
  }
}
