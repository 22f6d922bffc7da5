import fc from 'fast-check';
import type { AccountId } from '../../../src/tools/simulator/spellings.ts';
import { type FurtherMeaning, furtherMeanings, furtherPairs } from './further-meanings.ts';

/** The meaning of a client's request, independent of its spelling and of the proxy's own types. */
export type Meaning =
  | {
      readonly operation: 'pendingTraces';
      readonly accounts: readonly AccountId[];
      readonly extMsgHashes: readonly Buffer[];
      /** True if `ext_msg_hash` is also given without a value. On its own, an empty value requests no traces. */
      readonly emptyHash: boolean;
      /** Versions, shortcuts and action types, all of them opaque words. A single word may be sent in the header. */
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
    }
  | FurtherMeaning;

/** Equal texts for two meanings exactly if they are the same call. */
export function identityOf(meaning: Meaning): string {
  if (meaning.operation === 'traces') {
    // The words are a set, and have no effect without actions.
    const actions = meaning.includeActions ? [...new Set(meaning.actions)].toSorted() : [];
    return textOf({ ...meaning, actions });
  }
  if (meaning.operation !== 'pendingTraces') return textOf(meaning);
  const names = meaning.accounts.map(({ workchain, hash }) => `${workchain} ${hash.toString('hex')}`);
  // Of equal accounts only the last one stays, because their order matters. Hashes and action types are sets.
  const accounts = [...new Set(names.toReversed())].toReversed();
  const extMsgHashes = [...new Set(meaning.extMsgHashes.map((hash) => hash.toString('hex')))].toSorted();
  const actions = [...new Set(meaning.actions)].toSorted();
  // The empty value counts only if nothing else is requested.
  const emptyHash = accounts.length + extMsgHashes.length === 0;
  return textOf({ ...meaning, accounts, extMsgHashes, emptyHash, actions });
}

function textOf(fields: object): string {
  const sorted = Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(sorted, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : (value ?? 'omitted')));
}

function nameOf({ workchain, hash }: AccountId): string {
  return `account ${workchain} ${hash.toString('hex')}`;
}

/** The values by which a purge can select the request, in the form of the names in `purge-selector.test.ts`. */
export function namesOf(meaning: Meaning): Set<string> {
  switch (meaning.operation) {
    case 'masterchainInfo':
      return new Set();
    case 'masterchainBlockShards':
    case 'transactionsByMasterchainBlock':
      return new Set([`seqno ${meaning.seqno}`]);
    case 'blocks':
      if ('hash' in meaning) return new Set([`hash ${meaning.hash.toString('hex')}`]);
      // The seqno of a shard block is not that of a masterchain block.
      return new Set(meaning.by === 'block' && meaning.workchain !== -1 ? [] : [`seqno ${meaning.seqno}`]);
    case 'adjacentTransactions':
    case 'traces':
    case 'transactionsByMessage':
      return new Set([`hash ${meaning.hash.toString('hex')}`]);
    case 'transactions':
      return new Set(['hash' in meaning ? `hash ${meaning.hash.toString('hex')}` : nameOf(meaning.account)]);
    case 'addressInformation':
    case 'walletInformation':
    case 'accountStates':
    case 'walletStates':
    case 'jetton/masters':
      return new Set([nameOf(meaning.account)]);
    case 'jetton/wallets':
      return new Set([nameOf('account' in meaning ? meaning.account : meaning.owner)]);
    case 'jetton/transfers':
      return new Set([nameOf('wallet' in meaning ? meaning.wallet : meaning.owner)]);
    case 'pendingTraces':
      return new Set([
        ...meaning.extMsgHashes.map((hash) => `hash ${hash.toString('hex')}`),
        ...meaning.accounts.map(nameOf),
      ]);
  }
}

/** Few and similar values, so that two generated meanings are often equal or almost equal. */
const hash = fc.constantFrom(Buffer.alloc(32), Buffer.alloc(32, 0xfb), Buffer.alloc(32, 0x7e));
const account = fc.record({ workchain: fc.constantFrom(0, -1), hash });

/**
 * Known words in several cases, and words that look like two words, like a separator of the key, or like each other.
 */
const actionWord = fc.constantFrom(
  ...['v1', 'V1', 'latest', 'nft', 'nft.v3', 'ton_transfer', 'Ton_Transfer', 'v1,nft', ',', '', ' v1', 'v1 '],
  ...['a b', 'a&b', 'a%26b', '%', 'a=b', 'a:b', 'nft&X-No-Metadata:true', 'nft&ext_msg_hash=', 'x'.repeat(64)],
);

const pendingTraces = fc
  .record({
    operation: fc.constant('pendingTraces' as const),
    accounts: fc.array(account, { maxLength: 3 }),
    extMsgHashes: fc.array(hash, { maxLength: 3 }),
    emptyHash: fc.boolean(),
    actions: fc.oneof(
      fc.constant([]),
      actionWord.map((word) => [word]),
      fc.array(actionWord, { maxLength: 3 }),
    ),
    noAddressBook: fc.boolean(),
    noMetadata: fc.boolean(),
  })
  .filter(({ accounts, extMsgHashes, emptyHash }) => emptyHash || accounts.length + extMsgHashes.length > 0);

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

const always: fc.Arbitrary<Meaning> = fc.oneof(pendingTraces, adjacentTransactions, masterchainBlockShards);

export const meanings: fc.Arbitrary<Meaning> = fc.oneof(always, furtherMeanings);

/** A meaning with two words, and the same meaning with one word: both of them joined by a comma. */
const wordsAndWord = fc
  .tuple(pendingTraces, actionWord, actionWord)
  .filter(([, one, other]) => one.length + other.length < 64)
  .map(([meaning, one, other]) => {
    const [words, word]: [Meaning, Meaning] = [
      { ...meaning, actions: [one, other] },
      { ...meaning, actions: [`${one},${other}`] },
    ];
    return [words, word] as const;
  });

/** Pairs of one operation, which are easily confused. At least a fifth of the pairs are one meaning twice. */
export const meaningPairs: fc.Arbitrary<readonly [Meaning, Meaning]> = fc.oneof(
  wordsAndWord,
  meanings.map((meaning) => [meaning, meaning] as const),
  fc.tuple(pendingTraces, pendingTraces),
  fc.tuple(adjacentTransactions, adjacentTransactions),
  fc.tuple(masterchainBlockShards, masterchainBlockShards),
  { arbitrary: furtherPairs, weight: 5 },
);
