/** A transaction that a block has shown. */
export interface ShownRow {
  /** Logical time. */
  readonly lt: bigint;
  readonly hash: string;
  /** Unix seconds. */
  readonly now: number;
}

/** What the body of an answer about accounts shows of their transactions. */
export interface Evidence {
  /** The accounts whose own rows are the answer: raw, in upper case. */
  readonly accounts: readonly string[];
  /** Whether the body holds names, interfaces or metadata: those change without a transaction of the accounts. */
  readonly hasNames: boolean;
  /** Whether the body shows a transaction of one of the accounts, or rightly leaves it out. */
  readonly shows: (row: ShownRow) => boolean;
}
