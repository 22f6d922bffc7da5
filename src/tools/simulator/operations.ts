import type { SimulatedOperation } from './operation.ts';
import { accountStates } from './operations/account-states.ts';
import { addressInformation } from './operations/address-information.ts';
import { adjacentTransactions } from './operations/adjacent-transactions.ts';
import { blocks } from './operations/blocks.ts';
import { jettonMasters } from './operations/jetton-masters.ts';
import { jettonTransfers } from './operations/jetton-transfers.ts';
import { jettonWallets } from './operations/jetton-wallets.ts';
import { masterchainBlockShards } from './operations/masterchain-block-shards.ts';
import { masterchainInfo } from './operations/masterchain-info.ts';
import { message } from './operations/message.ts';
import { pendingTraces } from './operations/pending-traces.ts';
import { runGetMethod } from './operations/run-get-method.ts';
import { traces } from './operations/traces.ts';
import { transactions } from './operations/transactions.ts';
import { transactionsByMasterchainBlock } from './operations/transactions-by-masterchain-block.ts';
import { transactionsByMessage } from './operations/transactions-by-message.ts';
import { walletInformation } from './operations/wallet-information.ts';
import { walletStates } from './operations/wallet-states.ts';

const ALL = [
  pendingTraces,
  adjacentTransactions,
  masterchainBlockShards,
  blocks,
  masterchainInfo,
  transactionsByMasterchainBlock,
  traces,
  transactions,
  transactionsByMessage,
  addressInformation,
  walletInformation,
  accountStates,
  walletStates,
  jettonWallets,
  jettonTransfers,
  jettonMasters,
  message,
  runGetMethod,
] as const;

/** The operations of the simulated indexer; `other` for unknown paths. */
export type IndexerOperation = (typeof ALL)[number]['name'] | 'other';

const pathsOf = ({ name, aliases = [] }: SimulatedOperation) =>
  [name, ...aliases].map((path) => `/api/v3/${path}`.toLowerCase());

const BY_PATH = new Map(ALL.flatMap((known) => pathsOf(known).map((path) => [path, known])));

/** The operation of a raw request target (path and query): in any case, with up to two slashes at its end. */
export function simulatedOperation(target: string): ((typeof ALL)[number] & SimulatedOperation) | undefined {
  const [path = ''] = target.split('?');
  return BY_PATH.get(path.toLowerCase().replace(/\/{1,2}$/, ''));
}

/** The name of the operation of a raw request target. */
export function operationOf(target: string): IndexerOperation {
  return simulatedOperation(target)?.name ?? 'other';
}
