import { hash } from 'node:crypto';

// All keys that toncache has in Redis. They begin with `toncache:`, as docs/reference/fleet.md allows a Redis user.

/**
 * The version of everything in Redis that belongs to an entry: its key and its layout (`entry-codec.ts`). It is part of
 * the keys in Redis and of the first bytes of a value, so that old and new instances miss each other's entries. Raise
 * it whenever a key, the layout, or the meaning of stored data changes.
 */
export const SCHEMA_VERSION = 15;

/**
 * The Redis key of an entry, by its key. The braces make the digest the hash tag, so that everything else that belongs to
 * the entry is in the same slot of a Cluster. `prefix` names the program, the schema version and the chain.
 */
export function redisKeyFor(prefix: string): (key: string) => string {
  return (key) => `${prefix}{${hash('sha256', key, 'base64url')}}`;
}

export function entryKeysOf(network: string): (key: string) => string {
  return redisKeyFor(`toncache:${SCHEMA_VERSION}:${network}:`);
}

/** The Redis key of the lease of an entry, by the Redis key of the entry. */
export function leaseKeyOf(redisKey: string): string {
  return `${redisKey}:lease`;
}

/** The Redis keys of the bans of a network, and of the instances that exchange them, in one slot of a Cluster. */
export function banKeysOf(network: string): {
  readonly bans: string;
  readonly instances: string;
  readonly polled: string;
} {
  const bans = `toncache:bans:${network}`;
  // The hash tag is the whole first key, which has no braces.
  return { bans, instances: `toncache:bans:{${bans}}:instances`, polled: `toncache:bans:{${bans}}:polled` };
}

/** The Redis key of the newest block that some indexers have named, each with its port: of one list of them. */
export function headKeyOf(network: string, indexers: readonly string[]): string {
  return redisKeyFor(`toncache:head:${network}:`)(indexers.toSorted().join());
}

/** The Redis key of the rate that instances share at one indexer; `host` with its port. */
export function rateKeyOf(network: string, host: string): string {
  return `toncache:rate:${network}:${host}`;
}
