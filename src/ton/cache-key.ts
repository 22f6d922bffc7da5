import { hash } from 'node:crypto';
import type { CanonicalRequest } from './canonical-request.ts';
import { OPERATIONS } from './operations.ts';
import type { Call } from './parse-call.ts';

/**
 * The key of a call: equal for all spellings of one call, different for different calls and networks. The indexer's
 * address is not part of it, so replicas of one chain share entries. No two calls have the same key: pairs are joined
 * by `&`, which {@link escaped} values do not contain, and names contain neither `=` nor `:`. When you change keys,
 * raise `SCHEMA_VERSION` of `cache/redis-keys.ts`.
 */
export function cacheKey(network: string, { operation, request }: Call): string {
  const join =
    (separator: string) =>
    ([name, value]: readonly [string, string]) =>
      name + separator + escaped(value);
  const query = request.query.map(join('='));
  const headers = request.headers.map(join(':'));
  return `${network} ${operation.name}?${[...query, ...headers].join('&')}`;
}

/** The request of a key. */
export function requestIn(key: string): CanonicalRequest {
  const pieces = key.slice(key.indexOf('?') + 1).split('&');
  const pairsWith = (separator: '=' | ':') =>
    pieces.flatMap((piece) => {
      const [, name = '', used, value = ''] = /^([^=:]+)([=:])(.*)$/.exec(piece) ?? [];
      return used === separator ? [[name, decodeURIComponent(value)] as const] : [];
    });
  return { query: pairsWith('='), headers: pairsWith(':') };
}

/** Stands for a key in the log, without naming an account. */
export function loggedKey(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, 16);
}

/** A key of a network without the network, for people. */
export function withoutNetwork(key: string, network: string): string {
  return key.slice(network.length + 1);
}

export function operationOf(key: string): Call['operation'] | undefined {
  return OPERATIONS.get(key.slice(key.indexOf(' ') + 1, key.indexOf('?')));
}

/**
 * Percent-encodes all characters but those of addresses, hashes, numbers and plain words, which stay readable in keys.
 */
function escaped(value: string): string {
  return value.replace(/[^A-Za-z0-9+/=:_.,-]/gu, encodeURIComponent);
}
