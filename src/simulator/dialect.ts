/** Which indexer is simulated: the interface specification, or one of the two versions of the open-source indexer. */
export type Dialect = 'spec' | '1.2' | '1.3';

/** In what the dialects differ. */
export interface DialectTraits {
  /** `X-API-Version`. */
  readonly apiVersion: string;
  /** What `masterchainBlockShards` lists. */
  readonly shards: 'transactions' | 'blocks';
  readonly defaultLimit: number;
  readonly limitTooLargeStatus: 422 | 500;
  /** `masterchainBlockShards` reads `sort`. */
  readonly sorts: boolean;
  /** `traces` of `pendingTraces` where nothing is pending. */
  readonly nothingPending: null | readonly [];
  /** Whether `account` is a list and joins `ext_msg_hash`; else its last value is all that counts. */
  readonly manyAccounts: boolean;
  /** Whether `ext_msg_hash` may hold several values with commas between them. */
  readonly commaLists: boolean;
  /** Whether a hash in base64 may be without its padding. */
  readonly unpaddedHashes: boolean;
  /** How a transaction says that it is not final: the word of `finality`, or `emulated` and a missing seqno alone. */
  readonly finalityWords: boolean;
}

/** The traits of each dialect; where the specification says nothing, its dialect is the strictest test of a reader. */
export const DIALECTS: Readonly<Record<Dialect, DialectTraits>> = {
  spec: {
    apiVersion: '1.0',
    shards: 'transactions',
    defaultLimit: 10,
    limitTooLargeStatus: 422,
    sorts: false,
    nothingPending: [],
    manyAccounts: true,
    commaLists: false,
    unpaddedHashes: true,
    finalityWords: false,
  },
  '1.2': {
    apiVersion: '1.2.6',
    shards: 'blocks',
    defaultLimit: 100,
    limitTooLargeStatus: 500,
    sorts: true,
    nothingPending: null,
    manyAccounts: false,
    commaLists: true,
    unpaddedHashes: false,
    finalityWords: false,
  },
  '1.3': {
    apiVersion: '1.3.0',
    shards: 'blocks',
    defaultLimit: 100,
    limitTooLargeStatus: 422,
    sorts: false,
    nothingPending: [],
    manyAccounts: false,
    commaLists: true,
    unpaddedHashes: true,
    finalityWords: true,
  },
};
