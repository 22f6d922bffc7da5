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
const OWNERS = 60;
const POLL_EVERY_MS = 450;

export const listOf = ({ address }: Account) => `/api/v3/jetton/wallets?owner_address=${address}`;
export const receivedBy = ({ address }: Account) => `/api/v3/jetton/transfers?owner_address=${address}&direction=in`;

/** A proxy that follows the blocks of a simulated indexer and looks up owners, because a crowd polls owners. */
export class OwnersWorld implements AsyncDisposable {
  readonly indexer: Indexer;
  readonly proxy: RunningProxy;
  readonly #crowd: NodeJS.Timeout;
  #spares = 0;

  private constructor(indexer: Indexer, proxy: RunningProxy) {
    this.indexer = indexer;
    this.proxy = proxy;
    let turn = 0;
    const poll = () => void Promise.allSettled([proxy.ask(listOf(this.#accountAt(turn++ % OWNERS)))]);
    this.#crowd = setInterval(poll, POLL_EVERY_MS / OWNERS);
  }

  /** Starts the proxy with these settings. Resolves when the look-ups of owners are alive. */
  static async open(
    dialect: Dialect = '1.3',
    env: Readonly<Record<string, string>> = { CACHE_OPERATIONS: OPERATIONS, PASSTHROUGH: 'on' },
  ): Promise<OwnersWorld> {
    const startAt = Date.now() - 60_000;
    const idle = { count: 200, everyMs: Number.POSITIVE_INFINITY };
    const jettons = { owners: 20, everyMs: 5000 };
    const chain = new Chain({ startAt, idle, jettons });
    const indexer = await startIndexer({ port: 0, dialect, chain, now: Date.now });
    const proxy = await startProxy({ upstreamUrl: indexer.url, env });
    const world = new OwnersWorld(indexer, proxy);
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
    await vi.waitFor(isProven, { ...PATIENCE, timeout: 2 * PATIENCE.timeout });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#crowd);
    await this.proxy[Symbol.asyncDispose]();
    await this.indexer.close();
  }
}
