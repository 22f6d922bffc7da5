import { type Account, makeAccount } from './accounts.ts';
import type { PlannedAct } from './jetton-act.ts';
import { digest, SeededRandom } from './seeded-random.ts';
import { SteadyJetton, type SteadyJettonOptions } from './steady-jetton.ts';

/** The traffic of the jettons of a chain. */
export interface JettonTrafficOptions {
  /** The number of owners that do nothing themselves. */
  readonly owners: number;
  /** The average time between two events of each of them, random, ms. */
  readonly everyMs: number;
  /** The number of other accounts with a transaction in a block, one block after the other. Default: none. */
  readonly others?: readonly number[];
  /** A jetton whose master and wallets hardly change. Default: none. */
  readonly steady?: SteadyJettonOptions;
}

/** An owner's wallet now. */
export interface Holding {
  readonly wallet: Account;
  readonly balance: number;
}

/** The options of the traffic, and the objects that it needs. */
export interface JettonTrafficDependencies extends JettonTrafficOptions {
  readonly seed: number;
  readonly blockMs: number;
  readonly masters: readonly Account[];
  /** Accounts that can hold the steady jetton. */
  readonly holders: readonly Account[];
  /** The wallet of an owner as its master deploys it. */
  readonly walletOf: (owner: Account, master: Account) => Account;
  readonly holdingsOf: (owner: Account) => readonly Holding[];
}

const BUSY_OWNERS = 5;
const BUSY_BALANCE = 1e12;
/** Other accounts take turns. */
const OTHER_ACCOUNTS = 400;
/** Owners get their first wallets in this many blocks after the first one. */
const FIRST_BLOCKS = 20;
/** An account that becomes a jetton wallet ran this many blocks before, as something else. */
const RAN_BEFORE = 5;

/** The events of an owner, by their shares. */
const EVENTS = [
  ['received', 26],
  ['sent', 14],
  ['emptied', 4],
  ['between owners', 6],
  ['minted', 8],
  ['became', 18],
  ['given away', 8],
  ['deleted', 4],
  ['unconfirmed', 4],
  ['ran', 4],
  ['failed', 2],
  ['pretended', 2],
] as const;

type Event = (typeof EVENTS)[number][0];

const EVENTS_BY_CHANCE: readonly Event[] = EVENTS.flatMap(([event, share]) =>
  Array.from({ length: share }, () => event),
);

/** Random messages about jettons. The same for the same seed, in the same order of blocks. */
export class JettonTraffic {
  readonly owners: readonly Account[];
  readonly busyOwners: readonly Account[];
  readonly steady: SteadyJetton | undefined;
  readonly #others: readonly Account[];
  readonly #dependencies: JettonTrafficDependencies;

  constructor(dependencies: JettonTrafficDependencies) {
    this.#dependencies = dependencies;
    this.owners = this.#several('wallet', 'owner', dependencies.owners);
    this.busyOwners = this.#several('wallet', 'busy owner', BUSY_OWNERS);
    this.#others = this.#several('contract', 'other', OTHER_ACCOUNTS);
    const { steady } = dependencies;
    this.steady = steady && new SteadyJetton({ ...dependencies, ...steady });
  }

  /** The messages of a block. @param place Its place in the chain: 0 for the first one. */
  plan(place: number): readonly PlannedAct[] {
    const { seed, everyMs, blockMs, others = [0] } = this.#dependencies;
    const random = new SeededRandom(seed, 'jetton traffic', place);
    const { length } = this.#others;
    const busy = Array.from(
      { length: others[place % others.length] ?? 0 },
      (_, n) => this.#others[(place * 37 + n) % length],
    );
    const active = this.owners.filter(() => random.chance(blockMs / everyMs));
    return [
      ...this.#firstActs(place),
      ...busy.flatMap((account) => (account === undefined ? [] : [{ account, act: undefined }])),
      ...active.flatMap((owner, n) => this.#event(owner, random, `${place} ${n}`)),
      ...(this.steady?.plan(place) ?? []),
    ];
  }

  #firstActs(place: number): readonly PlannedAct[] {
    const { masters } = this.#dependencies;
    if (place === 0) return masters.map((account) => ({ account, act: { kind: 'found' } }));
    if (place > FIRST_BLOCKS || this.owners.length === 0) return [];
    const someOwners = this.owners.filter((_, n) => n % FIRST_BLOCKS === place - 1);
    return masters.flatMap((account, n) => {
      const first = place === 1 ? this.busyOwners.map((to) => ({ to, amount: BUSY_BALANCE })) : [];
      // Half of the jettons are for the wallets that owners get later.
      const ofOwners = n >= masters.length / 2 ? [] : someOwners.map((to) => ({ to, amount: 1000 }));
      return [...first, ...ofOwners].map((minted) => ({ account, act: { kind: 'mint', ...minted } as const }));
    });
  }

  #event(owner: Account, random: SeededRandom, name: string): readonly PlannedAct[] {
    const { masters, walletOf, holdingsOf, seed } = this.#dependencies;
    const event = random.pick(EVENTS_BY_CHANCE);
    const busy = random.pick(this.busyOwners);
    const other = random.pick(this.owners);
    const master = random.pick(masters);
    const amount = random.int(1, 200);
    const holdings = holdingsOf(owner);
    const holding = holdings.length === 0 ? undefined : random.pick(holdings);
    const minted = { account: master, act: { kind: 'mint', to: owner, amount } } as const;
    const send = (account: Account, from: Account, to: Account, coins: number) => [
      { account, act: { kind: 'send', from, to, amount: coins } } as const,
    ];
    switch (event) {
      case 'received':
        return send(walletOf(busy, master), busy, owner, amount);
      case 'minted':
        return [minted];
      case 'became': {
        const account = makeAccount('contract', Buffer.from(digest(seed, 'becomes', name), 'base64'));
        const becomes = { kind: 'become', owner, master } as const;
        return [
          { account, act: undefined },
          { account, act: becomes, after: RAN_BEFORE },
        ];
      }
      case 'pretended':
        return send(random.pick(this.#others), busy, owner, amount);
      default:
        break;
    }
    if (holding === undefined) return [minted];
    const { wallet, balance } = holding;
    switch (event) {
      case 'sent':
        return send(wallet, owner, busy, Math.min(balance, amount));
      case 'emptied':
        return send(wallet, owner, busy, balance);
      case 'between owners':
        return send(wallet, owner, other, Math.min(balance, amount));
      case 'failed':
        return send(wallet, owner, busy, balance + 1);
      case 'given away':
        return [{ account: wallet, act: { kind: 'give', to: other } }];
      case 'deleted':
        return [{ account: wallet, act: { kind: 'delete' } }];
      case 'unconfirmed':
        return [{ account: wallet, act: { kind: 'unconfirmed' } }];
      case 'ran':
        return [{ account: wallet, act: undefined }];
    }
  }

  #several(kind: Account['kind'], name: string, count: number): readonly Account[] {
    const hashOf = (n: number) => Buffer.from(digest(this.#dependencies.seed, name, n), 'base64');
    return Array.from({ length: count }, (_, n) => makeAccount(kind, hashOf(n)));
  }
}
