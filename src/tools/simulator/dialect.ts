/** Which indexer is simulated: the interface specification, or one of the two versions of the open-source indexer. */
export type Dialect = 'spec' | '1.2' | '1.3';

/** How the dialects differ. How they read a hash is in `read-values.ts`. */
export interface DialectTraits {
  /** `X-API-Version`. */
  readonly apiVersion: string;
  /** Refuses with 422 what its document does not allow. Both versions of the indexer accept most of it. */
  readonly strict: boolean;
  /** What `masterchainBlockShards` lists. */
  readonly shards: 'transactions' | 'blocks';
  readonly defaultLimit: number;
  readonly limitTooLargeStatus: 422 | 500;
  /**
   * How `masterchainBlockShards` reads `seqno`: as every other parameter, or by itself, under its exact name only, of
   * several the first, and as 0 where it is no number.
   */
  readonly seqno: 'decoded' | 'byItself';
  /** `masterchainBlockShards` reads `sort`. */
  readonly sorts: boolean;
  /** The status of `adjacentTransactions` without `hash`. */
  readonly noHashStatus: 404 | 422 | 500;
  /** `traces` of `pendingTraces` where nothing is pending. */
  readonly nothingPending: null | readonly [];
  /** Whether `account` is a list and joins `ext_msg_hash`; else its last value is all that counts. */
  readonly manyAccounts: boolean;
  /** How a transaction says that it is not final: the word of `finality`, or `emulated` and a missing seqno alone. */
  readonly finalityWords: boolean;
}

/** The traits of each dialect; where the specification says nothing, its dialect is the strictest test of a reader. */
export const DIALECTS: Readonly<Record<Dialect, DialectTraits>> = {
  spec: {
    apiVersion: '1.0',
    strict: true,
    shards: 'transactions',
    defaultLimit: 10,
    limitTooLargeStatus: 422,
    seqno: 'decoded',
    sorts: false,
    noHashStatus: 422,
    nothingPending: [],
    manyAccounts: true,
    finalityWords: false,
  },
  '1.2': {
    apiVersion: '1.2.10',
    strict: false,
    shards: 'blocks',
    defaultLimit: 100,
    limitTooLargeStatus: 500,
    seqno: 'byItself',
    sorts: true,
    noHashStatus: 404,
    nothingPending: null,
    manyAccounts: false,
    finalityWords: false,
  },
  '1.3': {
    apiVersion: '1.3.0',
    strict: false,
    shards: 'blocks',
    defaultLimit: 100,
    limitTooLargeStatus: 422,
    seqno: 'decoded',
    sorts: false,
    noHashStatus: 500,
    nothingPending: [],
    manyAccounts: false,
    finalityWords: true,
  },
};
