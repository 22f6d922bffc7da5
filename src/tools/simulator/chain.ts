import { type Account, Accounts } from './accounts.ts';
import { BlockClock, blocksOf } from './blocks.ts';
import { Histories } from './histories.ts';
import { IdleAccounts, type IdleAccountsOptions } from './idle-accounts.ts';
import type { JettonAct } from './jetton-act.ts';
import type { JettonTrafficOptions } from './jetton-traffic.ts';
import { Jettons } from './jettons.ts';
import { digest, SeededRandom } from './seeded-random.ts';
import {
  type BlockSet,
  knownTransactions,
  logicalTime,
  loneTransaction,
  planTrace,
  type Trace,
  type Transaction,
} from './trace.ts';

/** The options of a simulated chain. */
export interface ChainOptions {
  /** The commit of its first masterchain block, epoch ms. The chain contains nothing earlier. */
  readonly startAt: number;
  /** Same seed, same chain. */
  readonly seed?: number;
  readonly blockMs?: number;
  readonly firstSeqno?: number;
  /** The number of committed masterchain blocks that are kept; older ones are below the history floor. */
  readonly historyBlocks?: number;
  /** External messages that the chain's own accounts send in a masterchain block, on average. */
  readonly messagesPerBlock?: number;
  /** Share (0..1) of traces with a part that executes 2 to 8 s after the rest. */
  readonly delayedShare?: number;
  /** Share (0..1) of traces that are emulated and never executed; those of `send` always execute. */
  readonly invalidatedShare?: number;
  /** The time after each change of a trace until its actions follow, as by the classifier. */
  readonly classifierDelayMs?: number;
  /**
   * If true, adjacent transactions are listed once they are emulated (not final until a block commits them), and a
   * trace once its first transaction is committed.
   */
  readonly listsUnderWay?: boolean;
  /** Accounts that do little. Default: none. */
  readonly idle?: IdleAccountsOptions;
  /** Owners of jetton wallets. Default: none, but the jetton wallets in traces have owners, too. */
  readonly jettons?: JettonTrafficOptions;
}

const DEFAULTS = {
  seed: 1,
  blockMs: 400,
  firstSeqno: 62_000_000,
  historyBlocks: 2_000,
  messagesPerBlock: 2,
  delayedShare: 0.15,
  invalidatedShare: 0,
  classifierDelayMs: 0,
  listsUnderWay: false,
  idle: { count: 0, everyMs: Number.POSITIVE_INFINITY },
};

/** Above the logical times that traces use in a block. */
const DEPOSITS_FROM_LT = 901_000;
/** The `n` of the idle accounts' own transactions. */
const IDLE_N = 28_999;

/**
 * This many blocks below the floor can still be read, at an instant with a lower floor: more than a database falls back
 * by.
 */
const BLOCKS_BACK = 600;

/**
 * Every recent pending trace is among this many newest traces: each lives for seconds, and about five begin in a
 * second.
 */
const TRACES_BACK = 400;

/**
 * A simulated chain, up to the time to which `advanceTo` has advanced it. It is a pure function of its options and of
 * the sent messages. Its methods tell the truth at its present, or at an earlier instant (epoch ms).
 */
export class Chain {
  readonly accounts: Accounts;
  readonly clock: BlockClock;
  readonly idle: IdleAccounts;
  readonly jettons: Jettons;
  readonly #options: Required<Omit<ChainOptions, 'jettons'>>;
  /** The block sets of the window, and future ones that already have transactions. */
  readonly #blockSets = new Map<number, BlockSet & { readonly transactions: Transaction[] }>();
  readonly #transactions = new Map<string, Transaction>();
  /** By the message that caused them: an external one can be accepted again. */
  readonly #receivers = new Map<string, Transaction[]>();
  readonly #traces = new Map<string, Trace>();
  /** By the seqno of a block that is indexed out of order, ms. */
  readonly #delays = new Map<number, number>();
  /** The time when the actions of traces were computed again, by the hash of their first transaction. */
  readonly #reclassified = new Map<string, number>();
  readonly #live = new Set<Trace>();
  /** Of all blocks that the chain has reached. */
  readonly #histories = new Histories();
  #now: number;
  #begun: number;
  #floor: number;
  #sent = 0;

  constructor(options: ChainOptions) {
    this.#options = { ...DEFAULTS, ...options };
    this.accounts = new Accounts(this.#options.seed);
    this.clock = new BlockClock(this.#options);
    const { seed, idle } = this.#options;
    const { accounts, clock } = this;
    this.idle = new IdleAccounts(seed, clock, idle);
    const holders = this.idle.all;
    this.jettons = new Jettons({ seed, clock, accounts, holders, commits: this, traffic: options.jettons });
    this.#now = options.startAt;
    this.#floor = this.clock.firstSeqno;
    this.#begun = this.#floor - 1;
    this.advanceTo(this.#now);
  }

  /** The instant that the chain has reached, epoch ms. */
  get now(): number {
    return this.#now;
  }

  /** The newest committed masterchain block. The indexer may get it later, see {@link delay}. */
  get headSeqno(): number {
    return this.#begun;
  }

  /** The oldest masterchain block of the indexer at an instant. */
  floorSeqno(instant = this.#now): number {
    const { firstSeqno } = this.clock;
    return Math.max(firstSeqno, this.clock.seqnoBy(instant) - this.#options.historyBlocks + 1);
  }

  /** Advances the time to an instant, epoch ms; does nothing for a past one. */
  advanceTo(instant: number): void {
    this.#now = Math.max(this.#now, instant);
    const reached = this.clock.seqnoBy(this.#now);
    while (this.#begun < reached) this.#beginBlock(this.#begun + 1);
    for (const trace of this.#live) {
      if (trace.goneAt <= this.#now) this.#live.delete(trace);
    }
  }

  /** A wallet sends an external message now. Returns its canonical hash, for `pendingTraces`. */
  send(sender?: Account): string {
    const parts = [this.#options.seed, 'sent', this.#sent++];
    const hash = digest(...parts);
    const random = new SeededRandom(...parts);
    this.#plan(sender ?? random.pick(this.accounts.wallets), hash, this.#now, random, false);
    return hash;
  }

  /** The time when the indexer has a masterchain block, epoch ms. */
  indexedAt(seqno: number): number {
    return this.clock.committedAt(seqno) + (this.#delays.get(seqno) ?? 0);
  }

  /** The indexer gets a future masterchain block this many milliseconds later: after blocks that follow it. */
  delay(seqno: number, ms: number): void {
    this.#delays.set(seqno, ms);
  }

  /** An indexed masterchain block of the window; `undefined` if not indexed yet or below the floor. */
  block(seqno: number, instant = this.#now): BlockSet | undefined {
    const isIndexed = seqno <= this.#begun && this.indexedAt(seqno) <= instant;
    return isIndexed && seqno >= this.floorSeqno(instant) ? this.#blockSets.get(seqno) : undefined;
  }

  /** An executed transaction of an indexed masterchain block, by its canonical hash. */
  transaction(hash: string, instant?: number): Transaction | undefined {
    const transaction = this.#transactions.get(hash);
    return transaction !== undefined && this.block(transaction.seqno, instant) !== undefined ? transaction : undefined;
  }

  /** The transactions of an account in indexed masterchain blocks, the oldest first. */
  history(address: string, instant?: number): readonly Transaction[] {
    return this.#histories.of(address).filter(({ seqno }) => this.block(seqno, instant) !== undefined);
  }

  /** The transactions of an account up to an instant of the chain, whether the indexer has them or not. */
  executed(address: string, instant = this.#now): readonly Transaction[] {
    return this.#histories.of(address).filter(({ seqno }) => this.clock.committedAt(seqno) <= instant);
  }

  /** The executed transaction that sent a message to the one with this hash. */
  parent(hash: string, instant?: number): Transaction | undefined {
    const parent = this.transaction(hash, instant)?.parent;
    return parent === undefined ? undefined : this.transaction(parent.hash, instant);
  }

  /** The transactions that messages of the one with this hash have caused by then; grows. */
  children(hash: string, instant?: number): readonly Transaction[] {
    const children = this.transaction(hash, instant)?.children ?? [];
    return children.filter((child) => this.transaction(child.hash, instant) !== undefined);
  }

  /** See {@link ChainOptions}. */
  get listsUnderWay(): boolean {
    return this.#options.listsUnderWay;
  }

  /** The children of an executed transaction that are emulated by then and not committed, if they are listed. */
  childrenUnderWay(hash: string, instant = this.#now): readonly Transaction[] {
    const children = this.listsUnderWay ? (this.transaction(hash, instant)?.children ?? []) : [];
    return children.filter(
      (child) => child.emulatedAt <= instant && this.transaction(child.hash, instant) === undefined,
    );
  }

  /** The transactions that a message has caused by then; an external one can have several. */
  receivers(messageHash: string, instant?: number): readonly Transaction[] {
    return this.planned(messageHash).filter(({ hash }) => this.transaction(hash, instant) !== undefined);
  }

  /** The same, including future ones. */
  planned(messageHash: string): readonly Transaction[] {
    return this.#receivers.get(messageHash) ?? [];
  }

  /**
   * The trace of an executed transaction. A transaction that accepted an external message again, or without a message,
   * has its own trace.
   */
  traceOf(transaction: Transaction): Trace {
    let root = transaction;
    while (root.parent !== undefined) root = root.parent;
    const planned = this.#traces.get(root.messageHash ?? '');
    if (planned?.id === root.hash) return planned;
    const { hash: id, messageHash: externalHash = '', emulatedAt, finalizedAt: goneAt } = root;
    const { classifierDelayMs } = this.#options;
    return { id, externalHash, transactions: [root], emulatedAt, goneAt, invalidated: false, classifierDelayMs };
  }

  /** At this future instant (epoch ms) the external message of a trace is accepted once more. */
  acceptAgain(externalHash: string, at: number): void {
    const [first] = this.#receivers.get(externalHash) ?? [];
    const seqno = this.clock.seqnoFrom(at);
    if (first === undefined || seqno <= this.#begun) return;
    const committedAt = this.clock.committedAt(seqno);
    const [now, lt] = [
      Math.floor(committedAt / 1000),
      logicalTime(seqno, 930_000 + Buffer.from(externalHash, 'base64').readUInt16BE()),
    ];
    const instants = { emulatedAt: committedAt, confirmedAt: committedAt, finalizedAt: committedAt };
    const hash = digest(externalHash, 'again', seqno);
    this.#commit({ ...first, ...instants, hash, parent: undefined, children: [], seqno, lt, now });
  }

  /**
   * An account gets a message from outside in the masterchain block of this future instant (epoch ms). Use a different
   * `n`, below 29,000, for each in one block.
   */
  deposit(account: Account, at: number, n = 0): void {
    const seqno = this.clock.seqnoFrom(at);
    if (seqno > this.#begun) this.#commit(this.#deposited(account, seqno, n));
  }

  /** An account gets a message about jettons in the masterchain block of this future instant (epoch ms). */
  act(account: Account, act: JettonAct, at: number): void {
    const seqno = this.clock.seqnoFrom(at);
    if (seqno > this.#begun) this.#commit(this.jettons.plan(account, act, seqno));
  }

  /** From this instant (epoch ms) a trace, by the hash of its first transaction, has other actions. */
  reclassify(traceId: string, at: number): void {
    this.#reclassified.set(traceId, at);
  }

  /** The time when the actions of a trace are computed again, epoch ms; infinite without one. */
  reclassifiedAt(traceId: string): number {
    return this.#reclassified.get(traceId) ?? Number.POSITIVE_INFINITY;
  }

  /** A trace by the canonical hash of its external message, including its future transactions. */
  trace(externalHash: string): Trace | undefined {
    return this.#traces.get(externalHash);
  }

  /** Traces that were emulated up to now, newest first, pending or long final. */
  recentTraces(count = TRACES_BACK): readonly Trace[] {
    const newest = [...this.#traces.values()].slice(-2 * count - 20);
    const known = newest.filter((trace) => trace.emulatedAt <= this.#now);
    return known.sort((a, b) => b.emulatedAt - a.emulatedAt).slice(0, count);
  }

  /**
   * Traces that are emulated and not gone, oldest first. `droppedAt`: the instant up to which gone ones are dropped.
   */
  pendingTraces(instant = this.#now, droppedAt = instant): readonly Trace[] {
    const traces = droppedAt < this.#now ? this.recentTraces() : [...this.#live];
    // An invalidated trace never reaches the database: the emulator drops it.
    return traces
      .filter(({ emulatedAt }) => emulatedAt <= Math.min(instant, this.#now))
      .filter(({ goneAt, invalidated }) => (invalidated ? instant : droppedAt) < goneAt)
      .sort((a, b) => a.emulatedAt - b.emulatedAt || (a.id < b.id ? -1 : 1));
  }

  /** The known pending traces with an account. */
  pendingTracesOf(address: string, instant = this.#now, droppedAt = instant): readonly Trace[] {
    return this.pendingTraces(instant, droppedAt).filter((trace) =>
      knownTransactions(trace, instant).some(({ account }) => account.address === address),
    );
  }

  /** Removes a pending trace without an event, as the indexer does with a final or old one. */
  vanish(externalHash: string, at = this.#now): void {
    const trace = this.#traces.get(externalHash);
    if (trace === undefined || trace.goneAt <= at) return;
    const vanishing = { ...trace, goneAt: at };
    this.#traces.set(externalHash, vanishing);
    if (this.#live.delete(trace) && at > this.#now) this.#live.add(vanishing);
  }

  #beginBlock(seqno: number): void {
    const { seed, messagesPerBlock, invalidatedShare, historyBlocks } = this.#options;
    const random = new SeededRandom(seed, 'round', seqno - this.clock.firstSeqno);
    this.#commit(this.#electorTick(seqno));
    const messages = random.int(0, Math.round(2 * messagesPerBlock));
    for (let n = 0; n < messages; n++) {
      const sentAt = this.clock.committedAt(seqno) + random.int(0, this.clock.blockMs - 1);
      const externalHash = digest(seed, 'external', seqno, n);
      this.#plan(random.pick(this.accounts.wallets), externalHash, sentAt, random, random.chance(invalidatedShare));
    }
    for (const account of this.idle.activeIn(seqno)) this.#commit(this.#deposited(account, seqno, IDLE_N));
    for (const transaction of this.jettons.begin(seqno)) this.#commit(transaction);
    const { transactions } = this.#blockSet(seqno);
    transactions.sort((a, b) => a.lt - b.lt);
    for (const transaction of transactions) {
      this.#histories.add(transaction);
      for (const consequence of this.jettons.execute(transaction)) this.#commit(consequence);
    }
    this.#begun = seqno;
    while (this.#floor <= seqno - historyBlocks - BLOCKS_BACK) this.#forget(this.#floor++);
  }

  #plan(sender: Account, externalHash: string, sentAt: number, random: SeededRandom, invalidated: boolean): void {
    const { delayedShare, classifierDelayMs } = this.#options;
    const seed = { sender, externalHash, sentAt, delayedShare, invalidated, classifierDelayMs };
    const trace = planTrace(seed, this.clock, this.accounts, random);
    this.#traces.set(externalHash, trace);
    this.#live.add(trace);
    if (!invalidated) for (const transaction of trace.transactions) this.#commit(transaction);
  }

  /** The elector's own transaction: every masterchain block has one, so no block is empty. */
  #electorTick(seqno: number): Transaction {
    const hash = digest(this.#options.seed, 'tick', seqno);
    const tick = { hash, account: this.accounts.elector, messageHash: undefined };
    return loneTransaction(tick, { clock: this.clock, seqno, n: 0 });
  }

  #deposited(account: Account, seqno: number, n: number): Transaction {
    const parts = [this.#options.seed, 'deposit', account.address, seqno, n];
    const deposit = { hash: digest(...parts), account, messageHash: digest(...parts, 'message') };
    return loneTransaction(deposit, { clock: this.clock, seqno, n: DEPOSITS_FROM_LT + n });
  }

  #commit(transaction: Transaction): void {
    this.#blockSet(transaction.seqno).transactions.push(transaction);
    this.#transactions.set(transaction.hash, transaction);
    const { messageHash } = transaction;
    if (messageHash !== undefined) {
      this.#receivers.set(messageHash, [...(this.#receivers.get(messageHash) ?? []), transaction]);
    }
  }

  #blockSet(seqno: number) {
    const known = this.#blockSets.get(seqno);
    if (known !== undefined) return known;
    const opened = { seqno, committedAt: this.clock.committedAt(seqno), blocks: blocksOf(seqno), transactions: [] };
    this.#blockSets.set(seqno, opened);
    return opened;
  }

  #forget(seqno: number): void {
    for (const transaction of this.#blockSets.get(seqno)?.transactions ?? []) {
      const { hash, messageHash = '' } = transaction;
      this.#histories.forget(transaction);
      this.jettons.tables.forget(transaction);
      this.#transactions.delete(hash);
      this.#receivers.delete(messageHash);
      this.#reclassified.delete(hash);
    }
    this.#blockSets.delete(seqno);
    for (const [externalHash, trace] of this.#traces) {
      if (trace.goneAt >= this.clock.committedAt(seqno)) break;
      this.#traces.delete(externalHash);
    }
  }
}
