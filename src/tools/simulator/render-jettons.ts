import type { Account } from './accounts.ts';
import type { JettonRow } from './jetton-act.ts';
import type { Written } from './jetton-tables.ts';
import type { SimulatorQuestion } from './question.ts';
import { codeHashOf, dataHashOf, renderAddressBook } from './render-transaction.ts';

/** The row of a wallet in the database of a question. */
export function walletRow(wallet: Account, question: SimulatorQuestion): Written<JettonRow> | undefined {
  const { chain, databaseAt, dialect } = question;
  return chain.jettons.tables.walletAt(wallet, databaseAt, dialect === '1.2');
}

/** `address_book` and `metadata` of an answer that names these accounts, unless a header omits them. */
export function renderNames(accounts: readonly Account[], question: SimulatorQuestion): object {
  const named = new Map(accounts.map((account) => [account.address, account]));
  const inBook = [...named.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
  const infos = inBook.map((account) => [account, tokenInfo(account, question)] as const);
  const masters = infos.flatMap(([, info]) => (info?.master === undefined ? [] : [info.master]));
  // The metadata of a wallet brings that of its master.
  const more = masters
    .filter(({ address }) => !named.has(address))
    .map((master) => [master, tokenInfo(master, question)] as const);
  const withInfo = [...infos, ...more].flatMap(([{ address }, info]) =>
    info === undefined ? [] : [[address, info] as const],
  );
  withInfo.sort(([a], [b]) => (a < b ? -1 : 1));
  const metadata = withInfo.map(([address, { info }]) => [address, { is_indexed: true, token_info: [info] }]);
  return {
    address_book: question.flag('X-No-Address-Book') ? {} : renderAddressBook(inBook),
    metadata: question.flag('X-No-Metadata') ? {} : Object.fromEntries(metadata),
  };
}

function tokenInfo(
  account: Account,
  question: SimulatorQuestion,
): { readonly info: object; readonly master?: Account } | undefined {
  if (account.kind === 'jetton-master') {
    const extra = { decimals: '6', uri: 'https://jettons.example/sim.json' };
    return { info: { valid: true, type: 'jetton_masters', name: 'Simulated', symbol: 'SIM', extra } };
  }
  const written = walletRow(account, question);
  if (written === undefined) return undefined;
  const { owner, master, balance } = written.row;
  const extra = { balance: String(balance), jetton: master.address, owner: owner.address };
  return { info: { valid: true, type: 'jetton_wallets', extra }, master };
}

/** A row of `jetton/wallets`. */
export function renderWallet(wallet: Account, { row, transaction }: Written<JettonRow>): object {
  return {
    address: wallet.address,
    balance: String(row.balance),
    owner: row.owner.address,
    jetton: row.master.address,
    last_transaction_lt: String(transaction.lt),
    code_hash: codeHashOf('jetton-wallet'),
    data_hash: dataHashOf(transaction, 'after'),
  };
}
