import { hash, randomUUID } from 'node:crypto';
import { usableUntil } from '../freshness.ts';
import type { RedisScripting } from '../redis/connect.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import type { Entry } from './entry.ts';
import { checksumOf, decodeEntry } from './entry-codec.ts';
import { precedenceOver } from './precedence.ts';

/**
 * Reads the entry, and takes its lease if nobody has it. Returns the value of the lease that another one has, and the
 * entry, each nil if there is none; a value that is no string is overwritten. KEYS: entry, lease. ARGV: our token, the
 * milliseconds of the lease.
 */
const ACQUIRE = `
local lease, entry = redis.pcall('GET', KEYS[2]), redis.pcall('GET', KEYS[1])
if type(lease) ~= 'string' then
  lease = false
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
end
return {lease, type(entry) == 'string' and entry}`;

/**
 * Writes an entry and ends its lease. Whoever does not hold the lease writes only where no entry is. Returns whether it
 * was written: 1 or 0. KEYS: entry, lease. ARGV: our token, the entry, the milliseconds to keep it.
 */
const STORE = `
local isOurs = redis.pcall('GET', KEYS[2]) == ARGV[1]
if isOurs then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
elseif not redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3], 'NX') then return 0 end
redis.call('DEL', KEYS[2])
return 1`;

/**
 * Changes a lease that is ours: to this value with this expiry in milliseconds, or ends it with an expiry of 0. Returns
 * whether it was ours: 1 or 0. KEYS: lease. ARGV: our token, the value, the expiry.
 */
export const CHANGE_LEASE = `
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`;

/** Deletes an entry. KEYS: the entry. */
export const DELETE = `redis.call('DEL', KEYS[1])`;

/** What was done with an entry. `taken`: Redis holds another one, and another instance has the lease to replace it. */
export type RedisStoreOutcome = 'stored' | 'older' | 'regressed' | 'taken';

/** What a read found; `corrupt` is what no entry can be read from. `checksum`: of the entry's bytes in Redis. */
export type Read =
  | { readonly state: 'found'; readonly entry: Entry; readonly checksum: number }
  /** Redis still holds the entry that the given copy was made of. */
  | { readonly state: 'unchanged' }
  | { readonly state: 'absent' | 'corrupt' };

/** What asks for a lease. */
export interface LeaseRequest {
  readonly token: string;
  readonly leaseMs: Ms;
  readonly budgetMs: Ms;
}

/** What Redis held when it was asked for a lease. */
export interface Acquired {
  /** The value of the lease that another instance has; `undefined` when the lease is ours. */
  readonly holder: string | undefined;
  readonly read: Read & { readonly state: 'found' | 'absent' };
}

/** How an entry is stored. */
export interface SharedStore {
  /** The lease under which it was loaded and compared; without it the entry is compared with the one in Redis. */
  readonly token?: string | undefined;
  /**
   * Called once, when Redis has answered or has failed. `kept`: Redis holds a better entry, which stays. `unknown`:
   * another instance is loading the key, and its answer may be better. `checksum`: of the bytes sent to Redis.
   */
  readonly onEnd: (outcome: 'stored' | 'kept' | 'unknown' | 'failed', checksum?: number) => void;
}

/** How long a store has to compare an entry with the one in Redis. */
const COMPARE_MS = 1000;

export interface RedisStoreDependencies {
  readonly connection: RedisScripting;
  /** The Redis key of an entry, by its key. */
  readonly redisKey: (key: string) => string;
  readonly now: () => EpochMs;
}

/**
 * Who may write an entry in Redis. Two answers of one key are compared in this process (`precedence.ts`), so what was
 * compared must still be there when the answer is written. A lease sees to that: a token under a key beside the entry,
 * with an expiry. Its holder has read the entry in the step in which it took the lease, and every write ends the lease.
 * So while the lease is held, the entry is what the holder has read, or is gone. Rejects when Redis fails.
 */
export class RedisStore {
  readonly #dependencies: RedisStoreDependencies;

  constructor(dependencies: RedisStoreDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reads the entry, and takes its lease if nobody has it, in one step. */
  async acquire(key: string, { token, leaseMs }: Pick<LeaseRequest, 'token' | 'leaseMs'>): Promise<Acquired> {
    const reply = await this.#dependencies.connection.runScript(ACQUIRE, this.#keys(key), [token, leaseMs]);
    if (!isPairOfValues(reply)) throw new Error('Redis gave no answer to a lease');
    const [holder, bytes] = reply;
    const read = bytes === null ? undefined : this.decode(bytes, key);
    return {
      holder: holder?.toString(),
      read: read?.state === 'found' ? read : { state: 'absent' },
    };
  }

  /**
   * Writes an entry that was compared with the one in Redis under a lease. Where there was no lease, or it is over, the
   * entry is compared here, under a lease of its own.
   */
  async put(entry: Entry, bytes: Buffer, store: SharedStore | undefined): Promise<RedisStoreOutcome> {
    const { connection, now } = this.#dependencies;
    const keys = this.#keys(entry.key);
    const ttlMs = Math.max(1, Math.ceil(usableUntil(entry) - now()));
    const isStored = async (token: string) => (await connection.runScript(STORE, keys, [token, bytes, ttlMs])) === 1;
    if (await isStored(store?.token ?? '')) return 'stored';
    const token = randomUUID();
    const { holder, read } = await this.acquire(entry.key, { token, leaseMs: COMPARE_MS });
    if (holder !== undefined) return 'taken';
    const precedence = read.state === 'found' ? precedenceOver(read.entry, entry, now()) : 'replaces';
    if (precedence === 'replaces') return (await isStored(token)) ? 'stored' : 'taken';
    await connection.runScript(CHANGE_LEASE, keys.slice(1), [token, '', 0]);
    return precedence;
  }

  /** The entry that was stored under this key. */
  decode(bytes: Buffer, key: string): Exclude<Read, { state: 'unchanged' }> {
    const entry = decodeEntry(bytes, key);
    if (entry === undefined) return { state: 'corrupt' };
    const isOver = usableUntil(entry) <= this.#dependencies.now();
    return isOver ? { state: 'absent' } : { state: 'found', entry, checksum: checksumOf(bytes) };
  }

  #keys(key: string): readonly [entry: string, lease: string] {
    const redisKey = this.#dependencies.redisKey(key);
    return [redisKey, leaseKeyOf(redisKey)];
  }
}

function isPairOfValues(reply: unknown): reply is readonly [Buffer | null, Buffer | null] {
  return Array.isArray(reply) && reply.length === 2 && reply.every((part) => part === null || Buffer.isBuffer(part));
}

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
