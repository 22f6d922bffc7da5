import { expect, test } from 'vitest';
import { Accounts } from '../../src/tools/simulator/accounts.ts';
import type { Call } from './call.ts';
import { mayReplace } from './replaced-answers.ts';

const [OWNER, ACCOUNT] = new Accounts(1).wallets;
if (OWNER === undefined || ACCOUNT === undefined) throw new Error('there are no accounts');

const wallets = (...lts: readonly (readonly [address: string, lt: number])[]) =>
  JSON.stringify({ jetton_wallets: lts.map(([address, lt]) => ({ address, last_transaction_lt: String(lt) })) });
const transfers = (...hashes: readonly string[]) =>
  JSON.stringify({ jetton_transfers: hashes.map((transaction_hash) => ({ transaction_hash })) });
const ofOwner: Call = { operation: 'jetton/wallets', owner: OWNER };
const pageOf = (limit: number): Call => ({ operation: 'jetton/transfers', owner: OWNER, limit });

test.each<[answer: string, may: boolean, call: Call, before: string, text: string]>([
  ['a list with an earlier wallet', false, ofOwner, wallets(['A', 2]), wallets(['A', 1])],
  ['a list with a later wallet', true, ofOwner, wallets(['A', 2]), wallets(['A', 3])],
  ['an earlier and a later wallet', true, ofOwner, wallets(['A', 2], ['B', 2]), wallets(['A', 1], ['B', 3])],
  ['a list without a wallet', true, ofOwner, wallets(['A', 2], ['B', 2]), wallets(['B', 2])],
  ['no list of wallets', true, ofOwner, wallets(['A', 2]), wallets()],
  ['a page without a transfer', false, pageOf(5), transfers('a', 'b'), transfers('b')],
  ['a page with one more transfer', true, pageOf(5), transfers('b'), transfers('a', 'b')],
  ['a full page without a transfer', true, pageOf(2), transfers('a', 'b'), transfers('c', 'b')],
  ['a page of no transfers', true, pageOf(5), transfers('a'), transfers()],
  ['a state', false, { operation: 'accountStates', accounts: [ACCOUNT] }, '{}', '{}'],
])('%s may replace the answer before it: %s', (_, may, call, before, text) => {
  expect(mayReplace(call, before, text)).toBe(may);
});
