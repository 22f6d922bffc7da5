import type { Account } from './accounts.ts';
import type { Transaction } from './trace.ts';

const INTERFACES: Readonly<Record<Account['kind'], readonly string[]>> = {
  wallet: ['wallet_v5r1'],
  'jetton-wallet': ['jetton_wallet'],
  contract: ['dedust_pool'],
};

/** Every account that transactions name, each once, in the order of their addresses. */
export function accountsIn(transactions: Iterable<Transaction>): readonly Account[] {
  const named = new Map<string, Account>();
  for (const transaction of transactions) {
    const { parent, children } = transaction;
    for (const { account } of [transaction, ...(parent === undefined ? [] : [parent]), ...children]) {
      named.set(account.address, account);
    }
  }
  return [...named.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
}

/** `address_book`: how to show each account. */
export function renderAddressBook(accounts: readonly Account[]): object {
  return Object.fromEntries(
    accounts.map(({ address, friendly, kind }) => [
      address,
      { user_friendly: friendly, domain: null, interfaces: INTERFACES[kind] },
    ]),
  );
}

/** `metadata`: what the indexer knows of the jetton wallets among the accounts. */
export function renderMetadata(accounts: readonly Account[]): object {
  const wallets = accounts.filter(({ kind }) => kind === 'jetton-wallet');
  const extra = { balance: '4100100', decimals: '6', uri: 'https://jettons.example/sim.json' };
  const token = { valid: true, type: 'jetton_wallets', name: 'Simulated', symbol: 'SIM', extra };
  return Object.fromEntries(wallets.map(({ address }) => [address, { is_indexed: true, token_info: [token] }]));
}
