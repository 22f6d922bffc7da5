import { Redis } from 'ioredis';
import { expect, type Mock, vi } from 'vitest';
import { type PurgeEvent, PurgeLog } from '../../src/purge/purge-log.ts';
import { EVERY_ENTRY, type PurgeRecord, PurgeRecords } from '../../src/purge/purge-records.ts';
import { connectRedis, type RedisScripting } from '../../src/redis/connect.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

export const DAY = 24 * 60 * 60 * 1000;
export const a: Omit<PurgeRecord, 'at'> = { tag: 'a', soft: false };
export const all: Omit<PurgeRecord, 'at'> = { tag: EVERY_ENTRY, soft: false };

export interface Instance {
  readonly onEpoch: Mock;
  readonly records: PurgeRecords;
  readonly log: PurgeLog;
  readonly events: PurgeEvent[];
  /** While false, Redis is away for this instance. */
  isReached: boolean;
  /** While false, Redis executes commands, and its replies are lost. */
  isAnswered: boolean;
  onCall: (args: readonly string[]) => void;
  /** May change it. */
  onReply: (reply: unknown) => void;
  now: () => number;
}

/** One more instance, which exchanges records when its connection changes, and every 20 ms if it polls. */
export function createInstance(
  connection: RedisScripting,
  key: string,
  { polls = false, usableMs = 0 } = {},
): Instance {
  const onEpoch = vi.fn();
  const records = new PurgeRecords({ tagsOf: (key) => [key], onEpoch, now: () => instance.now() });
  const events: PurgeEvent[] = [];
  const instance: Instance = {
    onEpoch,
    records,
    events,
    isReached: true,
    isAnswered: true,
    onCall: () => {},
    onReply: () => {},
    now: Date.now,
    log: new PurgeLog(
      {
        records,
        runScript: async (...call) => {
          if (!instance.isReached) throw new Error('away');
          instance.onCall(call[2]);
          const reply = await connection.runScript(...call);
          instance.onReply(reply);
          if (!instance.isAnswered) throw new Error('lost');
          return reply;
        },
        now: () => instance.now(),
        report: (event) => void events.push(event),
      },
      { key, usableMs, pollEveryMs: polls ? 20 : DAY },
    ),
  };
  return instance;
}

export async function connect(instance: Instance): Promise<void> {
  instance.log.onDisconnected();
  instance.log.onConnected();
  await expect.poll(() => instance.log.isCurrent).toBe(true);
}

export const known = ({ records }: Instance) => [...records.all()].toSorted((x, y) => (x.tag < y.tag ? -1 : 1));

/** A Redis, and instances on it that one test after the other starts and leaves. */
export class PurgeServer implements AsyncDisposable {
  readonly server: RedisServer;
  readonly redis: Redis;
  readonly connection: RedisScripting;
  /** Where the instances of this test exchange records. */
  key = '';
  readonly #close: () => Promise<void>;
  readonly #open: PurgeLog[] = [];
  #networks = 0;

  private constructor(server: RedisServer, connection: ReturnType<typeof connectRedis>) {
    this.server = server;
    this.redis = new Redis(server.url);
    this.connection = connection;
    this.#close = () => connection.close();
  }

  static async start(): Promise<PurgeServer> {
    const server = await startRedis();
    const { promise: connected, resolve } = Promise.withResolvers<void>();
    const onTransition = () => resolve();
    const connection = connectRedis(
      { url: server.url, connectTimeoutMs: 5000, commandTimeoutMs: 5000 },
      { onTransition },
    );
    await connected;
    return new PurgeServer(server, connection);
  }

  newNetwork(): void {
    this.key = `toncache:purges:test-${this.#networks++}`;
  }

  anInstance(options?: Parameters<typeof createInstance>[2]): Instance {
    const instance = createInstance(this.connection, this.key, options);
    this.#open.push(instance.log);
    return instance;
  }

  /** Ends the instances of a test, and forgets what they left in Redis. */
  async clear(): Promise<void> {
    for (const log of this.#open.splice(0)) log.close();
    await this.redis.flushall();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.redis.disconnect();
    await this.#close();
    await this.server.stop();
  }
}
