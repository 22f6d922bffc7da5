/** The operations of the simulated indexer; `other` for unknown paths. */
export type IndexerOperation =
  | 'pendingTraces'
  | 'adjacentTransactions'
  | 'masterchainBlockShards'
  | 'masterchainInfo'
  | 'transactionsByMasterchainBlock'
  | 'message'
  | 'other';

const OPERATIONS: readonly IndexerOperation[] = [
  'pendingTraces',
  'adjacentTransactions',
  'masterchainBlockShards',
  'masterchainInfo',
  'transactionsByMasterchainBlock',
  'message',
];

const BY_PATH = new Map(OPERATIONS.map((operation) => [`/api/v3/${operation}`.toLowerCase(), operation]));

/** Which operation a raw request target (path and query) names: in any case, with up to two slashes at its end. */
export function operationOf(target: string): IndexerOperation {
  const [path = ''] = target.split('?');
  return BY_PATH.get(path.toLowerCase().replace(/\/{1,2}$/, '')) ?? 'other';
}
