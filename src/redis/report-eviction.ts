import { Cluster, type Redis } from 'ioredis';

/** Why a Redis will fill up: it has no bound, or throws nothing away at it. */
export type EvictionProblem = 'no-maxmemory' | 'noeviction';

/**
 * Asks a server, or one primary of a Cluster, whether it evicts what is too much, and tells it if it does not. Silent
 * where it cannot be asked (an ACL may forbid INFO); never rejects.
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
