import { randomBytes } from 'node:crypto';
import { expect, inject, vi } from 'vitest';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';
import { type Overrides, type RunningProxy, startProxy } from './start-proxy.ts';

/** A machine that is busy with other things must not look like a Redis that fails. */
const PATIENT_REDIS = { budget: 10_000, connectTimeout: 10_000, failuresToOpen: 1000 };

export interface FleetOptions {
  readonly instances?: number;
  readonly redisUrl?: string;
  readonly overrides?: Overrides;
}

/** Instances of one network on one Redis, before an indexer that does what it is told. */
export class Fleet implements AsyncDisposable {
  readonly upstream: ScriptedUpstream;
  readonly proxies: readonly RunningProxy[];

  private constructor(upstream: ScriptedUpstream, proxies: readonly RunningProxy[]) {
    this.upstream = upstream;
    this.proxies = proxies;
  }

  static async start(script: Script, { instances = 3, redisUrl, overrides = {} }: FleetOptions = {}): Promise<Fleet> {
    const upstream = await startScriptedUpstream(script);
    const env = { NETWORK: `test-${randomBytes(8).toString('hex')}`, REDIS_URL: redisUrl ?? inject('redisUrl') };
    const proxies = await Promise.all(
      Array.from({ length: instances }, () =>
        startProxy({
          upstreamUrl: upstream.url,
          env,
          overrides: { ...overrides, redis: { ...PATIENT_REDIS, ...overrides.redis } },
        }),
      ),
    );
    const fleet = new Fleet(upstream, proxies);
    await Promise.all(proxies.map(untilItUsesRedis));
    return fleet;
  }

  get(index: number): RunningProxy {
    const proxy = this.proxies[index];
    if (proxy === undefined) throw new Error(`there are only ${this.proxies.length} instances`);
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
    await this.upstream[Symbol.asyncDispose]();
  }
}

async function untilItUsesRedis(proxy: RunningProxy): Promise<void> {
  await vi.waitFor(
    async () => {
      expect(proxy.log.map(({ msg }) => msg)).toContain('connected to Redis');
    },
    { timeout: 20_000, interval: 10 },
  );
}
