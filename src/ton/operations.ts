import type { Pairs } from './canonical-request.ts';
import type { OperationOf } from './operation.ts';
import { adjacentTransactions } from './operations/adjacent-transactions.ts';
import { masterchainBlockShards } from './operations/masterchain-block-shards.ts';
import { pendingTraces } from './operations/pending-traces.ts';

/** The operations that are cached. */
const ALL = [pendingTraces, adjacentTransactions, masterchainBlockShards] as const;

export type OperationName = (typeof ALL)[number]['name'];
export type Operation = OperationOf<OperationName>;

/** The names of all of them. */
export const OPERATION_NAMES: readonly OperationName[] = ALL.map(({ name }) => name);

/** All of them, by name. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(ALL.map((known) => [known.name, known]));

/** The path and query by which an operation of the indexer is asked, percent-encoded. */
export function targetOf(operation: string, query: Pairs): string {
  const pairs = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `/api/v3/${operation}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

const BY_PATH = new Map([...OPERATIONS].map(([name, known]) => [`/api/v3/${name}`.toLowerCase(), known]));

/** The operation at a request path (any case, with or without a trailing slash); `undefined` when it is none of ours. */
export function findOperation(path: string): Operation | undefined {
  const lowered = path.toLowerCase();
  return BY_PATH.get(lowered.endsWith('/') ? lowered.slice(0, -1) : lowered);
}
