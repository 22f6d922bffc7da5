import {
  type ConnectedRedis,
  type ConnectRedisOptions,
  connectRedis,
  type RedisScripting,
} from '../../src/redis/connect.ts';
import type { RedisTransition } from '../../src/redis/transitions.ts';

/** A connection, and what it told. */
export interface ObservedConnection extends ConnectedRedis, AsyncDisposable {
  readonly transitions: readonly RedisTransition[];
}

/** Connects to whatever is, or is not, at `url`; resolves when it has told the first transition. */
export async function observedConnection(
  url: string,
  options: Partial<ConnectRedisOptions> = {},
): Promise<ObservedConnection> {
  const transitions: RedisTransition[] = [];
  const { promise: told, resolve } = Promise.withResolvers<void>();
  const connection = connectRedis({
    connectTimeoutMs: 2000,
    commandTimeoutMs: 500,
    ...options,
    url,
    onTransition: (transition) => {
      transitions.push(transition);
      resolve();
      options.onTransition?.(transition);
    },
  });
  await told;
  return { ...connection, transitions, [Symbol.asyncDispose]: () => connection.close() };
}

/** Puts bytes under a key for a minute. */
export async function putBytes(redis: RedisScripting, key: string, value: Buffer): Promise<void> {
  await redis.runScript(`redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)`, [key], [value]);
}
