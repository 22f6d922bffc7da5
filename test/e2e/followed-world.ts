import { expect, vi } from 'vitest';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { JettonTrafficOptions } from '../../src/tools/simulator/jetton-traffic.ts';
import { GUARD_MS } from '../support/patience.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const OPERATIONS = 'transactions,addressInformation,walletInformation';
/**
 * Enough polled accounts that the follower pays for itself. Each is polled once per lifetime of a live answer (400 ms).
 */
const ACCOUNTS = 60;
const POLL_EVERY_MS = 450;
/** Accounts that the crowd does not poll, after those that it polls. */
const SPARE_ACCOUNTS = 200;
export const PATIENCE = { timeout: GUARD_MS, interval: 50 };
export const HANGS = { kind: 'hang' } as const;

export const stateOf = ({ address }: Account) => `/api/v3/addressInformation?address=${address}`;
export const pageOf = ({ address }: Account) => `/api/v3/transactions?account=${address}&limit=20`;

/** Proxies that follow the blocks of a simulated indexer, because a crowd polls idle accounts at each of them. */
export class FollowedWorld implements AsyncDisposable {
  readonly indexer: Indexer;
  readonly proxies: RunningProxy[] = [];
  readonly #env: Readonly<Record<string, string>>;
  readonly #crowd: NodeJS.Timeout;
  #spares = 0;
  /** Requests at the indexer, by their targets in the clients' spelling. */
  readonly #sent = new Map<string, number>();

  private constructor(indexer: Indexer, env: Readonly<Record<string, string>>) {
    this.indexer = indexer;
    // The default: requests of a crowd that nobody serves in time must not pile up ahead of the follower's.
    this.#env = { UPSTREAM_TIMEOUT: '5s', ...env };
    indexer.requests.on('request', ({ target }) => {
      const decoded = decodeURIComponent(target);
      this.#sent.set(decoded, this.sentFor(decoded) + 1);
    });
    let turn = 0;
    const waiting = new Set<number>();
    // One after the other, so that kept answers have all ages. A client polls again after its answer: a slow machine
    // gets no more requests than it can answer.
    const poll = () => {
      const place = turn++ % ACCOUNTS;
      if (waiting.has(place)) return;
      waiting.add(place);
      const asked = this.proxies[place % this.proxies.length]?.ask(stateOf(this.accountAt(place)));
      void Promise.allSettled([asked]).then(() => waiting.delete(place));
    };
    this.#crowd = setInterval(poll, POLL_EVERY_MS / ACCOUNTS);
  }

  /**
   * Starts proxies with these settings. Resolves when all followers have read the blocks, or are no longer idle.
   * `steady`: the idle accounts hold a jetton.
   */
  static async open(
    env: Readonly<Record<string, string>> = { CACHE_OPERATIONS: OPERATIONS },
    until: 'alive' | 'on' = 'alive',
    others = 0,
    steady?: JettonTrafficOptions['steady'],
  ): Promise<FollowedWorld> {
    const startAt = Date.now() - 60_000;
    const idle = { count: ACCOUNTS + SPARE_ACCOUNTS, everyMs: Number.POSITIVE_INFINITY };
    const jettons = steady && { owners: 1, everyMs: Number.POSITIVE_INFINITY, steady };
    const chain = new Chain({ startAt, idle, ...(jettons && { jettons }) });
    const world = new FollowedWorld(await startIndexer({ port: 0, dialect: '1.3', chain, now: Date.now }), env);
    for (let place = 0; place <= others; place++) await world.join();
    const [state, value] = until === 'alive' ? (['alive', 1] as const) : (['idle', 0] as const);
    for (const proxy of world.proxies)
      await vi.waitFor(async () => expect(await world.followerIs(state, proxy)).toBe(value), PATIENCE);
    return world;
  }

  /** The first one. */
  get proxy(): RunningProxy {
    return this.proxies[0] as RunningProxy;
  }

  /** Starts another proxy, with these settings in addition. */
  async join(env: Readonly<Record<string, string>> = {}): Promise<RunningProxy> {
    const proxy = await startProxy({ upstreamUrl: this.indexer.url, env: { ...this.#env, ...env } });
    this.proxies.push(proxy);
    return proxy;
  }

  accountAt(place: number): Account {
    return this.indexer.chain.idle.all[place] as Account;
  }

  /** Another account each time, which nobody has requested yet. */
  spareAccount(): Account {
    if (this.#spares === SPARE_ACCOUNTS) throw new Error('every spare account is in use');
    return this.accountAt(ACCOUNTS + this.#spares++);
  }

  sentFor(target: string): number {
    return this.#sent.get(target) ?? 0;
  }

  async detailOf(target: string, proxy = this.proxy): Promise<unknown> {
    return (await proxy.reply(target)).cache['detail'];
  }

  untilProven(target: string, proxy = this.proxy): Promise<void> {
    return expect.poll(() => this.detailOf(target, proxy), PATIENCE).toBe('proven');
  }

  followerIs(state: string, proxy = this.proxy): Promise<number> {
    return proxy.metric('toncache_block_follower_state', { state });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#crowd);
    for (const proxy of this.proxies) await proxy[Symbol.asyncDispose]();
    await this.indexer.close();
  }
}
