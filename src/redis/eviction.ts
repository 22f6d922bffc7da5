import { Cluster, type Redis } from 'ioredis';

/** Why Redis will fill up: it has no `maxmemory`, or its policy is `noeviction`. */
export type EvictionProblem = 'no-maxmemory' | 'noeviction';

/**
 * Checks whether a server, or one primary of a Cluster, evicts keys when it is full, and reports a problem if it does
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
