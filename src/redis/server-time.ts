import type { RedisScripting } from './connect.ts';

const TIME = `return redis.call('TIME')`;

/**
 * The time of the Redis server, epoch milliseconds with fractions; `undefined` for a reply that is no time. `key` is never
 * read or written: in a Cluster its slot chooses the node whose clock counts for all instances. Rejects where Redis does.
 */
export async function readServerTime({ runScript }: RedisScripting, key: string): Promise<number | undefined> {
  const reply = await runScript(TIME, [key], []);
  if (!Array.isArray(reply) || reply.length !== 2) return undefined;
  const [seconds, micros] = reply.map((part) => Number(String(part)));
  const time = (seconds ?? Number.NaN) * 1000 + (micros ?? Number.NaN) / 1000;
  return Number.isFinite(time) ? time : undefined;
}
