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

/** The transactions of its accounts that the body of an answer shows. Plain data: a worker may have read it. */
export type Evidence = {
  /** The accounts whose own rows the answer consists of: raw, in upper case. */
  readonly accounts: readonly string[];
  /** True if the body contains names, interfaces or metadata: these change without a transaction of the accounts. */
  readonly hasNames: boolean;
} & (StateEvidence | PageEvidence);

interface StateEvidence {
  readonly kind: 'state';
  /** The account's newest transaction in the state; 0 for an unknown account. */
  readonly lastLt: bigint;
}

/** Evidence in a page of an account's transactions. A row outside of its window is rightly not listed. */
interface PageEvidence {
  readonly kind: 'page';
  readonly hashes: ReadonlySet<string>;
  readonly window: {
    /** The first logical time in the window: that of the oldest row of a full page, or the requested one. */
    readonly fromLt: bigint;
    /** The first instant in the window, in unix seconds. */
    readonly fromNow: number;
  };
}

/** How an operation reads the evidence in a 200; `undefined` if the body has none, so that it is never proven. */
export type ReadEvidence = (request: CanonicalRequest, body: JsonObject) => Evidence | undefined;

/** True if a body shows a transaction of one of its accounts, or rightly omits it. */
export function showsRow(evidence: Evidence, { lt, hash, now }: ShownRow): boolean {
  if (evidence.kind === 'state') return lt <= evidence.lastLt;
  const { hashes, window } = evidence;
  return hashes.has(hash) || lt < window.fromLt || now < window.fromNow;
}
