import { Chain } from '../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { Trace } from '../../src/tools/simulator/trace.ts';
import type { Answered } from '../support/http-client.ts';
import { type ProxyOptions, type RunningProxy, startProxy } from '../support/start-proxy.ts';

const HISTORY_MS = 120_000;
const BLOCK_MS = 400;
/** Every indexer that is not far behind has blocks of this age. */
const OLD_BLOCKS = 20;

/** Instants, epoch ms: real ones, or those of a clock that only a test moves. */
interface ReplicasClock {
  readonly now: () => number;
  readonly advance: (ms: number) => void;
}

function realClock(): ReplicasClock {
  const advance = () => {
    throw new Error('the clock moves by itself');
  };
  return { now: Date.now, advance };
}

function stoppedClock(): ReplicasClock {
  let now = Date.now();
  const advance = (ms: number) => {
    now += ms;
  };
  return { now: () => now, advance };
}

interface ReplicasOptions {
  /** Default: 2. */
  readonly count?: number;
  /** The last ones of them are backups. */
  readonly backups?: number;
  /** Runs before the proxy starts. */
  readonly prepare?: (indexers: Indexer[]) => void;
  /**
   * The chain and all durations stand still until the test advances the clock: a request takes as long as the test
   * says, however busy the machine is.
   */
  readonly stopsTime?: boolean;
}

/** Several simulated indexers of one chain, with a proxy in front of them. */
export class Replicas implements AsyncDisposable {
  readonly proxy: RunningProxy;
  readonly indexers: readonly Indexer[];
  /** The port of each indexer, also while it does not listen. */
  readonly ports: readonly number[];
  /** The last page that {@link freshPage} returned. */
  lastPage = '';
  readonly #clock: ReplicasClock;
  readonly #startAt: number;
  readonly #revived: Indexer[] = [];
  #limit = 100;

  private constructor(proxy: RunningProxy, indexers: readonly Indexer[], clock: ReplicasClock, startAt: number) {
    this.proxy = proxy;
    this.indexers = indexers;
    this.ports = indexers.map(({ port }) => port);
    this.#clock = clock;
    this.#startAt = startAt;
  }

  static async start(
    { count = 2, backups = 0, prepare, stopsTime = false }: ReplicasOptions,
    { env, overrides }: Pick<ProxyOptions, 'env' | 'overrides'> = {},
  ): Promise<Replicas> {
    const clock = stopsTime ? stoppedClock() : realClock();
    const startAt = clock.now() - HISTORY_MS;
    const start = () => startIndexer({ chain: new Chain({ startAt }), now: clock.now });
    const indexers = await Promise.all(Array.from({ length: count }, start));
    prepare?.(indexers);
    // A chain creates its history when it is first read. Without this, the first head polls would be answered too slowly.
    for (const { replicas } of indexers) void replicas[0].chain;
    const urls = indexers.map(({ url }) => url);
    const backupUrl = urls.splice(urls.length - backups).join();
    const proxy = await startProxy({
      upstreamUrl: urls.join(),
      env: { ...(backups > 0 && { UPSTREAM_BACKUP_URL: backupUrl }), ...env },
      random: Math.random,
      ...(overrides && { overrides }),
      ...(stopsTime && { monotonic: () => clock.now() - startAt, wall: clock.now }),
    });
    return new Replicas(proxy, indexers, clock, startAt);
  }

  /** Advances a clock that stands still. */
  advance(ms: number): void {
    this.#clock.advance(ms);
  }

  /** A page of a masterchain block that all indexers have, and that has not been requested yet. */
  freshPage(seqno = this.newestSeqno - OLD_BLOCKS): string {
    this.lastPage = `/api/v3/masterchainBlockShards?seqno=${seqno}&limit=${this.#limit++}`;
    return this.lastPage;
  }

  /** The newest block of an indexer that does not lag. */
  get newestSeqno(): number {
    return 62_000_000 + Math.floor((this.#clock.now() - this.#startAt) / BLOCK_MS);
  }

  /** Requests fresh pages one after the other. */
  async askOneByOne(times: number): Promise<Answered[]> {
    const answers: Answered[] = [];
    for (let time = 0; time < times; time++) answers.push(await this.proxy.ask(this.freshPage()));
    return answers;
  }

  /** Requests fresh pages at once. */
  askAtOnce(times: number): Promise<Answered[]> {
    return Promise.all(Array.from({ length: times }, () => this.proxy.ask(this.freshPage())));
  }

  /** Starts another indexer on the port of a closed one. */
  async revive(index: number): Promise<Indexer> {
    const port = this.ports[index] ?? 0;
    const revived = await startIndexer({ chain: new Chain({ startAt: this.#startAt }), now: this.#clock.now, port });
    this.#revived.push(revived);
    return revived;
  }

  metricOf(index: number, name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return this.proxy.metric(`toncache_upstream_${name}`, { ...labels, upstream: `127.0.0.1:${this.ports[index]}` });
  }

  /** 1 while a condition of one indexer is present, or was a moment ago. */
  conditionOf(index: number, name: string): Promise<number> {
    return this.proxy.metric('condition', { name, upstream: `127.0.0.1:${this.ports[index]}` });
  }

  /** The parents of young transactions: at most `newerThan` blocks old. */
  youngParents(newerThan: number): string[] {
    const chain = this.indexers.at(-1)?.chain;
    const traces = chain?.recentTraces(200) ?? [];
    const head = chain?.headSeqno ?? 0;
    return traces
      .flatMap(({ transactions }) => transactions)
      .filter(({ parent, seqno }) => parent !== undefined && seqno > head - newerThan && seqno <= head)
      .map(({ hash }) => `/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=in`);
  }

  /** The external messages of traces that ended less than `withinMs` ago: they are no longer pending. */
  endedTraces(withinMs: number): string[] {
    return this.#traces(({ goneAt }, now) => goneAt <= now && goneAt > now - withinMs);
  }

  /** The external messages of traces that were emulated less than `withinMs` ago. */
  youngTraces(withinMs: number): string[] {
    return this.#traces(({ emulatedAt }, now) => emulatedAt <= now && emulatedAt > now - withinMs);
  }

  #traces(isMeant: (trace: Trace, now: number) => boolean): string[] {
    const chain = this.indexers.at(-1)?.chain;
    const now = chain?.now ?? 0;
    return (chain?.recentTraces(200) ?? [])
      .filter((trace) => isMeant(trace, now))
      .map(({ externalHash }) => `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(externalHash)}`);
  }

  /** The number of page requests that each indexer got. */
  get asked(): readonly number[] {
    return this.indexers.map(({ requests }) => requests.count('masterchainBlockShards'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]();
    await Promise.all([...this.indexers, ...this.#revived].map((indexer) => indexer.close()));
  }
}
