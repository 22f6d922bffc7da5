import { digest } from './seeded-random.ts';
import { addressSpellings } from './spellings.ts';

/** An account of the simulated chain. */
export interface Account {
  /** Canonical form, `WORKCHAIN:UPPERCASE HEX`. */
  readonly address: string;
  readonly workchain: number;
  readonly hash: Buffer;
  readonly kind: 'wallet' | 'jetton-wallet' | 'jetton-master' | 'contract';
  /** In the form of an address book: non-bounceable for wallets, bounceable for the rest. */
  readonly friendly: string;
}

/** An account of this kind; the same for the same hash. */
export function makeAccount(kind: Account['kind'], hash: Buffer, workchain = 0): Account {
  const { raw: address, bounceableUrl, nonBounceableUrl } = addressSpellings({ workchain, hash });
  return { address, workchain, hash, kind, friendly: kind === 'wallet' ? nonBounceableUrl : bounceableUrl };
}

/** The population of a simulated chain: the same for the same seed. */
export class Accounts {
  readonly wallets: readonly Account[];
  readonly jettonWallets: readonly Account[];
  readonly jettonMasters: readonly Account[];
  readonly contracts: readonly Account[];
  /** Accounts of workchain -1; the first is the elector. */
  readonly masterchain: readonly Account[];
  readonly elector = makeAccount('contract', Buffer.alloc(32, 0x33), -1);

  constructor(seed: number) {
    const several = (kind: Account['kind'], count: number, workchain = 0) =>
      Array.from({ length: count }, (_, n) =>
        makeAccount(kind, Buffer.from(digest(seed, kind, n), 'base64'), workchain),
      );
    this.wallets = several('wallet', 120);
    this.jettonWallets = several('jetton-wallet', 180);
    this.jettonMasters = several('jetton-master', 4);
    this.contracts = several('contract', 40);
    this.masterchain = [this.elector, ...several('contract', 3, -1)];
  }
}
