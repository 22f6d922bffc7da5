/** Which indexer is simulated: a version, or one that reads as 1.3 does and answers in the specification's shape. */
export type Dialect = 'spec' | '1.2' | '1.3';

/** How the dialects differ. How they read a hash is in `query.ts`. */
export interface DialectTraits {
  readonly apiVersion: string;
  /** What `masterchainBlockShards` lists. */
  readonly shards: 'transactions' | 'blocks';
  readonly limitTooLargeStatus: 422 | 500;
  /** How `masterchainBlockShards` reads `seqno`: as all parameters, or the first one, and as 0 if it is no number. */
  readonly seqno: 'decoded' | 'byItself';
  /** Whether `masterchainBlockShards` reads `sort`. */
  readonly sorts: boolean;
  readonly noHashStatus: 404 | 500;
  readonly nothingPending: null | readonly [];
  /** How a transaction says that it is not final: the word of `finality`, or `emulated` and a missing seqno alone. */
  readonly finalityWords: boolean;
}

const NEWEST: DialectTraits = {
  apiVersion: '1.3.0',
  shards: 'blocks',
  limitTooLargeStatus: 422,
  seqno: 'decoded',
  sorts: false,
  noHashStatus: 500,
  nothingPending: [],
  finalityWords: true,
};

/** The traits of each dialect. */
export const DIALECTS: Readonly<Record<Dialect, DialectTraits>> = {
  spec: { ...NEWEST, apiVersion: '1.0', shards: 'transactions', finalityWords: false },
  '1.2': {
    ...NEWEST,
    apiVersion: '1.2.10',
    limitTooLargeStatus: 500,
    seqno: 'byItself',
    sorts: true,
    noHashStatus: 404,
    nothingPending: null,
    finalityWords: false,
  },
  '1.3': NEWEST,
};
