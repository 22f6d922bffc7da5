// eslint-disable-next-line no-restricted-syntax -- a token only has to differ from those of all instances
import { randomUUID } from 'node:crypto';
import type { ConnectedRedis } from '../redis/connect.ts';
import { leaseKeyOf } from './redis-keys.ts';
import { ACQUIRE, END_LEASE } from './redis-scripts.ts';

/** Tries an instance's work with Redis. Rejects with the first error, which makes this Redis unusable. */
export type TryRedis = (
  redis: Pick<ConnectedRedis, 'getBuffer' | 'runScript'>,
  redisKey: (key: string) => string,
) => Promise<void>;

/** This many keys lie in slots of several nodes: a single node of a Cluster cannot have them all. */
const KEYS = 16;

const LEASE_MS = 1000;

/** Reads as look-ups do. */
export const tryReading: TryRedis = async ({ getBuffer }, redisKey) => {
  await Promise.all(Array.from({ length: KEYS }, (_, number) => getBuffer(redisKey(`trial ${number}`))));
};

/** Takes and ends a lease: it reads, writes and deletes by scripts, as stores do, and leaves nothing behind. */
export const tryWriting: TryRedis = async ({ runScript }, redisKey) => {
  const [key, token] = [redisKey('trial'), randomUUID()];
  await runScript(ACQUIRE, [key, leaseKeyOf(key)], [token, LEASE_MS]);
  await runScript(END_LEASE, [leaseKeyOf(key)], [token, '', 0]);
};

/** Does both. */
export const tryRedis: TryRedis = async (redis, redisKey) => {
  await tryReading(redis, redisKey);
  await tryWriting(redis, redisKey);
};
