import { type Account, makeAccount } from './accounts.ts';
import type { BlockClock } from './blocks.ts';
import { digest, SeededRandom } from './seeded-random.ts';

/** Accounts that are polled far more often than they change. */
export interface IdleAccountsOptions {
  readonly count: number;
  /** The average time between two transactions of each, random, ms. */
  readonly everyMs: number;
  /** The interval at which a further, unknown account has its first transaction, ms. Default: never. */
  readonly newcomerEveryMs?: number;
}

/** The blocks after its first in which a newcomer has its transactions: one follows closely, and one later. */
const NEWCOMER_AFTER_BLOCKS = [0, 2, 12];

/** Every tenth idle account is not a wallet. */
const CONTRACT_EVERY = 10;

/** The idle accounts of a chain, followed by newcomers. The same for the same seed and clock. */
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

  /** The accounts that exist from the start, though they are unknown until their first transaction. */
  get all(): readonly Account[] {
    return Array.from({ length: this.#options.count }, (_, n) => this.#account(n));
  }

  /** The last newcomer with a first transaction by this masterchain block; `undefined` without newcomers. */
  newcomerBy(seqno: number): Account | undefined {
    const nth = Math.floor((seqno - this.#clock.firstSeqno) / this.#newcomerEveryBlocks);
    return Number.isFinite(this.#newcomerEveryBlocks)
      ? this.#account(this.#options.count + Math.max(0, nth))
      : undefined;
  }

  /** The accounts with a transaction in a masterchain block. */
  activeIn(seqno: number): readonly Account[] {
    const { count, everyMs } = this.#options;
    const random = new SeededRandom(this.#seed, 'idle', seqno - this.#clock.firstSeqno);
    const share = this.#clock.blockMs / everyMs;
    const active = Array.from({ length: count }, () => random.chance(share));
    const newcomers = NEWCOMER_AFTER_BLOCKS.flatMap((blocks) => {
      const nth = (seqno - this.#clock.firstSeqno - blocks) / this.#newcomerEveryBlocks;
      return Number.isFinite(this.#newcomerEveryBlocks) && Number.isInteger(nth) && nth >= 0
        ? [this.#account(count + nth)]
        : [];
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
