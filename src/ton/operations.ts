import type { Pairs } from './canonical-request.ts';
import type { OperationOf } from './operation.ts';
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
import { runGetMethod } from './operations/run-get-method.ts';
import { traces } from './operations/traces.ts';
import { transactions } from './operations/transactions.ts';
import { transactionsByMasterchainBlock } from './operations/transactions-by-masterchain-block.ts';
import { transactionsByMessage } from './operations/transactions-by-message.ts';
import { walletInformation } from './operations/wallet-information.ts';
import { walletStates } from './operations/wallet-states.ts';

/** A new operation needs a line here, and a file in `operations/`. Its name is only in that file. */
const ALL = [
  pendingTraces,
  adjacentTransactions,
  masterchainBlockShards,
  blocks,
  transactionsByMasterchainBlock,
  masterchainInfo,
  traces,
  transactions,
  transactionsByMessage,
  addressInformation,
  walletInformation,
  accountStates,
  walletStates,
  jettonWallets,
  jettonMasters,
  jettonTransfers,
  runGetMethod,
] as const;

export type Operation = OperationOf<(typeof ALL)[number]['name']>;

/** All operations that can be cached, by name. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(ALL.map((each) => [each.name, each]));

const BY_ALIAS: ReadonlyMap<string, string> = new Map(
  ALL.flatMap(({ name, paths: [, ...aliases] }) => aliases.map((alias) => [alias, name])),
);

/** A spelling (`operation?query`) under the name of its operation; `undefined` if its name is not an alias. */
export function withoutAlias(spelling: string): string | undefined {
  const mark = spelling.indexOf('?');
  const name = mark < 0 ? undefined : BY_ALIAS.get(spelling.slice(0, mark));
  return name && name + spelling.slice(mark);
}

/** The percent-encoded path and query of a request to the indexer. */
export function targetOf(operation: string, query: Pairs): string {
  const pairs = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `/api/v3/${operation}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/** The operations that a process caches. All others are ordinary paths to it. */
export class OperationsInUse {
  readonly all: readonly Operation[];
  readonly names: readonly Operation['name'][];
  readonly #byName: ReadonlyMap<string, Operation>;
  readonly #byPath: ReadonlyMap<string, Operation>;

  /** `further`: the names of operations that are cached in addition to those that always are. */
  constructor(further: readonly string[] = []) {
    const used: readonly Operation[] = ALL.filter(({ name, isFurther }) => !isFurther || further.includes(name));
    this.all = used;
    this.names = used.map(({ name }) => name);
    const byName = used.flatMap((known) => known.paths.map((name) => [name, known] as const));
    this.#byName = new Map(byName);
    this.#byPath = new Map(byName.map(([name, known]) => [`/api/v3/${name}`.toLowerCase(), known]));
  }

  /** The operation with exactly this name or alias. */
  named(name: string): Operation | undefined {
    return this.#byName.get(name);
  }

  /** The operation at a request path (any case, with or without a trailing slash); `undefined` for any other path. */
  at(path: string): Operation | undefined {
    const lowered = path.toLowerCase();
    return this.#byPath.get(lowered.endsWith('/') ? lowered.slice(0, -1) : lowered);
  }
}
