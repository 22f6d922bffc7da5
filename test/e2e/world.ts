import { expect, inject, vi } from 'vitest';
import { Chain, type ChainOptions } from '../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../src/tools/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { LoggedRequest } from '../../src/tools/simulator/request-log.ts';
import { type Answered, type Asking, ask } from '../support/http-client.ts';
import { GUARD_MS, PATIENT_COALESCING, PATIENT_REDIS } from '../support/patience.ts';
import { someNetwork } from '../support/some-network.ts';
import { type ProxyOptions, type Reply, type RunningProxy, startProxy } from '../support/start-proxy.ts';

/** The indexer behind the proxy, and the tiers of the proxy. */
export interface WorldKind {
  readonly dialect: Dialect;
  readonly tiers: 'memory alone' | 'memory and Redis';
}

/** The oldest and the newest dialect; `inputs.test.ts` compares answers in front of an indexer of 1.2, too. */
export const DIALECTS: readonly Dialect[] = ['spec', '1.3'];

/** Rows of `describe.each`. What a dialect decides does not depend on the tiers, so each has one world. */
export const WORLDS: readonly WorldKind[] = [
  { dialect: 'spec', tiers: 'memory alone' },
  { dialect: '1.3', tiers: 'memory and Redis' },
];

/** One of them, for tests that do not depend on it. */
export const ANY_WORLD: WorldKind = { dialect: '1.3', tiers: 'memory alone' };

/** Options for a proxy of a world; all others are the world's. */
export type WorldProxyOptions = Omit<Partial<ProxyOptions>, 'now' | 'monotonic' | 'wall'> & {
  /** Durations also stand still until the test advances the clock. */
  readonly stopsTime?: boolean;
};

export interface WorldOptions extends WorldKind {
  readonly chain?: Partial<ChainOptions>;
  /** Of the indexer. Default: any free one. */
  readonly port?: number;
  readonly proxy?: WorldProxyOptions;
}

const START = 1_800_000_000_000;
const HISTORY_BLOCKS = 60;
const BLOCK_MS = 400;

/** A target that no test requests: these requests show that a new proxy uses Redis. */
const WARM_UP = '/api/v3/adjacentTransactions?hash=';
/** Their hashes are small numbers: this is the beginning of all of them in canonical form. */
const WARM_UP_SENT = `${WARM_UP}${'A'.repeat(30)}`;

/** A chain, its indexer and a proxy in front of it, all on one clock that only the test moves. */
export class World implements AsyncDisposable {
  readonly kind: WorldKind;
  readonly indexer: Indexer;
  /** Proxies of one network share entries when there is a Redis; each world has its own. */
  readonly network: string;
  /** The proxies' clock, epoch ms. */
  now: number;
  readonly #startedAt: number;
  /** The lag of the indexer's clock, and of the chain with it. */
  #indexerIsBehindMs = 0;
  readonly #proxies: RunningProxy[] = [];

  private constructor(kind: WorldKind, indexer: Indexer, now: number) {
    this.kind = kind;
    this.indexer = indexer;
    this.network = someNetwork();
    this.now = now;
    this.#startedAt = now;
  }

  static async start({ chain, port = 0, proxy, ...kind }: WorldOptions): Promise<World> {
    const now = START + HISTORY_BLOCKS * (chain?.blockMs ?? BLOCK_MS);
    const clock = { now: () => now };
    const indexer = await startIndexer({
      port,
      dialect: kind.dialect,
      chain: new Chain({ startAt: START, ...chain }),
      now: () => clock.now(),
    });
    const world = new World(kind, indexer, now);
    clock.now = () => world.now - world.#indexerIsBehindMs;
    await world.addProxy(proxy);
    return world;
  }

  /** The first proxy. */
  get proxy(): RunningProxy {
    const [first] = this.#proxies;
    if (first === undefined) throw new Error('this world has no proxy yet');
    return first;
  }

  /** Another proxy of this world's network, by default in front of this world's indexer. */
  async addProxy({ env, overrides, stopsTime = false, ...options }: WorldProxyOptions = {}): Promise<RunningProxy> {
    const redis = this.kind.tiers === 'memory alone' ? {} : { REDIS_URL: inject('redisUrl') };
    const proxy = await startProxy({
      upstreamUrl: this.indexer.url,
      ...options,
      env: { NETWORK: this.network, ...redis, ...env },
      overrides: {
        ...overrides,
        redis: { ...PATIENT_REDIS, ...overrides?.redis },
        coalescing: { ...PATIENT_COALESCING, ...overrides?.coalescing },
      },
      now: () => this.now,
      monotonic: () => (stopsTime ? 0 : performance.now()) + this.now - this.#startedAt,
      // In step with the durations: a wall clock that seems to have been set would empty the memory tier.
      wall: () => (stopsTime ? this.#startedAt : Date.now()) + this.now - this.#startedAt,
    });
    this.#proxies.push(proxy);
    if (this.kind.tiers !== 'memory alone') await untilRedisIsUsed(proxy);
    return proxy;
  }

  /** Advances time by this many milliseconds. */
  advance(ms: number): void {
    this.now += ms;
  }

  /** Advances time to an instant of the chain, epoch ms, if that is in the future. */
  advanceTo(instant: number): void {
    this.now = Math.max(this.now, instant + this.#indexerIsBehindMs);
  }

  /**
   * Advances time only for the proxies (a day of the chain would take minutes to simulate), once Redis has everything
   * that it was sent: it had hours for that.
   */
  async leap(ms: number): Promise<void> {
    if (this.kind.tiers !== 'memory alone') await Promise.all(this.#proxies.map((proxy) => proxy.untilRedisHasAll()));
    this.now += ms;
    this.#indexerIsBehindMs += ms;
  }

  /** The clients' requests of proxies at the indexer, oldest first. */
  get forwarded(): readonly LoggedRequest[] {
    return this.indexer.requests.recent.filter(
      ({ headers, target, operation }) =>
        headers['user-agent']?.startsWith('toncache/') === true &&
        operation !== 'masterchainInfo' &&
        !target.startsWith(WARM_UP_SENT),
    );
  }

  /** The number of head polls of proxies. */
  get headsAsked(): number {
    return this.indexer.requests.count('masterchainInfo');
  }

  /**
   * Resolves when the proxies have read the answers to all head polls that have arrived at the indexer. Time that is
   * advanced before would be the time of these heads.
   */
  async untilHeadsAnswered(): Promise<void> {
    const answered = (proxy: RunningProxy) => proxy.metric('upstreamRequests', { operation: 'masterchainInfo' });
    const answeredByAll = async () =>
      (await Promise.all(this.#proxies.map(answered))).reduce((sum, count) => sum + count, 0);
    await expect.poll(async () => (await answeredByAll()) - this.headsAsked, { interval: 5 }).toBe(0);
  }

  /** Resolves when a proxy has learned the head of the chain, after an earlier poll. */
  async untilHeadKnown(proxy = this.proxy): Promise<void> {
    const answered = () => proxy.metric('upstreamRequests', { operation: 'masterchainInfo' });
    await vi.waitFor(async () => expect(await answered()).toBeGreaterThan(0), { timeout: GUARD_MS, interval: 2 });
  }

  /**
   * The requests for one canonical target, so that a refresh in the background does not count as a request of a test.
   */
  forwardedFor(target: string): readonly LoggedRequest[] {
    return this.forwarded.filter((asked) => asked.target === target);
  }

  ask(target: string, asking: Asking = {}, proxy = this.proxy): Promise<Reply> {
    return proxy.reply(target, asking);
  }

  /** Sends requests until the answer is fresh: a refresh has ended. */
  async untilFresh(target: string): Promise<Reply> {
    return vi.waitFor(
      async () => {
        const reply = await this.ask(target);
        expect(reply.cache).toMatchObject({ hit: true });
        expect(reply.cache['ttl']).toBeGreaterThanOrEqual(0);
        return reply;
      },
      { timeout: GUARD_MS, interval: 2 },
    );
  }

  /** The answer of the indexer itself. */
  askIndexer(target: string, asking: Asking = {}): Promise<Answered> {
    return ask(this.indexer.url, target, asking);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    await this.indexer.close();
  }
}

async function untilRedisIsUsed(proxy: RunningProxy): Promise<void> {
  let attempt = 0;
  await vi.waitFor(
    async () => {
      await proxy.ask(WARM_UP + String(attempt++).padStart(64, '0'));
      expect(await proxy.metric('redisCalls', { call: 'read', outcome: 'absent' })).toBeGreaterThan(0);
    },
    { timeout: GUARD_MS, interval: 2 },
  );
}
