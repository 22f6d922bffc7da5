import { type Account, Accounts } from './accounts.ts';
import { electorTick } from './elector-tick.ts';
import { RoundClock } from './round-clock.ts';
import { type Round, Rounds } from './rounds.ts';
import { digest, SeededRandom } from './seeded-random.ts';
import { knownTransactions, planTrace, type Trace, type Transaction } from './trace.ts';

/** How a simulated chain is made. Instants are epoch ms. */
export interface ChainOptions {
  /** When its first round is committed: the chain knows nothing from before. */
  readonly startAt: number;
  /** Same seed, same chain. Default 1. */
  readonly seed?: number;
  /** Time between two masterchain blocks. Default 400. */
  readonly blockMs?: number;
  /** Number of the first masterchain block. Default 62,000,000. */
  readonly firstSeqno?: number;
  /** How many committed rounds are kept; older ones are below the history floor. Default 2,000. */
  readonly historyRounds?: number;
  /** External messages that the chain's own accounts send in a round, on average. Default 2. */
  readonly messagesPerRound?: number;
  /** Share (0..1) of traces with a part that executes 2 to 8 s after the rest. Default 0.15. */
  readonly lateShare?: number;
  /** Share (0..1) of traces that are emulated and never executed. Default 0; those of `send` always execute. */
  readonly invalidatedShare?: number;
  /** Every fifth round becomes visible two and a half block times late, after its successors. Default false. */
  readonly outOfOrder?: boolean;
}

/**
 * A chain that lives, as far as `advanceTo` has let time go. It is a pure function of its options and of what was sent;
 * all that its methods tell is true at `now`, and is the truth to check an indexer's answers against.
 */
export class Chain {
  readonly accounts: Accounts;
  /** Which round is committed when. */
  readonly clock: RoundClock;
  readonly #options: ChainOptions;
  readonly #seed: number;
  readonly #historyRounds: number;
  readonly #rounds: Rounds;
  readonly #traces = new Map<string, Trace>();
  readonly #live = new Set<Trace>();
  #now: number;
  #begun: number;
  #floor: number;
  #sent = 0;

  constructor(options: ChainOptions) {
    this.#options = options;
    this.#seed = options.seed ?? 1;
    this.accounts = new Accounts(this.#seed);
    const { startAt, blockMs = 400, firstSeqno = 62_000_000 } = options;
    this.clock = new RoundClock({ startAt, blockMs, firstSeqno });
    this.#rounds = new Rounds(this.clock, options.outOfOrder ?? false);
    this.#historyRounds = options.historyRounds ?? 2_000;
    this.#now = startAt;
    this.#begun = firstSeqno - 1;
    this.#floor = firstSeqno;
    this.advanceTo(startAt);
  }

  /** The instant that the chain has reached, epoch ms. */
  get now(): number {
    return this.#now;
  }

  /** Newest visible round. With `outOfOrder` an older one may still be missing. */
  get headSeqno(): number {
    let seqno = this.#begun;
    while (seqno > this.#floor && !this.#isVisible(seqno)) seqno--;
    return seqno;
  }

  /** Oldest round that is kept. */
  get floorSeqno(): number {
    return this.#floor;
  }

  /** Lets time go on to an instant, epoch ms; one that is past already changes nothing. */
  advanceTo(instant: number): void {
    this.#now = Math.max(this.#now, instant);
    const reached = this.clock.roundBy(this.#now);
    while (this.#begun < reached) this.#beginRound(this.#begun + 1);
    for (const trace of this.#live) {
      if (trace.goneAt <= this.#now) this.#live.delete(trace);
    }
  }

  /**
   * A wallet sends an external message now.
   * @param sender Default: a wallet that the seed draws.
   * @param externalHash Canonical hash of the message. Default: one that the seed draws. One that was sent before is not sent again.
   * @returns The canonical hash to ask `pendingTraces` for.
   */
  send(sender?: Account, externalHash?: string): string {
    const number = this.#sent++;
    const hash = externalHash ?? digest(this.#seed, 'sent', number);
    if (this.#traces.has(hash)) return hash;
    const random = new SeededRandom(this.#seed, 'sent', number);
    const from = sender ?? random.pick(this.accounts.wallets);
    this.#plan(from, hash, this.#now, random, false);
    return hash;
  }

  /** A visible round of the window; undefined when not indexed yet or below the floor. */
  block(seqno: number): Round | undefined {
    return this.#isVisible(seqno) ? this.#rounds.get(seqno) : undefined;
  }

  /** An executed transaction of a visible round, by its canonical hash. */
  transaction(hash: string): Transaction | undefined {
    const transaction = this.#rounds.transaction(hash);
    return transaction !== undefined && this.#isVisible(transaction.seqno) ? transaction : undefined;
  }

  /** The executed transaction that sent the one of this hash a message. */
  parent(hash: string): Transaction | undefined {
    const parent = this.transaction(hash)?.parent;
    return parent === undefined ? undefined : this.transaction(parent.hash);
  }

  /** The transactions that messages of the one of this hash have set off up to now; grows. */
  children(hash: string): readonly Transaction[] {
    const children = this.transaction(hash)?.children ?? [];
    return children.filter((child) => this.transaction(child.hash) !== undefined);
  }

  /** A trace by the canonical hash of its external message, with what is still to come of it. */
  trace(externalHash: string): Trace | undefined {
    return this.#traces.get(externalHash);
  }

  /** Traces that were emulated up to now, newest first, pending or long final. */
  recentTraces(count = 50): readonly Trace[] {
    const newest = [...this.#traces.values()].slice(-2 * count - 20);
    const known = newest.filter((trace) => trace.emulatedAt <= this.#now);
    return known.sort((a, b) => b.emulatedAt - a.emulatedAt).slice(0, count);
  }

  /** Traces that are emulated and not gone, oldest first. */
  pendingTraces(): readonly Trace[] {
    const known = [...this.#live].filter((trace) => trace.emulatedAt <= this.#now);
    return known.sort((a, b) => a.emulatedAt - b.emulatedAt || (a.id < b.id ? -1 : 1));
  }

  /** Pending traces in which an account takes part, as far as they are known. */
  pendingTracesOf(address: string): readonly Trace[] {
    return this.pendingTraces().filter((trace) =>
      knownTransactions(trace, this.#now).some(({ account }) => account.address === address),
    );
  }

  #isVisible(seqno: number): boolean {
    const round = this.#rounds.get(seqno);
    return round !== undefined && seqno <= this.#begun && round.visibleAt <= this.#now;
  }

  #beginRound(seqno: number): void {
    const random = new SeededRandom(this.#seed, 'round', seqno - this.clock.firstSeqno);
    const { messagesPerRound = 2, invalidatedShare = 0 } = this.#options;
    this.#rounds.add(electorTick(seqno, this.clock, this.accounts.elector, this.#seed));
    const messages = random.int(0, Math.round(2 * messagesPerRound));
    for (let n = 0; n < messages; n++) {
      const sentAt = this.clock.committedAt(seqno) + random.int(0, this.clock.blockMs - 1);
      const externalHash = digest(this.#seed, 'external', seqno, n);
      this.#plan(random.pick(this.accounts.wallets), externalHash, sentAt, random, random.chance(invalidatedShare));
    }
    this.#rounds.close(seqno);
    this.#begun = seqno;
    while (this.#floor <= seqno - this.#historyRounds) this.#forget(this.#floor++);
  }

  #plan(sender: Account, externalHash: string, sentAt: number, random: SeededRandom, invalidated: boolean): void {
    const late = random.chance(this.#options.lateShare ?? 0.15);
    const trace = planTrace({ sender, externalHash, sentAt, late, invalidated }, this.clock, this.accounts, random);
    this.#traces.set(externalHash, trace);
    this.#live.add(trace);
    if (!invalidated) for (const transaction of trace.transactions) this.#rounds.add(transaction);
  }

  #forget(seqno: number): void {
    this.#rounds.forget(seqno);
    for (const [externalHash, trace] of this.#traces) {
      if (trace.goneAt >= this.clock.committedAt(seqno)) break;
      this.#traces.delete(externalHash);
    }
  }
}
