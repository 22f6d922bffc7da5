import type { Account } from './accounts.ts';
import type { Transaction } from './trace.ts';

const INTERFACES: Readonly<Record<Account['kind'], readonly string[]>> = {
  wallet: ['wallet_v5r1'],
  'jetton-wallet': ['jetton_wallet'],
  'jetton-master': ['jetton_master'],
  contract: ['dedust_pool'],
  elector: [],
  'validator-pool': ['nominator_pool'],
};

/** Every account that transactions name, each once, in the order of their addresses. */
export function accountsIn(transactions: Iterable<Transaction>): readonly Account[] {
  const named = new Map<string, Account>();
  for (const { account, inMessage, children } of transactions) {
    named.set(account.address, account);
    for (const other of [inMessage?.source, ...children.map((child) => child.account)]) {
      if (other !== undefined) named.set(other.address, other);
    }
  }
  return [...named.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
}

/** `address_book`: how to show each account. */
export function renderAddressBook(accounts: readonly Account[]): object {
  const entry = ({ friendly, kind }: Account) => ({
    user_friendly: friendly,
    domain: null,
    interfaces: INTERFACES[kind],
  });
  return Object.fromEntries(accounts.map((account) => [account.address, entry(account)]));
}

function tokenInfo({ kind, jetton, owner, friendly }: Account): object {
  if (kind === 'jetton-wallet') {
    const extra = { balance: '4100100', jetton: jetton?.address, owner: owner?.address };
    return { valid: true, type: 'jetton_wallets', extra };
  }
  const extra = { decimals: '6', uri: `https://jettons.example/${friendly}.json` };
  return { valid: true, type: 'jetton_masters', name: 'Simulated', symbol: 'SIM', extra };
}

/** `metadata`: what the indexer knows of the tokens among the accounts, and of the jettons that they hold. */
export function renderMetadata(accounts: readonly Account[]): object {
  const jettons = accounts.flatMap(({ jetton }) => (jetton === undefined ? [] : [jetton]));
  const tokens = [...new Set([...accounts, ...jettons])]
    .filter(({ kind }) => kind === 'jetton-wallet' || kind === 'jetton-master')
    .sort((a, b) => (a.address < b.address ? -1 : 1));
  const entry = (account: Account) => ({ is_indexed: true, token_info: [tokenInfo(account)] });
  return Object.fromEntries(tokens.map((account) => [account.address, entry(account)]));
}
