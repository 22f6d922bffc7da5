import { digest, SeededRandom } from './seeded-random.ts';
import { friendlyAddress } from './spellings.ts';

/** The kinds of accounts of the simulated chain. */
type AccountKind = 'wallet' | 'jetton-wallet' | 'jetton-master' | 'contract' | 'elector' | 'validator-pool';

/** An account of the simulated chain. */
export interface Account {
  /** Canonical form, `0:UPPERCASE HEX`. */
  readonly address: string;
  readonly workchain: number;
  readonly hash: Buffer;
  readonly kind: AccountKind;
  /** As an address book writes it: non-bounceable for wallets, bounceable for the rest. */
  readonly friendly: string;
  /** For a jetton wallet: its owner and its jetton. */
  readonly owner: Account | undefined;
  readonly jetton: Account | undefined;
}

type AccountOrigin = Partial<Pick<Account, 'workchain' | 'owner' | 'jetton'>>;

function makeAccount(kind: AccountKind, hash: Buffer, { workchain = 0, owner, jetton }: AccountOrigin = {}): Account {
  const address = `${workchain}:${hash.toString('hex').toUpperCase()}`;
  const friendly = friendlyAddress({ workchain, hash }, kind !== 'wallet');
  return { address, workchain, hash, kind, friendly, owner, jetton };
}

/** The population of a simulated chain: the same for the same seed. */
export class Accounts {
  readonly wallets: readonly Account[];
  readonly jettonWallets: readonly Account[];
  readonly contracts: readonly Account[];
  /** Accounts of workchain -1; the first is the elector. */
  readonly masterchain: readonly Account[];
  readonly elector: Account;

  constructor(seed: number) {
    const random = new SeededRandom(seed, 'accounts');
    const several = (kind: AccountKind, count: number, origin: () => AccountOrigin = () => ({})) =>
      Array.from({ length: count }, (_, n) =>
        makeAccount(kind, Buffer.from(digest(seed, kind, n), 'base64'), origin()),
      );

    this.wallets = several('wallet', 120);
    const jettons = several('jetton-master', 4);
    this.jettonWallets = several('jetton-wallet', 180, () => ({
      owner: random.pick(this.wallets),
      jetton: random.pick(jettons),
    }));
    this.contracts = several('contract', 40);
    this.elector = makeAccount('elector', Buffer.alloc(32, 0x33), { workchain: -1 });
    this.masterchain = [this.elector, ...several('validator-pool', 3, () => ({ workchain: -1 }))];
  }
}
