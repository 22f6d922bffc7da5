import { Cluster, type Redis } from 'ioredis';

const TIME = `return redis.call('TIME')`;

/**
 * The time of the Redis server, epoch milliseconds with fractions; `undefined` for a malformed reply. `key` is never
 * read or written: in a Cluster its slot chooses the node whose clock all instances follow. Rejects when the script
 * fails.
 */
export async function readServerTime(
  {
    runScript,
  }: { readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown> },
  key: string,
): Promise<number | undefined> {
  const reply = await runScript(TIME, [key], []);
  if (!Array.isArray(reply) || reply.length !== 2) return undefined;
  const [seconds, micros] = reply.map((part) => Number(String(part)));
  const time = (seconds ?? Number.NaN) * 1000 + (micros ?? Number.NaN) / 1000;
  return Number.isFinite(time) ? time : undefined;
}

/** Why Redis will fill up: it has no `maxmemory`, or its policy is `noeviction`. */
export type EvictionProblem = 'no-maxmemory' | 'noeviction';

/**
 * Asks a server, or one primary of a Cluster, whether it evicts keys when it is full, and reports a problem if it does
 * not. Reports nothing if INFO fails (an ACL may forbid it); never rejects.
 */
export async function reportEviction(
  client: Redis | Cluster,
  onProblem: (problem: EvictionProblem) => void,
): Promise<void> {
  const server = client instanceof Cluster ? client.nodes('master').find(({ status }) => status === 'ready') : client;
  const section = (await server?.info('memory').catch(() => undefined)) ?? '';
  if (/^maxmemory:0\r?$/m.test(section)) onProblem('no-maxmemory');
  else if (/^maxmemory_policy:noeviction\r?$/m.test(section)) onProblem('noeviction');
}
