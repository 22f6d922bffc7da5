/** The operations that are always cached. */
export const CACHED_ALWAYS = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'] as const;

/**
 * The operations that are cached if a setting names them. A request for one of them with an unknown parameter has no
 * cached form (see `parse-call.ts`); the other operations drop such a parameter.
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
  'accountStates',
  'walletStates',
  'jetton/wallets',
  'jetton/masters',
  'jetton/transfers',
] as const;

/**
 * The operations with answers that blocks can prove. The proof reads the blocks, so naming one of them also caches the
 * transactions of blocks.
 */
export const PROVABLE = [
  'transactions',
  'addressInformation',
  'walletInformation',
  'accountStates',
  'walletStates',
  'jetton/wallets',
  'jetton/masters',
  'jetton/transfers',
] as const satisfies OperationName[];

export type OperationName = (typeof CACHED_ALWAYS | typeof FURTHER)[number];

export const OPERATION_NAMES: readonly OperationName[] = [...CACHED_ALWAYS, ...FURTHER];
