import { Cluster, type Redis } from 'ioredis';
import type { EpochMs } from '../time-units.ts';

/** Never read or written: in a Cluster its slot chooses the node whose clock all instances follow. */
const CLOCK_KEY = 'toncache:clock';

const TIME = `
local time = redis.call('TIME')
return string.format('%.3f', time[1] * 1000 + time[2] / 1000)`;

/**
 * The time of the Redis server, epoch milliseconds with fractions; `undefined` for a malformed reply. Rejects when the
 * script fails.
 */
export async function readServerTime(
  runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>,
): Promise<EpochMs | undefined> {
  const time = Number.parseFloat(String(await runScript(TIME, [CLOCK_KEY], [])));
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
