import type { Call } from './call.ts';
import { isFinal, type Row } from './windows.ts';

/** The rows of a list; empty if the body has none. */
function listIn(text: string, name: string): readonly Readonly<Record<string, unknown>>[] {
  return JSON.parse(text)[name] ?? [];
}

/**
 * True if nothing in an answer shows that it is older than the one before, so that it may replace that one even if it
 * comes from a lagging source.
 */
export function mayReplace(call: Call, before: string, text: string): boolean {
  switch (call.operation) {
    case 'adjacentTransactions':
      return finalIn(before).isSubsetOf(finalIn(text));
    case 'jetton/wallets':
      return !hasEarlierWallet(before, text);
    case 'jetton/masters':
      return listIn(text, 'jetton_masters').length === 0;
    case 'jetton/transfers': {
      const [rows, newer] = [listIn(before, 'jetton_transfers'), listIn(text, 'jetton_transfers')];
      // A full page that gains a row loses another one, and an empty list may be right.
      const isCut = [rows, newer].some(({ length }) => length === 0 || length >= (call.limit ?? DEFAULT_LIMIT));
      const hashes = new Set(newer.map((row) => row['transaction_hash']));
      return isCut || rows.every((row) => hashes.has(row['transaction_hash']));
    }
    default:
      return false;
  }
}

const DEFAULT_LIMIT = 100;

/** The final transactions in a list. Pending ones may disappear. */
function finalIn(text: string): ReadonlySet<string> {
  const rows: readonly (Row & { readonly hash: string })[] = JSON.parse(text).transactions ?? [];
  return new Set(rows.filter(isFinal).map(({ hash }) => hash));
}

/** True if a wallet is shown at an earlier transaction than before, and none at a later one. A missing one says nothing. */
function hasEarlierWallet(before: string, text: string): boolean {
  const ltsIn = (body: string) =>
    new Map(listIn(body, 'jetton_wallets').map((row) => [row['address'], Number(row['last_transaction_lt'])]));
  const known = ltsIn(before);
  const steps = [...ltsIn(text)].map(([address, lt]) => lt - (known.get(address) ?? lt));
  return steps.some((step) => step < 0) && !steps.some((step) => step > 0);
}
