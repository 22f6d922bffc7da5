import { type Account, makeAccount } from './accounts.ts';
import type { PlannedAct } from './jetton-act.ts';
import { digest, SeededRandom } from './seeded-random.ts';

/** A jetton whose master runs twice in every block and hardly changes, and whose holders do little. */
export interface SteadyJettonOptions {
  /** The number of idle accounts that hold it: the first ones. */
  readonly holdersCount: number;
  /** The average time between two transfers from or to each of them, random, ms. */
  readonly transferEveryMs: number;
  /** The time between two changes of its supply, ms. */
  readonly mintEveryMs: number;
}

export interface SteadyJettonDependencies extends SteadyJettonOptions {
  readonly seed: number;
  readonly blockMs: number;
  readonly holders: readonly Account[];
  readonly walletOf: (owner: Account, master: Account) => Account;
}

/** Holders get their wallets in this many blocks after the first one. */
const FIRST_BLOCKS = 20;
const FIRST_BALANCE = 1000;

/** The traffic of a steady jetton. The same for the same seed. */
export class SteadyJetton {
  readonly master: Account;
  readonly holders: readonly Account[];
  readonly #dependencies: SteadyJettonDependencies;

  constructor(dependencies: SteadyJettonDependencies) {
    this.#dependencies = dependencies;
    this.master = makeAccount('jetton-master', Buffer.from(digest(dependencies.seed, 'steady master'), 'base64'));
    this.holders = dependencies.holders.slice(0, dependencies.holdersCount);
  }

  /** The messages of a block. @param place Its place in the chain: 0 for the first one. */
  plan(place: number): readonly PlannedAct[] {
    const { master: account, holders } = this;
    if (place === 0) return [{ account, act: { kind: 'found' } }];
    const { seed, blockMs, transferEveryMs, mintEveryMs, walletOf } = this.#dependencies;
    const random = new SeededRandom(seed, 'steady jetton', place);
    const first = place <= FIRST_BLOCKS ? holders.filter((_, n) => n % FIRST_BLOCKS === place - 1) : [];
    const isMinted = place % Math.round(mintEveryMs / blockMs) === 0;
    const minted = [...first, ...(isMinted ? [random.pick(holders)] : [])];
    // Each transfer is an event of two holders.
    const senders = holders.filter(() => random.chance(blockMs / transferEveryMs / 2));
    return [
      { account, act: undefined },
      { account, act: undefined },
      ...minted.map((to) => ({ account, act: { kind: 'mint', to, amount: FIRST_BALANCE } as const })),
      ...senders.map((from) => {
        const to = random.pick(holders);
        return { account: walletOf(from, account), act: { kind: 'send', from, to, amount: 1 } as const };
      }),
    ];
  }
}
