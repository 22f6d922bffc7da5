import type { JsonObject } from '../json-object.ts';
import type { CanonicalRequest } from './canonical-request.ts';

/** A transaction that a block has shown. */
export interface ShownRow {
  /** Logical time. */
  readonly lt: bigint;
  readonly hash: string;
  /** Unix seconds. */
  readonly now: number;
}

/** What the body of an answer about accounts shows of their transactions. Plain data: a worker may have read it. */
export type Evidence = {
  /** The accounts whose own rows are the answer: raw, in upper case. */
  readonly accounts: readonly string[];
  /** Whether the body holds names, interfaces or metadata: those change without a transaction of the accounts. */
  readonly hasNames: boolean;
} & (StateEvidence | PageEvidence);

/** Of the state of an account. */
interface StateEvidence {
  readonly kind: 'state';
  /** The account's newest transaction that the state shows; 0 for an account that is not known. */
  readonly lastLt: bigint;
}

/** Of a page of an account's transactions. A row outside of its window is rightly not listed. */
interface PageEvidence {
  readonly kind: 'page';
  readonly hashes: ReadonlySet<string>;
  readonly window: {
    /** The first logical time in it: that of the oldest row of a full page, or what was asked for. */
    readonly fromLt: bigint;
    /** The first instant in it, in unix seconds. */
    readonly fromNow: number;
  };
}

/** How an operation reads the evidence in a 200; `undefined` where the body is none, so that it is never proven. */
export type ReadEvidence = (request: CanonicalRequest, body: JsonObject) => Evidence | undefined;

/** Whether a body shows a transaction of one of its accounts, or rightly leaves it out. */
export function showsRow(evidence: Evidence, { lt, hash, now }: ShownRow): boolean {
  if (evidence.kind === 'state') return lt <= evidence.lastLt;
  const { hashes, window } = evidence;
  return hashes.has(hash) || lt < window.fromLt || now < window.fromNow;
}
