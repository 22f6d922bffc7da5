import { type Account, makeAccount } from './accounts.ts';
import type { BlockClock } from './blocks.ts';
import { digest, SeededRandom } from './seeded-random.ts';

/** Accounts that are polled far more often than they do something. */
export interface IdleAccountsOptions {
  readonly count: number;
  /** Each of them has a transaction about every so often, at random, ms. */
  readonly everyMs: number;
  /** A further account, unknown until then, has its first transaction this often, ms. Default: never. */
  readonly newcomerEveryMs?: number;
}

/** After so many blocks a newcomer has its transactions: its first one is followed closely, and once more. */
const NEWCOMER_AFTER_BLOCKS = [0, 2, 12];

/** Every tenth idle account is no wallet. */
const CONTRACT_EVERY = 10;

/** The idle accounts of a chain, newcomers behind the others. The same for the same seed and clock. */
export class IdleAccounts {
  readonly #seed: number;
  readonly #clock: BlockClock;
  readonly #options: IdleAccountsOptions;
  readonly #known: Account[] = [];

  constructor(seed: number, clock: BlockClock, options: IdleAccountsOptions) {
    this.#seed = seed;
    this.#clock = clock;
    this.#options = options;
  }

  /** Those that are there from the start, though they are unknown until their first transaction. */
  get all(): readonly Account[] {
    return Array.from({ length: this.#options.count }, (_, n) => this.#account(n));
  }

  /** The newcomer whose first transaction is the last by that masterchain block; undefined where there are none. */
  newcomerBy(seqno: number): Account | undefined {
    const nth = Math.floor((seqno - this.#clock.firstSeqno) / this.#newcomerEveryBlocks);
    return Number.isFinite(this.#newcomerEveryBlocks)
      ? this.#account(this.#options.count + Math.max(0, nth))
      : undefined;
  }

  /** Those that have a transaction in a masterchain block. */
  activeIn(seqno: number): readonly Account[] {
    const { count, everyMs } = this.#options;
    const random = new SeededRandom(this.#seed, 'idle', seqno - this.#clock.firstSeqno);
    const share = this.#clock.blockMs / everyMs;
    const active = Array.from({ length: count }, () => random.chance(share));
    const newcomers = NEWCOMER_AFTER_BLOCKS.flatMap((blocks) => {
      const nth = (seqno - this.#clock.firstSeqno - blocks) / this.#newcomerEveryBlocks;
      return Number.isInteger(nth) && nth >= 0 ? [this.#account(count + nth)] : [];
    });
    return [...active.flatMap((isActive, n) => (isActive ? [this.#account(n)] : [])), ...newcomers];
  }

  get #newcomerEveryBlocks(): number {
    const { newcomerEveryMs = Number.POSITIVE_INFINITY } = this.#options;
    return Math.max(1, Math.round(newcomerEveryMs / this.#clock.blockMs));
  }

  #account(n: number): Account {
    const kind = n % CONTRACT_EVERY === CONTRACT_EVERY - 1 ? 'contract' : 'wallet';
    this.#known[n] ??= makeAccount(kind, Buffer.from(digest(this.#seed, 'idle', n), 'base64'));
    return this.#known[n];
  }
}
