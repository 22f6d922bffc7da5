import { Chain } from '../../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../../src/tools/simulator/indexer.ts';

const WORKERS = 20;
const SERVICE_MS = 100;
/** Of the slow one. */
const TEN_TIMES_MS = 10 * SERVICE_MS;
const HISTORY_MS = 10 * 60_000;

const chainOf = (startAt: number) => new Chain({ startAt, messagesPerBlock: 10, historyBlocks: 10_000 });

/** One of several equal indexers of 20 workers, which can be killed and started again. */
export class Member {
  readonly port: number;
  /** Requests for the operations that came to it. */
  asked = 0;
  readonly #startAt: number;
  #indexer: Indexer;

  private constructor(indexer: Indexer, startAt: number) {
    this.#indexer = indexer;
    this.port = indexer.port;
    this.#startAt = startAt;
    this.#begin();
  }

  static async start(startAt: number): Promise<Member> {
    return new Member(await startIndexer({ chain: chainOf(startAt) }), startAt);
  }

  get faults(): Indexer['faults'] {
    return this.#indexer.faults;
  }

  slow(): void {
    this.#setWorkers(TEN_TIMES_MS);
  }

  lag(ms: number): void {
    this.#indexer.replicas[0].lag(ms);
  }

  kill(): Promise<void> {
    return this.#indexer.close();
  }

  async revive(): Promise<void> {
    this.#indexer = await startIndexer({ chain: chainOf(this.#startAt), port: this.port });
    this.#begin();
  }

  #begin(): void {
    this.#setWorkers(SERVICE_MS);
    this.#indexer.requests.on('request', ({ operation }) => {
      if (operation !== 'masterchainInfo') this.asked++;
    });
  }

  #setWorkers(serviceMs: number): void {
    this.#indexer.faults.workers = { count: WORKERS, serviceMs };
  }
}

/** Starts so many equal indexers, and a chain that shows the truth. */
export async function startMembers(count: number): Promise<AsyncDisposable & { members: Member[]; chain: Chain }> {
  const startAt = Date.now() - HISTORY_MS;
  const members = await Promise.all(Array.from({ length: count }, () => Member.start(startAt)));
  const end = async () => void (await Promise.all(members.map((member) => member.kill())));
  return { members, chain: chainOf(startAt), [Symbol.asyncDispose]: end };
}
