/** The operations that are always cached. */
export const CACHED_ALWAYS = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'] as const;

/**
 * Those that are cached where a setting names them. A request for one of them that names a parameter which it does not
 * read has no cached form (see `parse-call.ts`); the others drop such a parameter.
 */
export const FURTHER = [
  'blocks',
  'transactionsByMasterchainBlock',
  'masterchainInfo',
  'traces',
  'transactions',
  'transactionsByMessage',
  'addressInformation',
  'walletInformation',
] as const;

/**
 * Those with answers that blocks can prove. The proof reads the blocks, so whoever names one of them caches the transactions
 * of blocks as well.
 */
export const PROVABLE = ['transactions', 'addressInformation', 'walletInformation'] as const satisfies OperationName[];

export type OperationName = (typeof CACHED_ALWAYS | typeof FURTHER)[number];

/** The names of all of them. */
export const OPERATION_NAMES: readonly OperationName[] = [...CACHED_ALWAYS, ...FURTHER];
