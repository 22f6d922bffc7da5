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

test.each<[answer: string, call: Call, before: string, text: string, may: boolean]>([
  ['a list with an earlier wallet', ofOwner, wallets(['A', 2]), wallets(['A', 1]), false],
  ['a list with a later wallet', ofOwner, wallets(['A', 2]), wallets(['A', 3]), true],
  ['an earlier and a later wallet', ofOwner, wallets(['A', 2], ['B', 2]), wallets(['A', 1], ['B', 3]), true],
  ['a list without a wallet', ofOwner, wallets(['A', 2], ['B', 2]), wallets(['B', 2]), true],
  ['no list of wallets', ofOwner, wallets(['A', 2]), wallets(), true],
  ['a page without a transfer', pageOf(5), transfers('a', 'b'), transfers('b'), false],
  ['a page with one more transfer', pageOf(5), transfers('b'), transfers('a', 'b'), true],
  ['a full page without a transfer', pageOf(2), transfers('a', 'b'), transfers('c', 'b'), true],
  ['a page of no transfers', pageOf(5), transfers('a'), transfers(), true],
  ['a state', { operation: 'accountStates', accounts: [ACCOUNT] }, '{}', '{}', false],
])('%s may replace an answer from before: %#', (_, call, before, text, may) => {
  expect(mayReplace(call, before, text)).toBe(may);
});
