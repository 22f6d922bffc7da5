import { Chain, type ChainOptions } from '../../../src/simulator/chain.ts';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import type { Trace } from '../../../src/simulator/trace.ts';
import { closeClients, connectTo } from './stream-clients.ts';

/** When the chain begins, epoch ms. */
export const START = 1_800_000_000_000;

type Client = Awaited<ReturnType<typeof connectTo>>;

/** A simulated indexer with its streaming API, on a clock that a test moves. */
export class StreamingWorld {
  readonly indexer: Indexer;
  readonly #clock: { now: number };

  private constructor(indexer: Indexer, clock: { now: number }) {
    this.indexer = indexer;
    this.#clock = clock;
  }

  /** By default no messages come but those that a test sends. */
  static async start(dialect: Dialect = '1.2', options: Partial<ChainOptions> = {}): Promise<StreamingWorld> {
    const clock = { now: START };
    const chain = new Chain({ startAt: START, messagesPerBlock: 0, lateShare: 0, ...options });
    return new StreamingWorld(await startIndexer({ dialect, chain, now: () => clock.now }), clock);
  }

  get now(): number {
    return this.#clock.now;
  }

  set now(instant: number) {
    this.#clock.now = instant;
  }

  connect(query?: string): Promise<Client> {
    return connectTo(this.indexer, query);
  }

  /** Resolves when the server has published what the chain got on by, and it has arrived. */
  async settle(client: Client): Promise<void> {
    this.indexer.streaming.look();
    await client.say({ operation: 'ping' });
  }

  /** The trace of a message that a wallet sends now. */
  sent(): Trace {
    const trace = this.indexer.chain.trace(this.indexer.chain.send(this.indexer.chain.accounts.wallets[0]));
    if (trace === undefined) throw new Error('it was sent');
    return trace;
  }

  async close(): Promise<void> {
    closeClients();
    await this.indexer.close();
  }
}

/** A message that subscribes, to what is pending already. */
export const subscribe = (message: object) => ({
  operation: 'subscribe',
  id: '1',
  min_finality: 'pending',
  ...message,
});
