import type { Account } from '../../src/tools/simulator/accounts.ts';
import type { Chain } from '../../src/tools/simulator/chain.ts';
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
