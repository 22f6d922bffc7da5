import { FURTHER, type OperationName } from '../../src/ton/operation-names.ts';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { addressSpellings, hashSpellings } from '../../src/tools/simulator/spellings.ts';
import { writeAddressCell } from '../../src/tools/simulator/transfer-body.ts';

/** The meaning of a request, apart from its spelling. Hashes are canonical. */
export interface Call {
  readonly operation: OperationName;
  /** If there are several, the indexer answers for the last one. In requests for transfers the sender's wallet. */
  readonly accounts?: readonly Account[];
  /** The owner of jetton wallets, or of the wallets that send or receive. */
  readonly owner?: Account;
  /** Only the wallets of this jetton. */
  readonly jetton?: Account;
  readonly excludesZero?: boolean;
  readonly sort?: 'asc' | 'desc';
  /** If true, the states of accounts are requested without code and data. */
  readonly lacksBoc?: boolean;
  /** Of external messages, in any order; or the one hash of other operations. */
  readonly hashes?: readonly string[];
  /** The parameter that the hash belongs to; only for traces. */
  readonly by?: 'tx_hash' | 'trace_id' | 'msg_hash';
  /** Only for traces. */
  readonly includeActions?: boolean;
  readonly direction?: 'in' | 'out';
  readonly seqno?: number;
  /** Only for transactions and transfers: from this logical time on, or from this time on (unix seconds). */
  readonly startLt?: number;
  readonly startUtime?: number;
  /** If true, the masterchain block is requested without its shard blocks; only for `blocks`. */
  readonly isAlone?: boolean;
  readonly limit?: number;
  readonly offset?: number;
  readonly actionsVersion?: string;
  readonly noAddressBook?: boolean;
  readonly noMetadata?: boolean;
  /** The get-method of the account, and the account in its argument. */
  readonly method?: string;
  readonly argument?: Account;
}

/** A request before it is sent. */
export interface Written {
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of a `POST`. */
  readonly body?: string;
}

/** How the parts of a call are spelled. */
interface Pen {
  /** The name of the path below `/api/v3/`. */
  readonly path: (operation: OperationName) => string;
  readonly name: (name: string) => string;
  readonly address: (account: Account) => string;
  readonly hash: (canonical: string) => string;
  readonly value: (text: string) => string;
  readonly flag: () => string;
  /** Orders elements whose order means nothing. */
  readonly order: <T>(items: readonly T[]) => readonly T[];
  /** True if an input with both spellings goes into a header. */
  readonly inHeader: () => boolean;
  /** Parameters that no indexer reads in requests for this operation. */
  readonly noise: (operation: OperationName) => readonly string[];
}

const CANONICAL: Pen = {
  path: (operation) => operation,
  name: (name) => name,
  address: ({ address }) => address,
  hash: (canonical) => canonical,
  value: encodeURIComponent,
  flag: () => 'true',
  order: (items) => items,
  inHeader: () => true,
  noise: () => [],
};

/** The one spelling that stands for all spellings of a call, and that every version of the indexer reads. */
export function writeCanonically(call: Call): Written {
  return write(call, CANONICAL);
}

/** One of all spellings that clients use, chosen anew for each part. */
export function writeSomehow(call: Call, random: SeededRandom): Written {
  return write(call, penOf(random));
}

/** One of the spellings that the indexer itself reads correctly, without unknown parameters. */
export function writeLegibly(call: Call, random: SeededRandom): Written {
  const name = (text: string) => random.pick([text, text.toUpperCase()]);
  return write(call, { ...penOf(random), name, value: encodeURIComponent, noise: () => [] });
}

function penOf(random: SeededRandom): Pen {
  return {
    path: (operation) => random.pick(PATHS[operation] ?? [operation]),
    name: (name) => random.pick([name, name, name.toUpperCase(), `${name}[]`]),
    address: (account) => random.pick(Object.values(addressSpellings(account))),
    hash: (canonical) => random.pick(Object.values(hashSpellings(Buffer.from(canonical, 'base64')))),
    value: (text) => random.pick([encodeURIComponent(text), text, text.replaceAll('+', '%20')]),
    flag: () => random.pick(['true', '1', 't', 'True']),
    order: (items) => (random.chance(0.5) ? items : items.toReversed()),
    inHeader: () => random.chance(0.5),
    noise: (operation) => random.pick([[], [], [`_=${random.int(0, 1e9)}`], unreadBy(operation), ['x_timeout=1']]),
  };
}

const PATHS: Partial<Record<OperationName, readonly string[]>> = {
  addressInformation: ['addressInformation', 'account'],
  walletInformation: ['walletInformation', 'wallet'],
};

/** Operations that are always cached drop all unknown parameters; a further operation drops those that it names. */
function unreadBy(operation: OperationName): readonly string[] {
  if (operation in PATHS) return ['include_boc=true'];
  if (operation.includes('/')) return [];
  return FURTHER.some((name) => name === operation) ? [] : ['include_actions=true'];
}

/** Equal for all spellings of a call, and different for every other call. */
export function nameOf(call: Call): string {
  const { target, headers, body = '' } = writeCanonically({ ...call, hashes: call.hashes?.toSorted() ?? [] });
  return `${target} ${JSON.stringify(headers)}${body}`;
}

const HASH_NAMES: Partial<Record<Call['operation'], string>> = {
  pendingTraces: 'ext_msg_hash',
  transactionsByMessage: 'msg_hash',
};

const ACCOUNT_NAMES: Partial<Record<Call['operation'], string>> = {
  addressInformation: 'address',
  walletInformation: 'address',
  accountStates: 'address',
  walletStates: 'address',
  'jetton/wallets': 'address',
  'jetton/masters': 'address',
  'jetton/transfers': 'jetton_wallet',
};

function writeMethod({ accounts = [], method, argument }: Call, pen: Pen): Written {
  const [account] = accounts;
  if (account === undefined) throw new Error('a get-method needs a contract');
  const argued = { type: 'slice', value: argument && writeAddressCell(argument) };
  const entries = argument === undefined ? [] : [argued];
  const members = [
    ['address', pen.address(account)] as const,
    ['method', method] as const,
    ['stack', entries] as const,
  ];
  const body = JSON.stringify(Object.fromEntries(pen.order(members)));
  return { target: '/api/v3/runGetMethod', headers: { 'Content-Type': 'application/json' }, body };
}

function write(call: Call, pen: Pen): Written {
  if (call.operation === 'runGetMethod') return writeMethod(call, pen);
  const { operation, accounts = [], hashes = [], direction, seqno, limit, offset, actionsVersion } = call;
  const parameters: string[] = [];
  const headers: Record<string, string> = {};
  const put = (name: string, text: string | number | undefined) => {
    if (text !== undefined) parameters.push(`${pen.name(name)}=${pen.value(String(text))}`);
  };
  const set = (header: string, parameter: string, text: string | undefined) => {
    if (text === undefined) return;
    if (pen.inHeader()) headers[header] = text;
    else parameters.push(`${parameter}=${text}`);
  };
  for (const account of accounts) put(ACCOUNT_NAMES[operation] ?? 'account', pen.address(account));
  put('owner_address', call.owner && pen.address(call.owner));
  put('jetton_address', call.jetton && pen.address(call.jetton));
  put('exclude_zero_balance', call.excludesZero === true ? pen.flag() : undefined);
  put('include_boc', call.lacksBoc === true ? 'false' : undefined);
  put('start_lt', call.startLt);
  put('start_utime', call.startUtime);
  put('sort', call.sort);
  for (const hash of pen.order(hashes)) put(call.by ?? HASH_NAMES[operation] ?? 'hash', pen.hash(hash));
  put('include_actions', call.includeActions === true ? 'true' : undefined);
  put('direction', direction);
  put(operation === 'blocks' && call.isAlone !== true ? 'mc_seqno' : 'seqno', seqno);
  put('workchain', call.isAlone === true ? -1 : undefined);
  put('limit', limit);
  put('offset', offset);
  set('X-Actions-Version', 'supported_action_types', actionsVersion);
  set('X-No-Address-Book', 'x_no_address_book', call.noAddressBook === true ? 'true' : undefined);
  set('X-No-Metadata', 'x_no_metadata', call.noMetadata === true ? 'true' : undefined);
  return { target: `/api/v3/${pen.path(operation)}?${[...parameters, ...pen.noise(operation)].join('&')}`, headers };
}
