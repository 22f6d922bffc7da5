import type { Account } from '../simulator/accounts.ts';
import { type AddressSpellings, addressSpellings, type HashSpellings, hashSpellings } from '../simulator/spellings.ts';

/** What a client wants to know, apart from how it writes that. Hashes are canonical. */
export type ClientCall =
  /** Has my message been executed? */
  | { readonly about: 'message'; readonly externalHash: string }
  /** What is under way at this account? The version decides which actions are listed. */
  | { readonly about: 'account'; readonly account: Account; readonly actionsVersion?: string }
  /** Which transactions come before (`in`), after (`out`), or both? */
  | { readonly about: 'transaction'; readonly hash: string; readonly direction?: 'in' | 'out' }
  /** Which shard blocks does this masterchain block commit? */
  | { readonly about: 'block'; readonly seqno: number };

/** How a client writes names and values into a query; all of them are right. */
export type QueryStyle = 'encoded' | 'raw' | 'axios' | 'loud';

/** One client's way of writing: every client has its own. */
export interface Spelling {
  readonly address: keyof AddressSpellings;
  readonly hash: keyof HashSpellings;
  readonly style: QueryStyle;
}

type Write = (name: string, value: string) => string;

const WRITE: Readonly<Record<QueryStyle, Write>> = {
  encoded: (name, value) => `${name}=${encodeURIComponent(value)}`,
  raw: (name, value) => `${name}=${value}`,
  // A library's lists, and a cache buster as many wallets send it.
  axios: (name, value) => `${name}[]=${encodeURIComponent(value)}&_=${Date.now()}`,
  loud: (name, value) => `${name.toUpperCase()}=${encodeURIComponent(value)}`,
};

/** Path and query of a call as this client writes it. */
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
  }
}

/** The headers that belong to a call. */
export function headersOf(call: ClientCall): Record<string, string> {
  const version = call.about === 'account' ? call.actionsVersion : undefined;
  return version === undefined ? {} : { 'X-Actions-Version': version };
}
