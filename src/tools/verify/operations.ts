import type { OperationName } from '../../ton/operation-names.ts';
import type { VerifiedOperation } from './operation.ts';
import { addressInformation } from './operations/address-information.ts';
import { adjacentTransactions } from './operations/adjacent-transactions.ts';
import { blocks } from './operations/blocks.ts';
import { masterchainBlockShards } from './operations/masterchain-block-shards.ts';
import { masterchainInfo } from './operations/masterchain-info.ts';
import { pendingTraces } from './operations/pending-traces.ts';
import { traces } from './operations/traces.ts';
import { transactions } from './operations/transactions.ts';
import { transactionsByMasterchainBlock } from './operations/transactions-by-masterchain-block.ts';
import { transactionsByMessage } from './operations/transactions-by-message.ts';
import { walletInformation } from './operations/wallet-information.ts';

/** The operations that toncache caches, in the order of their checks. */
const BY_NAME: Readonly<Record<OperationName, VerifiedOperation>> = {
  masterchainBlockShards,
  adjacentTransactions,
  pendingTraces,
  blocks,
  traces,
  transactions,
  transactionsByMessage,
  transactionsByMasterchainBlock,
  masterchainInfo,
  addressInformation,
  walletInformation,
};

export const VERIFIED: readonly VerifiedOperation[] = Object.values(BY_NAME);
