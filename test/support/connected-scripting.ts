import { expect } from 'vitest';
import { connectRedis } from '../../src/redis/connect.ts';

/** A connection that runs scripts by now. */
export async function connectedScripting(url: string): Promise<ReturnType<typeof connectRedis>> {
  const connection = connectRedis({ url, connectTimeoutMs: 500, commandTimeoutMs: 500 });
  await expect.poll(() => connection.runScript('return 1', [], []).catch(String)).toBe(1);
  return connection;
}
