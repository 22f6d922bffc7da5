import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished } from 'vitest';
import { redisKeyFor } from '../../src/cache/redis-key.ts';
import type { Lease } from '../../src/coalescing/held-lease.ts';
import { RENEW } from '../../src/coalescing/lease-scripts.ts';
import {
  type Acquisition,
  RedisLease,
  type RedisLeaseDependencies,
  type RedisLeaseOptions,
} from '../../src/coalescing/redis-lease.ts';
import { connectedRedis } from '../support/observed-redis-tier.ts';

export type Connection = Awaited<ReturnType<typeof connectedRedis>>;

export const LEASE_MS = 20_000;

/** Only where a test says so: renewals do not depend on how busy the machine is then. */
const NEVER_MS = 1_000_000;
export const NOTHING = Buffer.alloc(0);
/** Each test file connects it and disconnects it: files share worker processes, and with them this module. */
export const admin = new Redis(inject('redisUrl'), { lazyConnect: true });
export const redisKey = redisKeyFor(`test:${randomUUID()}:`);

export const someKey = () => `key ${randomUUID()}`;
export const leaseOf = (key: string) => `${redisKey(key)}:lease`;
export const waitersOf = (key: string) => `${redisKey(key)}:waiters`;

type InstanceOptions = Partial<RedisLeaseOptions> & Partial<Pick<RedisLeaseDependencies, 'now'>>;

/** An instance that gets all messages, and polls at the given interval. */
export class Instance {
  readonly leases: RedisLease;
  readonly connection: Connection;
  channel = '';
  polls = 0;
  /** The replies of Redis to renewals: 1 where this instance held the lease. */
  readonly renewals: unknown[] = [];

  constructor(connection: Connection, { now = () => performance.now(), ...options }: InstanceOptions = {}) {
    this.connection = connection;
    this.leases = new RedisLease(
      {
        redis: {
          runScript: async (script, scriptKeys, args) => {
            if (args[1] === 'watch') this.polls++;
            const reply = await connection.runScript(script, scriptKeys, args);
            if (script === RENEW) this.renewals.push(reply);
            return reply;
          },
          listen: (channel, onMessage) => {
            this.channel = channel;
            connection.listen(channel, onMessage);
          },
        },
        redisKey,
        now,
      },
      {
        leaseMs: LEASE_MS,
        renewEveryMs: NEVER_MS,
        longestMs: NEVER_MS,
        collapseWindowMs: LEASE_MS,
        failureTtlMs: 5000,
        pollBudgetMs: 10_000,
        ...options,
      },
    );
  }

  static async start(options: InstanceOptions = {}): Promise<Instance> {
    const connection = await connectedRedis(inject('redisUrl'), { commandTimeoutMs: 10_000 });
    onTestFinished(() => connection.close());
    const instance = new Instance(connection, options);
    const observer = new Redis(inject('redisUrl'));
    await expect
      .poll(async () => (await observer.pubsub('NUMSUB', instance.channel)) as unknown[])
      .toEqual([instance.channel, 1]);
    observer.disconnect();
    return instance;
  }

  static fleet(count: number, options: InstanceOptions = {}): Promise<Instance[]> {
    return Promise.all(Array.from({ length: count }, () => Instance.start(options)));
  }

  acquire(key: string, stamp = NOTHING, isFirst = true): Promise<Acquisition> {
    return this.leases.acquire(key, { stamp, budgetMs: 10_000, isFirst });
  }

  async hold(key: string): Promise<Lease> {
    const acquired = await this.acquire(key);
    if (acquired.state !== 'load') throw new Error(`it is ${acquired.state}`);
    return acquired.lease;
  }

  async follow(key: string): Promise<ReturnType<(Acquisition & { state: 'taken' })['landed']>> {
    const acquired = await this.acquire(key);
    if (acquired.state !== 'taken') throw new Error(`it is ${acquired.state}`);
    return acquired.landed();
  }

  /** Waits without anybody's waiting for it: whether it is over yet can be asked. */
  async watch(key: string): Promise<{ ended: boolean; landed: Promise<unknown> }> {
    const acquired = await this.acquire(key);
    if (acquired.state !== 'taken') throw new Error(`it is ${acquired.state}`);
    const watch = { ended: false, landed: acquired.landed() as Promise<unknown> };
    void watch.landed.then(() => {
      watch.ended = true;
    });
    return watch;
  }
}

export async function settle(key: string, lease: Lease): Promise<void> {
  await admin.set(redisKey(key), 'an entry', 'PX', 60_000);
  lease.settle();
}
