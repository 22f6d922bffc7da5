import { expect } from 'vitest';
import { systemNames } from '../../src/names/names.ts';
import {
  type ConnectedRedis,
  type ConnectRedisDependencies,
  connectRedis,
  type RedisScripting,
} from '../../src/redis/connect.ts';
import type { RedisTransition } from '../../src/redis/transitions.ts';
import { PATIENT_REDIS } from './patience.ts';

/** A connection, and its reported events. */
export interface ObservedConnection extends ConnectedRedis, AsyncDisposable {
  readonly transitions: readonly RedisTransition[];
}

/** Connects to `url`, with or without a Redis there; resolves when the first transition was reported. */
export async function observedConnection(
  url: string,
  options: Partial<ConnectRedisDependencies> = {},
): Promise<ObservedConnection> {
  const transitions: RedisTransition[] = [];
  const { promise: reported, resolve } = Promise.withResolvers<void>();
  const connection = connectRedis({
    names: systemNames(),
    connectTimeoutMs: PATIENT_REDIS.connectTimeout,
    commandTimeoutMs: PATIENT_REDIS.commandTimeout,
    ...options,
    url,
    onTransition: (transition) => {
      transitions.push(transition);
      resolve();
    },
  });
  await reported;
  return { ...connection, transitions, [Symbol.asyncDispose]: () => connection.close() };
}

/** A connection that works, for tests that are not about its beginning. */
export async function connectedRedis(
  url: string,
  options?: Partial<ConnectRedisDependencies>,
): Promise<ObservedConnection> {
  const connection = await observedConnection(url, options);
  expect(connection.transitions).toEqual([{ state: 'connected' }]);
  return connection;
}

/** Puts bytes under a key for a minute. */
export async function putBytes(redis: RedisScripting, key: string, value: Buffer): Promise<void> {
  await redis.runScript(`redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)`, [key], [value]);
}
