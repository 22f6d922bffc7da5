import type { OperationName } from '../../ton/operation-names.ts';
import type { VerifiedOperation } from './operation.ts';
import { accountStates } from './operations/account-states.ts';
import { addressInformation } from './operations/address-information.ts';
import { adjacentTransactions } from './operations/adjacent-transactions.ts';
import { blocks } from './operations/blocks.ts';
import { jettonMasters } from './operations/jetton-masters.ts';
import { jettonTransfers } from './operations/jetton-transfers.ts';
import { jettonWallets } from './operations/jetton-wallets.ts';
import { masterchainBlockShards } from './operations/masterchain-block-shards.ts';
import { masterchainInfo } from './operations/masterchain-info.ts';
import { pendingTraces } from './operations/pending-traces.ts';
import { traces } from './operations/traces.ts';
import { transactions } from './operations/transactions.ts';
import { transactionsByMasterchainBlock } from './operations/transactions-by-masterchain-block.ts';
import { transactionsByMessage } from './operations/transactions-by-message.ts';
import { walletInformation } from './operations/wallet-information.ts';
import { walletStates } from './operations/wallet-states.ts';

/** The operations that are requested by `GET`: get-methods are not verified. */
type VerifiedName = Exclude<OperationName, 'runGetMethod'>;

/** The operations that toncache caches, in the order of their checks. */
const BY_NAME: Readonly<Record<VerifiedName, VerifiedOperation>> = {
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
  accountStates,
  walletStates,
  'jetton/wallets': jettonWallets,
  'jetton/masters': jettonMasters,
  'jetton/transfers': jettonTransfers,
};

export const VERIFIED: readonly VerifiedOperation[] = Object.values(BY_NAME);
