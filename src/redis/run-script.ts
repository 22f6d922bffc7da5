import { hash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';

const digests = new Map<string, string>();

/**
 * Runs Lua code by its digest, and sends the code itself if the server does not know it. The remembered digests stay
 * few, because scripts are constants of this program. All keys must lie in one slot, as ioredis chooses the node of a
 * Cluster by the first.
 */
export async function runScript(
  client: Redis | Cluster,
  script: string,
  keys: readonly string[],
  args: readonly (string | Buffer | number)[],
): Promise<unknown> {
  const rest = [keys.length, ...keys, ...args];
  try {
    return await client.callBuffer('evalsha', digestOf(script), ...rest);
  } catch (error) {
    // NOSCRIPT means that nothing was executed, so sending it again is safe. Any other failure is not repeated.
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return await client.callBuffer('eval', script, ...rest);
  }
}

function digestOf(script: string): string {
  const known = digests.get(script);
  if (known !== undefined) return known;
  const digest = hash('sha1', script);
  digests.set(script, digest);
  return digest;
}
