import { LRUCache } from 'lru-cache';
import type { Proof, ProofDoubt } from '../freshness.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';
import type { MethodEvidence } from '../ton/evidence.ts';
import type { SeenRow, Touches } from './touches.ts';

/**
 * No transaction of the account may have been seen for this long before the request: by then a lite server may lag, and
 * runs on this state nevertheless. A difference between answers is explained by a transaction that follows within it.
 */
const QUIET_MS: Ms = 62_000;

/** A result is proven for at most this long after its request. */
const LONGEST_MS: Ms = 60_000;

/** Two equal answers were requested at least this far apart: a method that reads the time has often changed by then. */
const APART_MS: Ms = 3000;

/** After this many differences in a row that no transaction explains, a method reads something else. */
const MOST_UNEXPLAINED = 3;

/** A method that reads something else is not proven for this long. */
const READS_MORE_MS: Ms = 10 * 60_000;

/** The maximum number of accounts and methods whose answers differ. Above it the first ones are forgotten. */
const MOST_DIFFERENCES = 1000;

/**
 * The methods that read nothing but code and data, of masters and collections that run all day: a transaction that
 * leaves both as they were does not count. Every other method may read the balance.
 */
const BY_STATE: ReadonlySet<string> = new Set(['get_wallet_address', 'get_nft_address_by_index']);

/** The memory of a proof. */
const PROOF_BYTES = 300;

/** The state of the reading of blocks. */
interface ProofReading {
  readonly isAlive: boolean;
  areReadSince(instant: MonotonicMs): boolean;
}

export interface QuietDependencies {
  readonly touches: Pick<Touches, 'lastOf' | 'lastChangeOf' | 'since' | 'forgottenUntil'>;
  /** The get-methods that read nothing but the state of their account. */
  readonly methods: readonly string[];
  /** The longest time for which blocks prove any answer, after its request. */
  readonly boundMs: Ms;
  readonly now: () => MonotonicMs;
}

/** A method of an account. */
type Ran = Pick<MethodEvidence, 'accounts' | 'method'>;

/** Answers of a method of an account that differ, although no transaction was seen. */
interface Difference {
  readonly since: MonotonicMs;
  /** Nothing is proven until then. */
  readonly until: MonotonicMs;
  /** With those before it that no transaction has explained. */
  readonly inARow: number;
}

/**
 * Adds the states of the account, before and after the shard block, to transactions. Those of an account in one shard
 * block count as one, because the indexer stores only its last state in the block: the state between two of them is
 * missing. Of a part of a block, each part lacks a state, and so counts as changed.
 */
export function withStates(rows: readonly BlockRow[]): readonly SeenRow[] {
  const sorted = rows.toSorted((one, other) => (one.lt < other.lt ? -1 : 1));
  const ofOne = Map.groupBy(sorted, ({ account, state, hash }) => `${account} ${state?.block ?? hash}`);
  return [...ofOne.values()].flatMap((group) => {
    const states = { before: group[0]?.state?.before, after: group.at(-1)?.state?.after };
    return group.map((row): SeenRow => ({ ...row, states }));
  });
}

/**
 * Gives up every result in doubt, and gives nothing to later requests before it was equal twice. For that a result of a
 * get-method, which shows no logical time, is kept for up to a minute, and is behind by at most the indexer's lag and a
 * second.
 *
 * A get-method is a function of the state of its account, if it reads nothing else. The answer that was requested at Q is
 * true at t if all of this holds:
 *
 * 1. The blocks are read, as for all other proofs.
 * 2. No transaction of the account was seen from Q - 62 s until t: whatever lag up to 62 s the lite server had, it ran on
 *    this state. The instant counts at which a transaction was seen, not its logical time.
 * 3. t < Q + 60 s, or the bound if that is shorter.
 * 4. An equal answer was requested at least 3 s before Q, and after the last transaction was seen. Without it a method
 *    that reads the time would be proven at once.
 *
 * A lite server may be ahead of the indexer: then answers differ although no transaction was seen. Neither is served again.
 */
export class Quiet {
  readonly #dependencies: QuietDependencies;
  readonly #methods: ReadonlySet<string>;
  /** By account and method. */
  readonly #differences = new LRUCache<string, Difference>({ max: MOST_DIFFERENCES });

  constructor(dependencies: QuietDependencies) {
    this.#dependencies = dependencies;
    this.#methods = new Set(dependencies.methods);
  }

  /** True if results of this method are proven. */
  proves(method: string): boolean {
    return this.#methods.has(method);
  }

  /** When a transaction of an account was last seen that counts for a method; -Infinity if none is known. */
  lastOf({ accounts: [account], method }: Ran): MonotonicMs {
    const { touches } = this.#dependencies;
    return BY_STATE.has(method) ? touches.lastChangeOf(account) : (touches.lastOf(account) ?? Number.NEGATIVE_INFINITY);
  }

  /** Two answers of a method differ, although no transaction was seen. */
  differ(ran: Ran): void {
    const at = this.#dependencies.now();
    const known = this.#unexplained(ran);
    const isSame = known !== undefined && at < known.until;
    const inARow = ((known?.inARow ?? 0) % MOST_UNEXPLAINED) + 1;
    const readsMoreUntil = at + (inARow === MOST_UNEXPLAINED ? READS_MORE_MS : 0);
    const difference = isSame ? known : { since: at, inARow, until: readsMoreUntil + QUIET_MS };
    this.#differences.set(nameOf(ran), { ...difference, until: Math.max(difference.until, at + QUIET_MS) });
  }

  /** True while no answer of this method is proven, because two have differed. */
  areDifferent(ran: Ran): boolean {
    const known = this.#unexplained(ran);
    return known !== undefined && this.#dependencies.now() < known.until;
  }

  /** The last difference, unless a transaction has explained it in time, or may have. */
  #unexplained(ran: Ran): Difference | undefined {
    const known = this.#differences.peek(nameOf(ran));
    if (known !== undefined && !this.#mayBeExplained(known, ran)) return known;
    this.#differences.delete(nameOf(ran));
    return undefined;
  }

  #mayBeExplained({ since, inARow }: Difference, { accounts: [account], method }: Ran): boolean {
    // Touches are forgotten sooner than a method that reads something else.
    if (!this.isKnownSince(since)) return inARow < MOST_UNEXPLAINED;
    for (const { changedAt, batch } of this.#dependencies.touches.since(account, since)) {
      const counts = changedAt === undefined || !BY_STATE.has(method);
      if (counts && batch.seenAt < since + QUIET_MS) return true;
    }
    return false;
  }

  /** True if everything that was seen at this instant and after it is known. */
  isKnownSince(instant: MonotonicMs): boolean {
    return this.#dependencies.touches.forgottenUntil < instant;
  }

  /** The judge of an answer of a method that is proven. `equalMs`: see `Proof.equalMs`. */
  proofOf(reading: ProofReading, answer: MethodEvidence, askedAt: MonotonicMs, equalMs?: Ms): Proof {
    return new QuietProof(this, this.#dependencies, reading, answer, askedAt, equalMs);
  }
}

function nameOf({ accounts: [account], method }: Ran): string {
  return `${account} ${method}`;
}

class QuietProof implements Proof {
  readonly keptMs: Ms;
  readonly bytes = PROOF_BYTES;
  readonly #quiet: Quiet;
  readonly #reading: ProofReading;
  readonly #answer: MethodEvidence;
  readonly #askedAt: MonotonicMs;
  readonly #now: () => MonotonicMs;
  #equalAt: MonotonicMs | undefined;
  /** Another answer differed from it. */
  #isRefuted = false;

  constructor(
    quiet: Quiet,
    { now, boundMs }: QuietDependencies,
    reading: ProofReading,
    answer: MethodEvidence,
    askedAt: MonotonicMs,
    equalMs: Ms | undefined,
  ) {
    this.#quiet = quiet;
    this.#reading = reading;
    this.#answer = answer;
    this.#askedAt = askedAt;
    this.#now = now;
    this.keptMs = answer.hasFailed ? 0 : Math.min(boundMs, LONGEST_MS);
    this.#equalAt = equalMs === undefined ? undefined : askedAt - equalMs;
  }

  get equalMs(): Ms | undefined {
    return this.#equalAt === undefined ? undefined : this.#askedAt - this.#equalAt;
  }

  get doubt(): ProofDoubt | undefined {
    const askedAt = this.#askedAt;
    if (this.#answer.hasFailed) return 'not-checked';
    if (!this.#reading.isAlive) return 'not-alive';
    if (this.#now() >= askedAt + this.keptMs) return 'too-old';
    const quietFrom = askedAt - QUIET_MS;
    if (!this.#quiet.isKnownSince(quietFrom) || !this.#reading.areReadSince(askedAt)) return 'asked-too-early';
    if (this.#isRefuted || this.#quiet.areDifferent(this.#answer)) return 'answers-differ';
    const lastAt = this.#quiet.lastOf(this.#answer);
    if (lastAt >= quietFrom) return 'touched';
    const equalAt = this.#equalAt ?? Number.NEGATIVE_INFINITY;
    const isEqualTwice = equalAt > lastAt && this.#quiet.isKnownSince(equalAt) && askedAt - equalAt >= APART_MS;
    return isEqualTwice ? undefined : 'asked-once';
  }

  isOutdated(): boolean {
    return this.#quiet.lastOf(this.#answer) >= this.#askedAt;
  }

  compare(other: Proof, isEqual: boolean): void {
    if (!(other instanceof QuietProof) || other === this) return;
    const [earlier, later] = other.#askedAt <= this.#askedAt ? [other, this] : [this, other];
    if (isEqual) later.#follow(earlier);
    else later.#differFrom(earlier);
  }

  /** An earlier answer was the same. The latest one that is apart is most likely to come after the last transaction. */
  #follow(earlier: QuietProof): void {
    if (earlier.#isRefuted) return;
    const equal = [this.#equalAt, earlier.#askedAt, earlier.#equalAt].filter((at) => at !== undefined);
    const apart = equal.filter((at) => this.#askedAt - at >= APART_MS);
    this.#equalAt = apart.length > 0 ? Math.max(...apart) : Math.min(...equal);
  }

  /** An earlier answer was another one. While blocks are not read, transactions are not seen: then it means nothing. */
  #differFrom(earlier: QuietProof): void {
    const from = earlier.#askedAt - QUIET_MS;
    const isKnown = this.#reading.isAlive && this.#reading.areReadSince(earlier.#askedAt);
    if (!isKnown || !this.#quiet.isKnownSince(from) || this.#quiet.lastOf(this.#answer) >= from) return;
    earlier.#isRefuted = true;
    this.#isRefuted = true;
    this.#quiet.differ(this.#answer);
  }
}
