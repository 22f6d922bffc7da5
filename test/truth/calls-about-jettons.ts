import type { Account } from '../../src/tools/simulator/accounts.ts';
import type { Chain } from '../../src/tools/simulator/chain.ts';
import { BALANCE_METHOD, TIME_METHOD } from '../../src/tools/simulator/get-methods.ts';
import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import type { Call } from './call.ts';

/** Some owners are busy: their wallets run in nearly every block. */
const BUSY_SHARE = 0.15;
const UNNAMED = { noAddressBook: true, noMetadata: true } as const;

/** Questions about an owner, its wallets, their transfers and their jettons. */
export function callsAboutJettons(chain: Chain, random: SeededRandom): readonly Call[] {
  const { owners, busyOwners, masters, tables } = chain.jettons;
  if (owners.length === 0) return [];
  const owner = random.pick(random.chance(BUSY_SHARE) ? busyOwners : owners);
  const [wallet] = tables.walletsOf(owner.address);
  const names = random.chance(0.5) ? UNNAMED : random.chance(0.2) ? { noMetadata: true as const } : {};
  const calls = [
    ...Array.from({ length: 3 }, () => walletsCall(owner, random.pick(masters), random)),
    ...Array.from({ length: 3 }, () => transfersCall(owner, chain, random)),
    ...(wallet === undefined ? [] : [random.pick(callsAboutWallet(wallet, random))]),
    random.pick<Call>([
      { operation: 'walletStates', accounts: [random.pick(chain.idle.all)] },
      { operation: 'jetton/masters', accounts: [random.pick(masters)] },
    ]),
  ];
  return calls.map((call) => ({ ...call, ...names }));
}

/** A get-method of a contract that does little, which is proven, or reads the time. */
export function callOfMethod(chain: Chain, random: SeededRandom): Call | undefined {
  const { steady } = chain.jettons;
  if (steady === undefined) return undefined;
  const holder = random.pick(steady.holders);
  const wallet = chain.jettons.walletOf(holder, steady.master);
  const [account, method] = random.pick<readonly [Account, string]>([
    ...([wallet, wallet, wallet] as const).map((each) => [each, 'get_wallet_data'] as const),
    [wallet, BALANCE_METHOD],
    [wallet, TIME_METHOD],
    [steady.master, 'get_wallet_address'],
    [steady.master, 'get_nft_address_by_index'],
    [steady.master, 'get_jetton_data'],
    [holder, BALANCE_METHOD],
  ]);
  const argument = method === 'get_wallet_address' ? { argument: holder } : {};
  return { operation: 'runGetMethod', accounts: [account], method, ...argument };
}

function walletsCall(owner: Account, jetton: Account, random: SeededRandom): Call {
  const forms = random.pick<Partial<Call>>([
    {},
    { limit: 50 },
    { limit: 2 },
    { excludesZero: true },
    { jetton },
    { jetton, excludesZero: true, limit: 1 },
    { sort: random.pick(['asc', 'desc']) },
  ]);
  return { operation: 'jetton/wallets', owner, ...forms };
}

function transfersCall(owner: Account, chain: Chain, random: SeededRandom): Call {
  const [since] = chain.jettons.tables.transfersOf(owner.address).slice(-3);
  const forms = random.pick<Partial<Call>>([
    { limit: 50 },
    { limit: 3 },
    { limit: 10, sort: 'desc' },
    ...(since === undefined ? [] : [{ startLt: since.lt }, { startUtime: since.now, limit: 20 }]),
  ]);
  const direction = random.pick(['in', 'in', 'out', 'both'] as const);
  return { operation: 'jetton/transfers', owner, ...forms, ...(direction === 'both' ? {} : { direction }) };
}

function callsAboutWallet(wallet: Account, random: SeededRandom): readonly Call[] {
  const accounts = [wallet];
  return [
    { operation: 'jetton/wallets', accounts },
    { operation: 'jetton/transfers', accounts, limit: random.pick([3, 50]) },
    { operation: 'accountStates', accounts, ...(random.chance(0.5) ? { lacksBoc: true } : {}) },
  ];
}
