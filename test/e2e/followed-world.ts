import { expect, vi } from 'vitest';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const OPERATIONS = 'transactions,addressInformation,walletInformation';
/**
 * Enough polled accounts that the follower pays for itself. Each is polled once per lifetime of a live answer (400 ms).
 */
const ACCOUNTS = 60;
const POLL_EVERY_MS = 450;
/** Accounts that the crowd does not poll, after those that it polls. */
const SPARE_ACCOUNTS = 200;
export const PATIENCE = { timeout: 30_000, interval: 50 };
export const HANGS = { kind: 'hang' } as const;

export const stateOf = ({ address }: Account) => `/api/v3/addressInformation?address=${address}`;
export const pageOf = ({ address }: Account) => `/api/v3/transactions?account=${address}&limit=20`;

/** A proxy that follows the blocks of a simulated indexer, because a crowd polls idle accounts. */
export class FollowedWorld implements AsyncDisposable {
  readonly indexer: Indexer;
  readonly proxy: RunningProxy;
  readonly #crowd: NodeJS.Timeout;
  #spares = 0;
  /** Requests at the indexer, by their targets in the clients' spelling. */
  readonly #sent = new Map<string, number>();

  private constructor(indexer: Indexer, proxy: RunningProxy) {
    this.indexer = indexer;
    this.proxy = proxy;
    indexer.requests.on('request', ({ target }) => {
      const decoded = decodeURIComponent(target);
      this.#sent.set(decoded, this.sentFor(decoded) + 1);
    });
    let turn = 0;
    // One after the other, so that kept answers have all ages.
    const poll = () => void Promise.allSettled([proxy.ask(stateOf(this.accountAt(turn++ % ACCOUNTS)))]);
    this.#crowd = setInterval(poll, POLL_EVERY_MS / ACCOUNTS);
  }

  /** Starts the proxy with these settings. Resolves when the follower has read the blocks. */
  static async open(env: Readonly<Record<string, string>> = { CACHE_OPERATIONS: OPERATIONS }): Promise<FollowedWorld> {
    const startAt = Date.now() - 60_000;
    const idle = { count: ACCOUNTS + SPARE_ACCOUNTS, everyMs: Number.POSITIVE_INFINITY };
    const indexer = await startIndexer({ port: 0, dialect: '1.3', chain: new Chain({ startAt, idle }), now: Date.now });
    const proxy = await startProxy({ upstreamUrl: indexer.url, env });
    const world = new FollowedWorld(indexer, proxy);
    await vi.waitFor(async () => expect(await world.followerIs('alive')).toBe(1), PATIENCE);
    return world;
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

  async detailOf(target: string): Promise<unknown> {
    return (await this.proxy.reply(target)).cache['detail'];
  }

  untilProven(target: string): Promise<void> {
    return expect.poll(() => this.detailOf(target), PATIENCE).toBe('proven');
  }

  followerIs(state: string): Promise<number> {
    return this.proxy.metric('toncache_block_follower_state', { state });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#crowd);
    await this.proxy[Symbol.asyncDispose]();
    await this.indexer.close();
  }
}
