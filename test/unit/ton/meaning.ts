import fc from 'fast-check';
import type { AccountId } from '../../../src/simulator/spellings.ts';

/** What a client wants, before anybody spelled it: the proxy's own types have no part in it. */
export type Meaning =
  | {
      readonly operation: 'pendingTraces';
      readonly accounts: readonly AccountId[];
      readonly extMsgHashes: readonly Buffer[];
      /** A version (sent as the header or as the one action type) or a list of action types; empty for neither. */
      readonly actions: readonly string[];
      readonly noAddressBook: boolean;
      readonly noMetadata: boolean;
    }
  | {
      readonly operation: 'adjacentTransactions';
      readonly hash: Buffer;
      readonly direction: 'in' | 'out' | undefined;
      readonly noAddressBook: boolean;
    }
  | {
      readonly operation: 'masterchainBlockShards';
      readonly seqno: number;
      readonly limit: number | undefined;
      readonly offset: number | undefined;
      readonly sort: 'asc' | 'desc' | undefined;
    };

/** Two meanings are the same call exactly when this is the same text. */
export function identityOf(meaning: Meaning): string {
  if (meaning.operation !== 'pendingTraces') {
    return JSON.stringify(meaning, (_, value: unknown) => value ?? 'omitted');
  }
  const names = meaning.accounts.map(({ workchain, hash }) => `${workchain} ${hash.toString('hex')}`);
  // Of equal accounts the last one counts; hashes and action types are sets.
  const accounts = [...new Set(names.toReversed())].toReversed();
  const extMsgHashes = [...new Set(meaning.extMsgHashes.map((hash) => hash.toString('hex')))].toSorted();
  const actions = [...new Set(meaning.actions)].toSorted();
  return JSON.stringify({ ...meaning, accounts, extMsgHashes, actions });
}

/** Few values, all of them close to each other: two meanings out of these pools are often the same, or nearly. */
const hash = fc.constantFrom(Buffer.alloc(32), Buffer.alloc(32, 0xfb), Buffer.alloc(32, 0x7e));
const account = fc.record({ workchain: fc.constantFrom(0, -1), hash });

const pendingTraces = fc
  .record({
    operation: fc.constant('pendingTraces' as const),
    accounts: fc.array(account, { maxLength: 3 }),
    extMsgHashes: fc.array(hash, { maxLength: 3 }),
    actions: fc.oneof(
      fc.constant([]),
      fc.constantFrom(['latest'], ['v1'], ['v11']),
      fc.array(fc.constantFrom('v1', 'latest', 'ton_transfer', 'Ton_Transfer', 'call'), { maxLength: 3 }),
    ),
    noAddressBook: fc.boolean(),
    noMetadata: fc.boolean(),
  })
  .filter(({ accounts, extMsgHashes }) => accounts.length + extMsgHashes.length > 0);

const adjacentTransactions = fc.record({
  operation: fc.constant('adjacentTransactions' as const),
  hash,
  direction: fc.constantFrom('in', 'out', undefined),
  noAddressBook: fc.boolean(),
});

const masterchainBlockShards = fc.record({
  operation: fc.constant('masterchainBlockShards' as const),
  seqno: fc.constantFrom(0, 1, 10, 2_147_483_647),
  limit: fc.constantFrom(undefined, 1, 10, 100, 1000),
  offset: fc.constantFrom(undefined, 0, 1, 10),
  sort: fc.constantFrom('asc', 'desc', undefined),
});

export const meanings: fc.Arbitrary<Meaning> = fc.oneof(pendingTraces, adjacentTransactions, masterchainBlockShards);

/** Two of one operation: the ones that could be mistaken for each other. */
export const meaningPairs: fc.Arbitrary<readonly [Meaning, Meaning]> = fc.oneof(
  fc.tuple(pendingTraces, pendingTraces),
  fc.tuple(adjacentTransactions, adjacentTransactions),
  fc.tuple(masterchainBlockShards, masterchainBlockShards),
);
