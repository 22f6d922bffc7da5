import { hash } from 'node:crypto';

/**
 * The Redis key of an entry. The braces make the digest the hash tag, so that everything else that belongs to the entry
 * is in the same slot of a Cluster. `prefix` names the program, the schema version and the chain.
 */
export function redisKeyFor(prefix: string): (key: string) => string {
  return (key) => `${prefix}{${hash('sha256', key, 'base64url')}}`;
}

/** The Redis key of the lease of an entry, by the Redis key of the entry. */
export function leaseKeyOf(redisKey: string): string {
  return `${redisKey}:lease`;
}
