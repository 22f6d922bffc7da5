import fc from 'fast-check';
import type { OperationName } from '../../../src/ton/operation-names.ts';
import type { AccountId } from '../../../src/tools/simulator/spellings.ts';

/** The meaning of a request for a further operation, in one of its cached forms. */
export type FurtherMeaning =
  | ({ readonly operation: 'blocks'; readonly by: 'mc_seqno'; readonly seqno: number } & Page)
  | ({ readonly operation: 'blocks'; readonly by: 'root_hash' | 'file_hash'; readonly hash: Buffer } & Page)
  | ({
      readonly operation: 'blocks';
      readonly by: 'block';
      readonly workchain: number;
      /** `undefined` only for a masterchain block, which needs no shard. */
      readonly shard: bigint | undefined;
      readonly seqno: number;
    } & Page)
  | ({
      readonly operation: 'transactionsByMasterchainBlock';
      readonly seqno: number;
      readonly noAddressBook: boolean;
    } & Page)
  | { readonly operation: 'masterchainInfo' }
  | ({
      readonly operation: 'traces';
      readonly by: 'tx_hash' | 'trace_id' | 'msg_hash';
      readonly hash: Buffer;
      readonly includeActions: boolean;
      /** Opaque words, as for pending traces. They have no effect unless `includeActions` is true. */
      readonly actions: readonly string[];
      readonly noAddressBook: boolean;
      readonly noMetadata: boolean;
    } & FirstPage)
  | ({ readonly operation: 'transactions'; readonly hash: Buffer; readonly noAddressBook: boolean } & FirstPage)
  | ({
      readonly operation: 'transactions';
      readonly account: AccountId;
      readonly startLt: bigint | undefined;
      readonly startUtime: number | undefined;
      readonly noAddressBook: boolean;
    } & FirstPage)
  | { readonly operation: 'addressInformation' | 'walletInformation'; readonly account: AccountId }
  | ({
      readonly operation: 'accountStates' | 'walletStates';
      readonly account: AccountId;
      readonly includeBoc: boolean;
    } & Names)
  | ({
      readonly operation: 'jetton/wallets' | 'jetton/masters';
      readonly account: AccountId;
      readonly limit: number | undefined;
    } & Names)
  | ({
      readonly operation: 'jetton/wallets';
      readonly owner: AccountId;
      readonly jetton: AccountId | undefined;
      readonly omitsZero: boolean;
    } & FirstPage &
      Names)
  | ({
      readonly operation: 'jetton/transfers';
      readonly owner: AccountId;
      readonly direction: 'in' | 'out' | undefined;
    } & Transfers)
  | ({ readonly operation: 'jetton/transfers'; readonly wallet: AccountId } & Transfers)
  | ({
      readonly operation: 'transactionsByMessage';
      readonly hash: Buffer;
      readonly direction: 'in' | 'out' | undefined;
      readonly noAddressBook: boolean;
    } & FirstPage);

type FurtherName = Exclude<
  OperationName,
  'pendingTraces' | 'adjacentTransactions' | 'masterchainBlockShards' | 'runGetMethod'
>;

export interface FirstPage {
  readonly limit: number | undefined;
  readonly sort: 'asc' | 'desc' | undefined;
}

export interface Names {
  readonly noAddressBook: boolean;
  readonly noMetadata: boolean;
}

export interface Transfers extends Names {
  readonly startLt: bigint | undefined;
  readonly startUtime: number | undefined;
  readonly limit: number | undefined;
  /** Only the newest first. */
  readonly sort: 'desc' | undefined;
}

interface Page extends FirstPage {
  readonly offset: number | undefined;
}

/**
 * The parameters of cached requests, from `docs/reference/requests.md`, without those that are dropped. A request with
 * any other parameter is not cached.
 */
export const CACHED_NAMES: Readonly<Record<FurtherName, readonly string[]>> = {
  blocks: ['workchain', 'shard', 'seqno', 'root_hash', 'file_hash', 'mc_seqno', 'limit', 'offset', 'sort'],
  transactionsByMasterchainBlock: ['seqno', 'limit', 'offset', 'sort', 'x_no_address_book'],
  masterchainInfo: [],
  traces: [
    ...['tx_hash', 'trace_id', 'msg_hash', 'include_actions', 'supported_action_types', 'limit', 'offset', 'sort'],
    ...['x_no_address_book', 'x_no_metadata'],
  ],
  transactions: [...['hash', 'account', 'start_lt', 'start_utime', 'limit', 'offset', 'sort', 'x_no_address_book']],
  addressInformation: ['address'],
  walletInformation: ['address'],
  accountStates: ['address', 'include_boc', 'x_no_address_book', 'x_no_metadata'],
  walletStates: ['address', 'include_boc', 'x_no_address_book', 'x_no_metadata'],
  'jetton/wallets': [
    ...['address', 'owner_address', 'jetton_address', 'exclude_zero_balance', 'limit', 'offset', 'sort'],
    ...['x_no_address_book', 'x_no_metadata'],
  ],
  'jetton/masters': ['address', 'limit', 'offset', 'x_no_address_book', 'x_no_metadata'],
  'jetton/transfers': [
    ...['owner_address', 'jetton_wallet', 'direction', 'start_lt', 'start_utime', 'limit', 'offset', 'sort'],
    ...['x_no_address_book', 'x_no_metadata'],
  ],
  transactionsByMessage: ['msg_hash', 'direction', 'limit', 'offset', 'sort', 'x_no_address_book'],
};

/** Few and similar values, as in `meaning.ts`. Some of the shards are easily confused, such as 0x10 and 10. */
const hash = fc.constantFrom(Buffer.alloc(32), Buffer.alloc(32, 0xfb), Buffer.alloc(32, 0x7e));
const seqno = fc.constantFrom(0, 1, 10, 2_147_483_647);
const shard = fc.constantFrom(0x8000000000000000n, 0xa000000000000000n, 0x4000000000000000n, 0x10n, 10n, 0n);
const actions = fc.array(fc.constantFrom('v1', 'latest', 'v1,latest', ' v1', ''), { maxLength: 2 });
const noAddressBook = fc.boolean();
const account = fc.record({ workchain: fc.constantFrom(0, -1), hash });
const firstPage = {
  limit: fc.constantFrom(undefined, 1, 10, 100, 1000),
  sort: fc.constantFrom('asc' as const, 'desc' as const, undefined),
};
const names = { noAddressBook, noMetadata: fc.boolean() };
const starts = {
  startLt: fc.constantFrom(undefined, 0n, 1n, 2n ** 64n - 1n),
  startUtime: fc.constantFrom(undefined, 0, 1, 2_147_483_647),
};
const direction = fc.constantFrom('in' as const, 'out' as const, undefined);
const transfers = { ...starts, ...names, limit: firstPage.limit, sort: fc.constantFrom('desc' as const, undefined) };
const page = { ...firstPage, offset: fc.constantFrom(undefined, 0, 1, 10) };

function record<T>(fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(fields) as fc.Arbitrary<T>;
}

const operation = <const Name extends FurtherName>(name: Name) => ({ operation: fc.constant(name) });

/** The cached forms of each operation. The code does not compile until a new operation has its forms here. */
const FORMS_OF: {
  readonly [Name in FurtherName]: readonly fc.Arbitrary<FurtherMeaning & { readonly operation: Name }>[];
} = {
  blocks: [
    record({ ...operation('blocks'), by: fc.constant('mc_seqno' as const), seqno, ...page }),
    record({ ...operation('blocks'), by: fc.constantFrom('root_hash' as const, 'file_hash' as const), hash, ...page }),
    record({
      ...operation('blocks'),
      by: fc.constant('block' as const),
      workchain: fc.constantFrom(0, -1),
      shard,
      seqno,
      ...page,
    }),
    record({
      ...operation('blocks'),
      by: fc.constant('block' as const),
      workchain: fc.constant(-1),
      shard: fc.constantFrom(undefined, 0x8000000000000000n),
      seqno,
      ...page,
    }),
  ],
  transactionsByMasterchainBlock: [
    record({ ...operation('transactionsByMasterchainBlock'), seqno, noAddressBook, ...page }),
  ],
  masterchainInfo: [record(operation('masterchainInfo'))],
  traces: [
    record({
      ...operation('traces'),
      by: fc.constantFrom('tx_hash' as const, 'trace_id' as const, 'msg_hash' as const),
      hash,
      includeActions: fc.boolean(),
      actions,
      noAddressBook,
      noMetadata: fc.boolean(),
      ...firstPage,
    }),
  ],
  transactions: [
    record({ ...operation('transactions'), hash, noAddressBook, ...firstPage }),
    record({
      ...operation('transactions'),
      account,
      ...starts,
      noAddressBook,
      ...firstPage,
    }),
  ],
  addressInformation: [record({ ...operation('addressInformation'), account })],
  walletInformation: [record({ ...operation('walletInformation'), account })],
  accountStates: [record({ ...operation('accountStates'), account, includeBoc: fc.boolean(), ...names })],
  walletStates: [record({ ...operation('walletStates'), account, includeBoc: fc.boolean(), ...names })],
  'jetton/masters': [record({ ...operation('jetton/masters'), account, limit: firstPage.limit, ...names })],
  'jetton/wallets': [
    record({ ...operation('jetton/wallets'), account, limit: firstPage.limit, ...names }),
    record({
      ...operation('jetton/wallets'),
      owner: account,
      jetton: fc.option(account, { nil: undefined }),
      omitsZero: fc.boolean(),
      ...firstPage,
      ...names,
    }),
  ],
  'jetton/transfers': [
    record({ ...operation('jetton/transfers'), owner: account, direction, ...transfers }),
    record({ ...operation('jetton/transfers'), wallet: account, ...transfers }),
  ],
  transactionsByMessage: [
    record({
      ...operation('transactionsByMessage'),
      hash,
      direction,
      noAddressBook,
      ...firstPage,
    }),
  ],
};

const FORMS: readonly fc.Arbitrary<FurtherMeaning>[] = Object.values(FORMS_OF).flat();

export const furtherMeanings: fc.Arbitrary<FurtherMeaning> = fc.oneof(...FORMS);

/** Two meanings of one form that differ in at most one field, to find a field that a key omits. */
export const furtherPairs: fc.Arbitrary<readonly [FurtherMeaning, FurtherMeaning]> = fc.oneof(
  ...FORMS.map((form) =>
    fc.tuple(form, form, fc.nat()).map(([one, other, place]) => {
      const fields = Object.entries(other);
      return [one, { ...one, ...Object.fromEntries([fields[place % fields.length] ?? []]) }] as const;
    }),
  ),
);
