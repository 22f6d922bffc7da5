import { ProxyError } from '../../../src/errors.ts';
import type { CanonicalRequest } from '../../../src/ton/canonical-request.ts';
import type { Finality } from '../../../src/ton/finality.ts';
import type { OperationName } from '../../../src/ton/operation-names.ts';
import { OPERATIONS, type Operation } from '../../../src/ton/operations.ts';
import { type Call, parseCall, type RequestHeaders } from '../../../src/ton/parse-call.ts';

/** One account in two forms, from an example of the TON documentation. */
export const ACCOUNT = '0:83DFD552E63729B472FCBCC8C45EBCC6691702558B68EC7527E1BA403A0F31A8';
export const ACCOUNT_BOUNCEABLE = 'EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N';

/** A hash whose base64 contains all special characters: `+`, `/` and `=`. */
export const HASH_HEX = `fb${'ff'.repeat(31)}`;
export const HASH = '+/////////////////////////////////////////8=';

/**
 * For each operation: queries whose answers can fall under different rules, every list that an answer may contain, and
 * the rule of an empty list if it is not `empty`.
 */
export const EXAMPLES: Readonly<
  Record<
    OperationName,
    {
      readonly queries: readonly string[];
      readonly lists: readonly string[];
      readonly whenEmpty?: Finality['rule'];
    }
  >
> = {
  // It is requested by `POST`: see its own tests.
  runGetMethod: { queries: [], lists: [] },
  pendingTraces: { queries: [`ext_msg_hash=${HASH_HEX}`, `account=${ACCOUNT}`], lists: ['traces'] },
  adjacentTransactions: {
    queries: [`hash=${HASH_HEX}`, `hash=${HASH_HEX}&direction=in`, `hash=${HASH_HEX}&direction=out`],
    lists: ['transactions'],
  },
  masterchainBlockShards: {
    queries: ['seqno=7', 'seqno=7&limit=1', 'seqno=7&offset=1'],
    lists: ['blocks', 'transactions'],
  },
  blocks: {
    queries: [
      'mc_seqno=7',
      'mc_seqno=7&limit=1',
      'mc_seqno=7&offset=1',
      'workchain=-1&seqno=7',
      `root_hash=${HASH_HEX}`,
    ],
    lists: ['blocks'],
  },
  traces: {
    queries: [`tx_hash=${HASH_HEX}`, `trace_id=${HASH_HEX}&include_actions=true`, `msg_hash=${HASH_HEX}`],
    lists: ['traces'],
    whenEmpty: 'notKept',
  },
  transactions: { queries: [`hash=${HASH_HEX}`], lists: ['transactions'] },
  transactionsByMessage: {
    queries: [`msg_hash=${HASH_HEX}`, `msg_hash=${HASH_HEX}&direction=in`, `msg_hash=${HASH_HEX}&direction=out`],
    lists: ['transactions'],
  },
  transactionsByMasterchainBlock: {
    queries: ['seqno=7', 'seqno=7&limit=1', 'seqno=7&offset=1'],
    lists: ['transactions'],
    whenEmpty: 'emptyOfBlock',
  },
  // The answer is the state of the account, without a list. Pages of its transactions are tested in
  // `account-page.test.ts`.
  addressInformation: { queries: [`address=${ACCOUNT}`], lists: [] },
  walletInformation: { queries: [`address=${ACCOUNT}`], lists: [] },
  // These answers are lists of the newest states of accounts: an empty one is an answer like any other.
  accountStates: { queries: [`address=${ACCOUNT}`, `address=${ACCOUNT}&include_boc=false`], lists: [] },
  walletStates: { queries: [`address=${ACCOUNT}`], lists: [] },
  'jetton/masters': { queries: [`address=${ACCOUNT}`], lists: [] },
  'jetton/wallets': { queries: [`address=${ACCOUNT}`, `owner_address=${ACCOUNT}`], lists: [] },
  'jetton/transfers': { queries: [`owner_address=${ACCOUNT}`, `jetton_wallet=${ACCOUNT}`], lists: [] },
  // The answer has no list.
  masterchainInfo: { queries: [''], lists: [] },
};

export function operationNamed(name: OperationName): Operation {
  const operation = OPERATIONS.get(name);
  if (operation === undefined) throw new Error(`no operation ${name}`);
  return operation;
}

/** The call that a client's request is parsed into. */
export function callOf(name: OperationName, rawQuery: string, headers: RequestHeaders = {}): Call {
  return parseCall(operationNamed(name), rawQuery, headers);
}

/** The request that the indexer would get. */
export function requestOf(name: OperationName, rawQuery: string, headers: RequestHeaders = {}): CanonicalRequest {
  return callOf(name, rawQuery, headers).request;
}

/** The error message of a refused request; `undefined` if it is accepted. Any other failure is rethrown. */
export function refusalOf(name: OperationName, rawQuery: string, headers: RequestHeaders = {}): string | undefined {
  try {
    callOf(name, rawQuery, headers);
    return undefined;
  } catch (error) {
    if (error instanceof ProxyError && ['invalid-request', 'not-cacheable'].includes(error.code)) return error.message;
    throw error;
  }
}

/** A canonical request written as a client would send it. */
export function rendered({ query, headers }: CanonicalRequest): { rawQuery: string; headers: RequestHeaders } {
  return {
    rawQuery: query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&'),
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
  };
}
