import { Chain, type ChainOptions } from '../../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { freePort } from '../../support/free-port.ts';

const WORKERS = 20;
const SERVICE_MS = 100;
/** A simulated indexer in this process, with 20 workers, which can be killed and started again. */
export class Member implements AsyncDisposable {
  readonly port: number;
  /** The number of requests for the operations. */
  asked = 0;
  readonly #chain: ChainOptions;
  #indexer: Indexer;

  private constructor(indexer: Indexer, chain: ChainOptions) {
    this.#indexer = indexer;
    this.port = indexer.port;
    this.#chain = chain;
    this.#begin();
  }

  static async start(chain: ChainOptions): Promise<Member> {
    return new Member(await startIndexer({ chain: new Chain(chain), port: await freePort() }), chain);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get faults(): Indexer['faults'] {
    return this.#indexer.faults;
  }

  lag(ms: number): void {
    this.#indexer.replicas[0].lag(ms);
  }

  lagDatabase(ms: number): void {
    this.#indexer.replicas[0].lagDatabase(ms);
  }

  kill(): Promise<void> {
    return this.#indexer.close();
  }

  async revive(): Promise<void> {
    this.#indexer = await startIndexer({ chain: new Chain(this.#chain), port: this.port });
    this.#begin();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  #begin(): void {
    this.faults.workers = { count: WORKERS, serviceMs: SERVICE_MS };
    this.#indexer.requests.on('request', ({ operation }) => {
      if (operation !== 'masterchainInfo') this.asked++;
    });
  }
}
