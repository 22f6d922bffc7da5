import { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.ts';

/** Does something to a server over a separate connection, which ends with it. */
export async function asAdmin<T>(server: RedisServer, work: (admin: Redis) => Promise<T>): Promise<T> {
  const admin = new Redis(server.url);
  try {
    return await work(admin);
  } finally {
    admin.disconnect();
  }
}
