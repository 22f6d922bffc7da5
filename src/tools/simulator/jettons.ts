import { type Account, type Accounts, makeAccount } from './accounts.ts';
import type { BlockClock } from './blocks.ts';
import type { JettonAct, JettonRow } from './jetton-act.ts';
import { JettonLedger } from './jetton-ledger.ts';
import { type Commits, JettonTables } from './jetton-tables.ts';
import { type Holding, JettonTraffic, type JettonTrafficOptions } from './jetton-traffic.ts';
import { digest } from './seeded-random.ts';
import type { AccountId } from './spellings.ts';
import type { SteadyJetton } from './steady-jetton.ts';
import { loneTransaction, type Transaction } from './trace.ts';

/** The objects of a chain that its jettons need. */
export interface JettonsDependencies {
  readonly seed: number;
  readonly clock: BlockClock;
  readonly accounts: Accounts;
  /** Accounts that can hold the steady jetton. */
  readonly holders: readonly Account[];
  readonly commits: Commits;
  /** `undefined`: nothing happens but the acts of tests, and the jetton wallets in traces run. */
  readonly traffic: JettonTrafficOptions | undefined;
}

/** Above the logical times of all other transactions in a block. */
const FROM_LT = 996_000;

/** The wallet of each jetton wallet in traces holds this. */
const FIRST_BALANCE = 4_100_100;

/** The jettons of a chain: masters, owners, wallets and transfers. The same for the same seed, clock and acts. */
export class Jettons {
  readonly tables: JettonTables;
  readonly masters: readonly Account[];
  readonly #dependencies: JettonsDependencies;
  readonly #ledger: JettonLedger;
  readonly #traffic: JettonTraffic | undefined;
  readonly #populated: ReadonlyMap<string, JettonRow>;
  readonly #known = new Map<string, Account>();
  /** By the seqno of a block that has not begun. */
  readonly #counts = new Map<number, number>();

  constructor(dependencies: JettonsDependencies) {
    const { seed, accounts, commits, traffic, holders } = dependencies;
    this.#dependencies = dependencies;
    this.tables = new JettonTables(commits);
    this.masters = accounts.jettonMasters;
    this.#populated = new Map(accounts.jettonWallets.map((wallet, n) => [wallet.address, this.#firstRow(n)]));
    this.#ledger = new JettonLedger({
      walletOf: (owner, master) => this.walletOf(owner, master),
      firstRowOf: ({ address }) => this.#populated.get(address),
    });
    const { blockMs } = dependencies.clock;
    const walletOf = (owner: Account, master: Account) => this.walletOf(owner, master);
    const holdingsOf = (owner: Account) => this.#holdingsOf(owner);
    this.#traffic =
      traffic && new JettonTraffic({ seed, blockMs, masters: this.masters, holders, walletOf, holdingsOf, ...traffic });
  }

  /** The owners of the traffic: those that are polled, which do nothing themselves. */
  get owners(): readonly Account[] {
    return this.#traffic?.owners ?? [];
  }

  /** Owners of wallets that have a transaction in nearly every block. */
  get busyOwners(): readonly Account[] {
    return this.#traffic?.busyOwners ?? [];
  }

  /** The jetton whose master and wallets hardly change. */
  get steady(): SteadyJetton | undefined {
    return this.#traffic?.steady;
  }

  /** The account of an owner's wallet as its master deploys it. */
  walletOf(owner: Account, master: Account): Account {
    const key = `${owner.address} ${master.address}`;
    const hash = () => Buffer.from(digest(this.#dependencies.seed, 'wallet', key), 'base64');
    const wallet = this.#known.get(key) ?? makeAccount('jetton-wallet', hash());
    this.#known.set(key, wallet);
    return wallet;
  }

  /** The address of the wallet that an owner with any address has, or would have. */
  walletOfAddress({ workchain, hash }: AccountId, master: Account): Account {
    return this.walletOf(makeAccount('wallet', hash, workchain), master);
  }

  /** The transaction of an account that gets a message in a masterchain block; without an act, any message. */
  plan(account: Account, act: JettonAct | undefined, seqno: number): Transaction {
    const { seed, clock } = this.#dependencies;
    const n = this.#counts.get(seqno) ?? 0;
    this.#counts.set(seqno, n + 1);
    const parts = [seed, 'jettons', seqno, n];
    const planned = { hash: digest(...parts), account, messageHash: digest(...parts, 'message') };
    return { ...loneTransaction(planned, { clock, seqno, n: FROM_LT + n }), ...(act !== undefined && { act }) };
  }

  /** The transactions that the traffic adds when a block begins; some are in later blocks. */
  begin(seqno: number): readonly Transaction[] {
    const planned = this.#traffic?.plan(seqno - this.#dependencies.clock.firstSeqno) ?? [];
    return planned.map(({ account, act, after = 0 }) => this.plan(account, act, seqno + after));
  }

  /** Executes a transaction of the block that begins. Returns those that its messages cause, in later blocks. */
  execute(transaction: Transaction): readonly Transaction[] {
    const { seqno, hash } = transaction;
    this.#counts.delete(seqno);
    const consequences = this.#ledger.execute(transaction);
    if (transaction.effect !== undefined) this.tables.add(transaction);
    return consequences.map(({ account, act }) => this.plan(account, act, seqno + blocksAfter(hash)));
  }

  #holdingsOf(owner: Account): readonly Holding[] {
    return this.tables.walletsOf(owner.address).flatMap((wallet) => {
      const row = this.#ledger.row(wallet);
      return row?.owner === owner ? [{ wallet, balance: row.balance }] : [];
    });
  }

  #firstRow(n: number): JettonRow {
    const { wallets } = this.#dependencies.accounts;
    const [owner, master] = [wallets[n % wallets.length], this.masters[n % this.masters.length]];
    if (owner === undefined || master === undefined) throw new Error('there are no accounts');
    return { owner, master, balance: FIRST_BALANCE };
  }
}

/** A message is received one or two blocks after the transaction with this hash sent it. */
function blocksAfter(hash: string): number {
  return 1 + (Buffer.from(hash, 'base64').readUInt8() % 2);
}
