import { expect, vi } from 'vitest';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import { Chain } from '../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../src/tools/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { JettonAct } from '../../src/tools/simulator/jetton-act.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { PATIENCE } from './followed-world.ts';

const OPERATIONS =
  'transactions,addressInformation,accountStates,walletStates,jetton/wallets,jetton/masters,jetton/transfers';
/** Enough polled owners that the follower and its look-ups pay for themselves. */
const OWNERS = 30;
const POLL_EVERY_MS = 600;
/** Accounts that do nothing themselves. */
const IDLE = 200;

export const listOf = ({ address }: Account) => `/api/v3/jetton/wallets?owner_address=${address}`;
export const receivedBy = ({ address }: Account) => `/api/v3/jetton/transfers?owner_address=${address}&direction=in`;

/** A proxy that follows the blocks of a simulated indexer and looks up owners, because a crowd polls owners. */
export class OwnersWorld implements AsyncDisposable {
  readonly indexer: Indexer;
  /** Another one whose database is behind, if there is one. */
  readonly behind: Indexer | undefined;
  readonly proxy: RunningProxy;
  readonly #crowd: NodeJS.Timeout;
  #spares = 0;

  private constructor(indexer: Indexer, behind: Indexer | undefined, proxy: RunningProxy) {
    this.indexer = indexer;
    this.behind = behind;
    this.proxy = proxy;
    let turn = 0;
    const waiting = new Set<number>();
    // A client polls again after its answer: a slow machine gets no more requests than it can answer.
    const poll = () => {
      const place = turn++ % OWNERS;
      if (waiting.has(place)) return;
      waiting.add(place);
      void Promise.allSettled([proxy.ask(listOf(this.#accountAt(place)))]).then(() => waiting.delete(place));
    };
    this.#crowd = setInterval(poll, POLL_EVERY_MS / OWNERS);
  }

  /**
   * Starts the proxy with these settings. Resolves when the look-ups of owners are alive. `behindMs`: a second indexer is
   * behind by this. `holdsSteady`: the idle accounts hold a steady jetton.
   */
  static async open(
    dialect: Dialect = '1.3',
    env: Readonly<Record<string, string>> = { CACHE_OPERATIONS: OPERATIONS, PASSTHROUGH: 'on' },
    { behindMs, holdsSteady = false }: { readonly behindMs?: number; readonly holdsSteady?: boolean } = {},
  ): Promise<OwnersWorld> {
    const startAt = Date.now() - 60_000;
    const never = Number.POSITIVE_INFINITY;
    const idle = { count: IDLE, everyMs: never };
    const steady = { holdersCount: IDLE, transferEveryMs: never, mintEveryMs: never };
    const jettons = { owners: 20, everyMs: 5000, ...(holdsSteady && { steady }) };
    const start = () => startIndexer({ port: 0, dialect, chain: new Chain({ startAt, idle, jettons }), now: Date.now });
    const indexer = await start();
    const behind = behindMs === undefined ? undefined : await start();
    behind?.replicas[0].lagDatabase(behindMs ?? 0);
    const urls = [indexer, ...(behind === undefined ? [] : [behind])].map(({ url }) => url);
    // The default: requests of a crowd that nobody serves in time must not pile up ahead of the follower's.
    const proxy = await startProxy({ upstreamUrl: urls.join(), env: { UPSTREAM_TIMEOUT: '5s', ...env } });
    const world = new OwnersWorld(indexer, behind, proxy);
    await world.untilProven(listOf(world.spareAccount()));
    return world;
  }

  #accountAt(place: number): Account {
    return this.indexer.chain.idle.all[place] as Account;
  }

  /** Another account each time, which nobody has requested yet, and which does nothing itself. */
  spareAccount(): Account {
    return this.#accountAt(OWNERS + this.#spares++);
  }

  master(n = 0): Account {
    return this.indexer.chain.jettons.masters[n] as Account;
  }

  walletOf(owner: Account, master = this.master()): Account {
    return this.indexer.chain.jettons.walletOf(owner, master);
  }

  /** An account gets a message in the next block but one. */
  act(account: Account, act: JettonAct): void {
    const { chain } = this.indexer;
    chain.act(account, act, chain.clock.committedAt(chain.headSeqno + 2));
  }

  async mint(owner: Account, amount = 100, master = this.master()): Promise<void> {
    this.act(master, { kind: 'mint', to: owner, amount });
    await this.untilListed(owner, this.walletOf(owner, master));
  }

  /** Resolves when the indexer lists a wallet of an owner. */
  async untilListed(owner: Account, wallet: Account): Promise<void> {
    await vi.waitFor(async () => {
      const answer = await fetch(this.indexer.url + listOf(owner));
      expect(await answer.text()).toContain(wallet.address);
    }, PATIENCE);
  }

  async detailOf(target: string): Promise<unknown> {
    return (await this.proxy.reply(target)).cache['detail'];
  }

  async untilProven(target: string): Promise<void> {
    const isProven = async () => expect(await this.detailOf(target)).toBe('proven');
    await vi.waitFor(isProven, PATIENCE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#crowd);
    await this.proxy[Symbol.asyncDispose]();
    await this.indexer.close();
    await this.behind?.close();
  }
}
