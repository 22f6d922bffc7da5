import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '../simulator/accounts.ts';
import { type AddressSpellings, addressSpellings, type HashSpellings, hashSpellings } from '../simulator/spellings.ts';

/** A client's question, apart from its spelling. Hashes are canonical. */
export type ClientCall =
  /** Has my message been executed? */
  | { readonly about: 'message'; readonly externalHash: string }
  /** What is pending at this account? */
  | { readonly about: 'account'; readonly account: Account }
  /** Which transactions come before (`in`), after (`out`), or both? */
  | { readonly about: 'transaction'; readonly hash: string; readonly direction?: 'in' | 'out' }
  /** Which shard blocks does this masterchain block commit? */
  | { readonly about: 'block'; readonly seqno: number }
  /** Of further operations. Which block is the newest? */
  | { readonly about: 'head' }
  /** Which blocks, or transactions, does this masterchain block have? */
  | { readonly about: 'blocks' | 'block-transactions'; readonly seqno: number }
  /** What is this transaction, or its whole trace? */
  | { readonly about: 'row' | 'trace'; readonly hash: string }
  /** What does this account have, which wallet is it, or which jettons does it have or transfer? */
  | { readonly about: keyof typeof OF_ACCOUNT; readonly account: Account }
  /** Which transactions, or which whole trace, belong to this message? */
  | { readonly about: 'message-rows' | 'message-trace'; readonly messageHash: string };

/** The operation of a question about one account, and the parameter that names it. */
const OF_ACCOUNT = {
  state: ['addressInformation', 'address'],
  wallet: ['walletInformation', 'address'],
  'account-state': ['accountStates', 'address'],
  'wallet-state': ['walletStates', 'address'],
  'jetton-master': ['jetton/masters', 'address'],
  'jetton-wallets': ['jetton/wallets', 'owner_address'],
  'jetton-transfers': ['jetton/transfers', 'owner_address'],
} as const;

/** A client's way of writing names and values into a query; all of them are correct. */
export type QueryStyle = 'encoded' | 'raw' | 'axios' | 'loud';

/** The spelling of one client: every client has its own. */
export interface Spelling {
  readonly address: keyof AddressSpellings;
  readonly hash: keyof HashSpellings;
  readonly style: QueryStyle;
}

/** The spelling that every version of the indexer reads. */
export const CANONICAL: Spelling = { address: 'raw', hash: 'hex', style: 'raw' };

const WRITE: Readonly<Record<QueryStyle, (name: string, value: string) => string>> = {
  encoded: (name, value) => `${name}=${encodeURIComponent(value)}`,
  raw: (name, value) => `${name}=${value}`,
  // A library's lists, and a cache buster as sent by many wallets.
  axios: (name, value) => `${name}[]=${encodeURIComponent(value)}&_=${Date.now()}`,
  loud: (name, value) => `${name.toUpperCase()}=${encodeURIComponent(value)}`,
};

const EMPTY = Buffer.alloc(32);
const ADDRESSES = Object.keys(addressSpellings({ workchain: 0, hash: EMPTY })) as (keyof AddressSpellings)[];
const HASHES = Object.keys(hashSpellings(EMPTY)) as (keyof HashSpellings)[];
const STYLES = Object.keys(WRITE) as QueryStyle[];

/** The spelling of the client with this number, different for each of the first 140. */
export function spellingOf(number: number): Spelling {
  const nth = <T>(list: readonly T[]) => list[number % list.length] as T;
  return { address: nth(ADDRESSES), hash: nth(HASHES), style: nth(STYLES) };
}

/** Path and query of a call in this client's spelling. */
export function targetOf(call: ClientCall, spelling: Spelling): string {
  const write = WRITE[spelling.style];
  const hash = (canonical: string) => hashSpellings(Buffer.from(canonical, 'base64'))[spelling.hash];
  switch (call.about) {
    case 'message':
      return `/api/v3/pendingTraces?${write('ext_msg_hash', hash(call.externalHash))}`;
    case 'account':
      return `/api/v3/pendingTraces?${write('account', addressSpellings(call.account)[spelling.address])}`;
    case 'transaction': {
      const direction = call.direction === undefined ? '' : `&${write('direction', call.direction)}`;
      return `/api/v3/adjacentTransactions?${write('hash', hash(call.hash))}${direction}`;
    }
    case 'block':
      return `/api/v3/masterchainBlockShards?${write('seqno', String(call.seqno))}`;
    case 'head':
      return '/api/v3/masterchainInfo';
    case 'blocks':
      return `/api/v3/blocks?${write('mc_seqno', String(call.seqno))}`;
    case 'block-transactions':
      return `/api/v3/transactionsByMasterchainBlock?${write('seqno', String(call.seqno))}`;
    case 'trace':
      return `/api/v3/traces?${write('tx_hash', hash(call.hash))}&include_actions=true`;
    case 'row':
      return `/api/v3/transactions?${write('hash', hash(call.hash))}`;
    case 'message-trace':
      return `/api/v3/traces?${write('msg_hash', hash(call.messageHash))}&include_actions=true`;
    case 'message-rows':
      return `/api/v3/transactionsByMessage?${write('msg_hash', hash(call.messageHash))}`;
    default: {
      const [operation, parameter] = OF_ACCOUNT[call.about];
      return `/api/v3/${operation}?${write(parameter, addressSpellings(call.account)[spelling.address])}`;
    }
  }
}

/** An answer as its client got it. Instants are epoch ms, by the chain's clock. */
export interface ClientAnswer {
  readonly call: ClientCall;
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly status: number;
  readonly text: string;
}

/** An answer with the data that is shown. */
export interface HeardAnswer extends ClientAnswer {
  readonly client: string;
  readonly url: string;
  readonly tookMs: number;
  /** Empty if the answer had none. */
  readonly cacheStatus: string;
}

/** What a client of the demo is made from. */
export interface CrowdClientOptions {
  readonly name: string;
  readonly spelling: Spelling;
  readonly proxyUrl: string;
  /** Ends the client: its present wait then rejects. */
  readonly signal: AbortSignal;
  /** Called with every answer; returns true if it is right. */
  readonly heard: (answer: HeardAnswer) => boolean;
}

/** One program that uses the API, with its own spelling. */
export class Client {
  readonly #options: CrowdClientOptions;

  constructor(options: CrowdClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a request to the proxy; `undefined` for a wrong answer. Rejects at the client's end, and without an answer.
   */
  async ask(call: ClientCall): Promise<HeardAnswer | undefined> {
    const { name: client, spelling, proxyUrl, signal, heard } = this.#options;
    const url = proxyUrl + targetOf(call, spelling);
    const sentAt = Date.now();
    const startedAt = performance.now();
    const response = await fetch(url, { signal });
    const text = await response.text();
    const tookMs = performance.now() - startedAt;
    const { status, headers } = response;
    const cacheStatus = headers.get('cache-status') ?? '';
    const answer = { client, call, url, sentAt, receivedAt: Date.now(), tookMs, status, text, cacheStatus };
    return heard(answer) ? answer : undefined;
  }

  /** Waits for about this long, ms; rejects at the client's end. */
  async pause(aboutMs: number): Promise<void> {
    await delay(aboutMs * (0.75 + Math.random() / 2), undefined, { signal: this.#options.signal });
  }
}
