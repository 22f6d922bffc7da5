import type { Account } from '../accounts.ts';
import type { JettonRow } from '../jetton-act.ts';
import type { Written } from '../jetton-tables.ts';
import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderNames, renderWallet, walletRow } from '../render-jettons.ts';

interface Found extends Written<JettonRow> {
  readonly wallet: Account;
}

/** The wallets that ever belonged to the requested addresses, owners or jetton; all if none is given. */
function candidates(question: SimulatorQuestion): readonly Account[] {
  const { tables } = question.chain.jettons;
  const filters = ['address', 'owner_address', 'jetton_address'].map((name) => question.addressFilter(name));
  const first = filters.find((given) => given.length > 0);
  return first === undefined ? tables.wallets : [...new Set(first.flatMap((address) => tables.walletsOf(address)))];
}

/** Compares by the columns of the order, one after the other. */
function comparison(question: SimulatorQuestion): (a: Found, b: Found) => number {
  const { tables } = question.chain.jettons;
  const sort = question.sort();
  const byText = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);
  const byPlace = (a: Found, b: Found) => tables.placeOf(a.wallet) - tables.placeOf(b.wallet);
  const byBalance = (a: Found, b: Found) => (a.row.balance - b.row.balance) * (sort === 'desc' ? -1 : 1);
  const own = (a: Found, b: Found) => (sort === undefined ? 0 : byBalance(a, b)) || byPlace(a, b);
  if (question.addressFilter('jetton_address').length === 1) return own;
  if (question.addressFilter('owner_address').length > 0)
    return (a, b) => byText(a.row.owner.address, b.row.owner.address) || own(a, b);
  if (question.addressFilter('address').length > 0) return (a, b) => byText(a.wallet.address, b.wallet.address);
  return own;
}

/** Wallets by their addresses, owners and jetton, in the order of their first rows unless something else is given. */
function answer(question: SimulatorQuestion): object {
  const asked = (name: string) => new Set(question.addressFilter(name));
  const [addresses, owners, jettons] = [asked('address'), asked('owner_address'), asked('jetton_address')];
  if (jettons.size > 1 && owners.size !== 1)
    throw new IndexerRefusal(422, 'several jetton_address need exactly one owner_address');
  const withoutZero = question.decodedFlag('exclude_zero_balance');
  const page = question.page();
  const isIn = (filter: ReadonlySet<string>, address: string) => filter.size === 0 || filter.has(address);
  const found = candidates(question)
    .flatMap((wallet): readonly Found[] => {
      const written = walletRow(wallet, question);
      return written === undefined ? [] : [{ wallet, ...written }];
    })
    .filter(({ wallet, row }) => isIn(addresses, wallet.address) && isIn(owners, row.owner.address))
    .filter(({ row }) => isIn(jettons, row.master.address) && !(withoutZero && row.balance === 0))
    .sort(comparison(question));
  const rows = question.selectAll(found.slice(...page));
  return {
    jetton_wallets: rows.map(({ wallet, ...written }) => renderWallet(wallet, written)),
    ...renderNames(
      rows.flatMap(({ wallet, row }) => [wallet, row.owner, row.master]),
      question,
    ),
  };
}

/** The commits of all rows of the wallets that can belong to the answer. */
function changes(question: SimulatorQuestion): readonly number[] {
  const { tables } = question.chain.jettons;
  const commits = candidates(question).flatMap(({ address }) => tables.commitsOf(address));
  return commits.map(({ seqno }) => question.chain.indexedAt(seqno));
}

export const jettonWallets = { name: 'jetton/wallets', answer, changes } as const satisfies SimulatedOperation;
