import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { Answered } from '../support/http-client.ts';
import { PATIENT_COALESCING, PATIENT_REDIS } from '../support/patience.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { targetOf } from './questions.ts';

/** Everything lives long enough for its end to be visible. */
const LASTING = { lifetime: 60_000, staleWhileRevalidate: 60_000, staleIfError: 60_000 };

export function purge(proxy: RunningProxy, body: object): Promise<Answered> {
  return proxy.askAdmin('/purge', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

export async function purged(proxy: RunningProxy, body: object): Promise<{ purged: object; at: number }> {
  const { status, text } = await purge(proxy, body);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text);
}

/** Until an instance has followed this many purges. */
export async function untilFollowed(proxy: RunningProxy, purges = 1): Promise<void> {
  await expect.poll(() => proxy.metric('purgesReceived')).toBeGreaterThanOrEqual(purges);
}

/** A Redis, an indexer and proxies in front of it, all on the real clock. */
export class PurgeWorld implements AsyncDisposable {
  readonly redis: RedisServer;
  readonly indexer: Indexer;
  /** A final masterchain block. */
  readonly seqno: number;
  readonly #proxies: RunningProxy[] = [];

  private constructor(redis: RedisServer, indexer: Indexer) {
    this.redis = redis;
    this.indexer = indexer;
    this.seqno = indexer.chain.headSeqno - 20;
  }

  static async start(): Promise<PurgeWorld> {
    const redis = await startRedis();
    // On the real clock, like Redis: a history of a minute.
    const chain = new Chain({ startAt: Date.now() - 60_000 });
    return new PurgeWorld(redis, await startIndexer({ dialect: '1.3', chain, now: Date.now }));
  }

  /** The number of clients' requests of proxies at the indexer: head polls depend on the clock. */
  get asked(): number {
    return this.indexer.requests.total - this.indexer.requests.count('masterchainInfo');
  }

  /** A proxy whose clock is by default that of Redis itself. */
  async addProxy(now: () => number = Date.now): Promise<RunningProxy> {
    const proxy = await startProxy({
      upstreamUrl: this.indexer.url,
      env: { REDIS_URL: this.redis.url },
      now,
      overrides: {
        redis: PATIENT_REDIS,
        coalescing: { ...PATIENT_COALESCING, failureTtl: 0 },
        rows: { adjacentLive: LASTING, pendingLive: LASTING, pendingFinalized: LASTING, empty: LASTING },
      },
    });
    this.#proxies.push(proxy);
    return proxy;
  }

  /** The present contents of Redis, for {@link restoreRedis}. */
  async copyOfRedis(): Promise<Map<string, Buffer>> {
    using client = this.#client();
    const keys = await client.redis.keys('*');
    const copy = new Map<string, Buffer>();
    for (const key of keys) {
      const value = await client.redis.dumpBuffer(key);
      if (value) copy.set(key, value);
    }
    return copy;
  }

  /** In one step: Redis contains exactly the copy, and all its connections break. */
  async restoreRedis(copy: ReadonlyMap<string, Buffer>): Promise<void> {
    using client = this.#client();
    const restore = client.redis.multi().flushall();
    for (const [key, value] of copy) restore.restore(key, 60_000, value);
    await restore.call('client', 'kill', 'type', 'normal', 'skipme', 'yes').exec();
  }

  #client(): Disposable & { readonly redis: Redis } {
    const redis = new Redis(this.redis.url);
    return { redis, [Symbol.dispose]: () => redis.disconnect() };
  }

  /** A target for this block. */
  blockSet(more: Readonly<Record<string, string>> = {}): string {
    return targetOf('masterchainBlockShards', { seqno: this.seqno, ...more });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    await this.indexer.close();
    await this.redis.stop();
  }
}
