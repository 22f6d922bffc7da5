/** The simulated indexer: a version, or one that reads like 1.3 and answers in the specification's form. */
export type Dialect = 'spec' | '1.2' | '1.3';

/** The differences of the dialects. `query.ts` has their ways to read a hash. */
export interface DialectTraits {
  readonly apiVersion: string;
  /** The list in `masterchainBlockShards`. */
  readonly shards: 'transactions' | 'blocks';
  readonly limitTooLargeStatus: 422 | 500;
  /**
   * How operations read the `seqno` of a masterchain block: like all parameters, or only the first value, with 0 for a
   * text that is not a number.
   */
  readonly seqno: 'decoded' | 'byItself';
  /** True if `masterchainBlockShards` reads `sort`. */
  readonly sorts: boolean;
  readonly noHashStatus: 404 | 500;
  readonly nothingPending: null | readonly [];
  /**
   * How a transaction shows that it is not final: by the word of `finality`, or only by `emulated` and a missing seqno.
   */
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
