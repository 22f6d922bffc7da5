import type { Account } from './accounts.ts';
import type { Chain } from './chain.ts';
import { IndexerRefusal } from './query.ts';
import { balanceAfter, dataHashOf, statusAfter, walletSeqnoAfter } from './render-transaction.ts';
import { digest } from './seeded-random.ts';
import type { Transaction } from './trace.ts';
import { readAddressCell, writeAddressCell } from './transfer-body.ts';

/** A value on the stack of a get-method. */
export interface StackEntry {
  readonly type: string;
  readonly value: unknown;
}

/** The state of a contract, as a get-method reads it. */
interface ContractState {
  readonly chain: Chain;
  /** The last executed transaction of the contract. */
  readonly latest: Transaction;
  /** The time of the lite server, epoch ms. */
  readonly instant: number;
}

/** Runs on a state; `undefined` if the contract does not have the method. */
type GetMethod = (state: ContractState, stack: readonly StackEntry[]) => readonly StackEntry[] | undefined;

/** The result of a get-method. */
export interface RunMethod {
  readonly exit_code: number;
  readonly stack: readonly StackEntry[];
}

/** The exit codes of a contract without the method, without code, and with arguments that it cannot read. */
const [NO_METHOD, NO_CODE, NO_ARGUMENT] = [11, -13, 2];

/** {@link TIME_METHOD} answers differently after this time, ms. */
export const TIME_STEP_MS = 2000;

/** Reads the time. */
export const TIME_METHOD = 'get_pool_full_data';

/** Reads the balance, which every transaction changes. */
export const BALANCE_METHOD = 'get_available_balance';

const num = (value: number | bigint): StackEntry => ({
  type: 'num',
  value: value < 0 ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`,
});
const cell = (value: string): StackEntry => ({ type: 'cell', value });
const addressCell = (account: Account): StackEntry => cell(writeAddressCell(account));

const METHODS: Readonly<Record<string, GetMethod>> = {
  get_jetton_data: (state) => {
    const supply = lastEffect(state, 'supply');
    const rest = [num(-1), addressCell(state.latest.account), cell(digest('content')), cell(digest('wallet code'))];
    return supply === undefined ? undefined : [num(supply), ...rest];
  },
  get_wallet_address: ({ chain, latest: { account } }, [owner]) => {
    if (account.kind !== 'jetton-master') return undefined;
    const address = readAddressCell(String(owner?.value)) ?? badArgument();
    return [addressCell(chain.jettons.walletOfAddress(address, account))];
  },
  get_wallet_data: (state) => {
    const row = lastEffect(state, 'row');
    return row
      ? [num(row.balance), addressCell(row.owner), addressCell(row.master), cell(digest('wallet code'))]
      : undefined;
  },
  get_nft_data: ({ latest, chain }) => {
    if (latest.account.kind !== 'contract') return undefined;
    const owner = chain.accounts.wallets[Buffer.from(latest.hash, 'base64').readUInt8() % 100];
    const index = latest.account.hash.readUInt16BE();
    return [num(-1), num(index), addressCell(chain.accounts.elector), owner ? addressCell(owner) : num(0)];
  },
  get_nft_address_by_index: ({ latest }, [index]) => [
    cell(digest(latest.account.address, dataHashOf(latest, 'after') ?? '', String(index?.value))),
  ],
  [BALANCE_METHOD]: ({ latest }) => [num(BigInt(balanceAfter(latest)))],
  seqno: ({ latest }) => (latest.account.kind === 'wallet' ? [num(walletSeqnoAfter(latest))] : undefined),
  [TIME_METHOD]: ({ instant, latest }) => [num(latest.lt), num(Math.floor(instant / TIME_STEP_MS))],
  // Its result has a type that the API cannot write.
  get_continuation: () => {
    throw new IndexerRefusal(501, 'unsupported type of a stack entry: continuation');
  },
};

class ArgumentError extends Error {}

function badArgument(): never {
  throw new ArgumentError();
}

/** The last row or supply that a transaction of the contract has written. */
function lastEffect<Name extends 'row' | 'supply'>({ chain, latest, instant }: ContractState, name: Name) {
  const written = chain.executed(latest.account.address, instant);
  return written.findLast(({ effect }) => effect?.[name] !== undefined)?.effect?.[name];
}

/** Runs a get-method on the state that its contract had at an instant (epoch ms), whatever the indexer has by then. */
export function runMethod(
  chain: Chain,
  address: string,
  { method, stack }: { readonly method: string; readonly stack: readonly StackEntry[] },
  instant: number,
): RunMethod {
  const latest = chain.executed(address, instant).at(-1);
  if (latest === undefined || statusAfter(latest) !== 'active') return { exit_code: NO_CODE, stack: [] };
  try {
    const results = Object.hasOwn(METHODS, method) ? METHODS[method]?.({ chain, latest, instant }, stack) : undefined;
    return results === undefined ? { exit_code: NO_METHOD, stack: [] } : { exit_code: 0, stack: results };
  } catch (error) {
    if (error instanceof ArgumentError) return { exit_code: NO_ARGUMENT, stack: [] };
    throw error;
  }
}
