import { Redis } from 'ioredis';
import type { TestProject } from 'vitest/node';
import { shareCompiledCode } from './compile-cache.ts';
import { findRedisServer } from './find-redis-server.ts';
import { startRedis } from './redis-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** `inject('redisUrl')`: a real Redis that all test files share, so each uses its own keys. */
    redisUrl: string;
  }
}

/** Before the first test: finds or starts the shared Redis, and fails the whole run without one. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const removeCompiledCode = shareCompiledCode();
  const stopRedis = await provideRedis(project);
  return async () => {
    await stopRedis();
    removeCompiledCode();
  };
}

async function provideRedis(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEST_REDIS_URL'];
  if (given) {
    await mustAnswer(given);
    // Fault tests start their own servers: their needs are installed here, once. If that fails, they fail.
    await findRedisServer().catch(() => undefined);
    project.provide('redisUrl', given);
    return async () => {};
  }
  // As in production: a Redis that can fill up causes a warning.
  const server = await startRedis({ args: ['--maxmemory', '1gb', '--maxmemory-policy', 'allkeys-lru'] });
  project.provide('redisUrl', server.url);
  return () => server.stop();
}

async function mustAnswer(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  // connect() rejects with "Connection is closed"; only the event has the reason.
  let reason: unknown;
  client.on('error', (error) => {
    reason = error;
  });
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    throw new Error('TEST_REDIS_URL is set and no Redis answers there', { cause: reason ?? error });
  } finally {
    client.disconnect();
  }
}
