import { hash } from 'node:crypto';

/**
 * Where the entry of a key is in Redis. The braces make the digest the hash tag, so that what else belongs to the key
 * lies in the same slot of a Cluster. `prefix` says whose keys these are and of which chain.
 */
export function redisKeyFor(prefix: string): (key: string) => string {
  return (key) => `${prefix}{${hash('sha256', key, 'base64url')}}`;
}
