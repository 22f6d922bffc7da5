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
  /** Its name in the TON DNS, for a few wallets. */
  readonly domain: string | undefined;
  /** For a jetton wallet: its owner and its jetton. */
  readonly owner: Account | undefined;
  readonly jetton: Account | undefined;
}

interface AccountOrigin {
  readonly workchain?: number;
  readonly domain?: string;
  readonly owner?: Account;
  readonly jetton?: Account;
}

function makeAccount(kind: AccountKind, hash: Buffer, origin: AccountOrigin = {}): Account {
  const workchain = origin.workchain ?? 0;
  return {
    address: `${workchain}:${hash.toString('hex').toUpperCase()}`,
    workchain,
    hash,
    kind,
    friendly: friendlyAddress({ workchain, hash }, kind !== 'wallet'),
    domain: origin.domain,
    owner: origin.owner,
    jetton: origin.jetton,
  };
}

/** The population of a simulated chain: the same for the same seed. */
export class Accounts {
  readonly wallets: readonly Account[];
  readonly jettonMasters: readonly Account[];
  readonly jettonWallets: readonly Account[];
  readonly contracts: readonly Account[];
  /** Accounts of workchain -1; the first is the elector. */
  readonly masterchain: readonly Account[];
  readonly elector: Account;
  readonly all: readonly Account[];
  readonly #byAddress: ReadonlyMap<string, Account>;

  constructor(seed: number) {
    const random = new SeededRandom(seed, 'accounts');
    const hashOf = (kind: AccountKind, n: number) => Buffer.from(digest(seed, kind, n), 'base64');
    const several = (kind: AccountKind, count: number, origin: (n: number) => AccountOrigin = () => ({})) =>
      Array.from({ length: count }, (_, n) => makeAccount(kind, hashOf(kind, n), origin(n)));

    this.wallets = several('wallet', 120, (n) => (n % 10 === 0 ? { domain: `wallet-${n}.ton` } : {}));
    this.jettonMasters = several('jetton-master', 4);
    this.jettonWallets = several('jetton-wallet', 180, () => ({
      owner: random.pick(this.wallets),
      jetton: random.pick(this.jettonMasters),
    }));
    this.contracts = several('contract', 40);
    this.elector = makeAccount('elector', Buffer.alloc(32, 0x33), { workchain: -1 });
    this.masterchain = [this.elector, ...several('validator-pool', 3, () => ({ workchain: -1 }))];
    this.all = [...this.wallets, ...this.jettonMasters, ...this.jettonWallets, ...this.contracts, ...this.masterchain];
    this.#byAddress = new Map(this.all.map((account) => [account.address, account]));
  }

  /** The account of a canonical address, if the chain has it. */
  find(address: string): Account | undefined {
    return this.#byAddress.get(address);
  }
}

let latest: { readonly seed: number; readonly accounts: Accounts } | undefined;

/**
 * The population of a seed. The last one is kept for reuse: tests make many chains of one seed, and a population never
 * changes.
 */
export function accountsOf(seed: number): Accounts {
  if (latest?.seed !== seed) latest = { seed, accounts: new Accounts(seed) };
  return latest.accounts;
}
