import type { LEVELS } from '../../src/tell/conditions.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { ProxyProcess } from '../support/proxy-process.ts';
import type { RedisServer } from '../support/redis-server.ts';

/** The instances of toncache and the servers around them, which a situation breaks. */
export interface Scene {
  /** Requests of clients are for blocks of the first one. */
  indexers: readonly Indexer[];
  redis: RedisServer;
  /** Those that get requests, in turns; the page of the first one is read. */
  readonly instances: ProxyProcess[];
  /** Starts one more, with the same environment but for this. */
  readonly addInstance: (environment?: Readonly<Record<string, string>>) => Promise<void>;
  /** For files, and for servers that a situation adds: both end with it. */
  readonly folder: string;
  readonly stack: AsyncDisposableStack;
  /** What keeps breaking something, until the repair. */
  readonly timers: Set<NodeJS.Timeout>;
  /** The indexers' clocks are ahead by this. */
  aheadMs: number;
  /** The client of the further requests, 25 a second. */
  crawler: string | undefined;
}

/** Requests of clients in addition to the usual ones. */
export interface Asks {
  readonly everyMs: number;
  /** Default: another one of a hundred each time. */
  readonly client?: string;
  readonly target: (place: number) => string;
  /** For the Streaming API: the client leaves with the head of its answer. */
  readonly isStream?: boolean;
}

/** What goes wrong, and for the table. */
export interface Situation {
  /** Builds more servers before the first instance starts; resolves with what that gives to its environment. */
  readonly around?: (scene: Scene) => Promise<Readonly<Record<string, string>>>;
  readonly cause: (scene: Scene) => unknown;
  /** The repair, in addition to {@link repair}. `none`: what is broken cannot be repaired. */
  readonly end?: ((scene: Scene) => unknown) | 'none';
  /** The level that the page must not be worse than, and must reach; default: any. */
  readonly level?: (typeof LEVELS)[number];
  /** What the first line cannot show, in words. */
  readonly also?: (scene: Scene) => string;
  readonly asks?: readonly Asks[];
  /** True if there are only these requests. */
  readonly isQuiet?: boolean;
  /** The chain begins this long before; default 24 s. */
  readonly historyMs?: number;
  /** The number of instances; default 1. */
  readonly instances?: number;
  /** The number of indexers; default 1. */
  readonly indexers?: number;
  /** The file of settings. */
  readonly settings?: object;
  /** The first line is awaited this long; default 30. */
  readonly withinSeconds?: number;
}

/** The ports of indexers that were closed. */
const closed = new WeakMap<Indexer, number>();

export async function closeIndexer(indexer: Indexer): Promise<void> {
  closed.set(indexer, indexer.port);
  await indexer.close();
}

/** Ends all that breaks the indexers. */
export async function repair(scene: Scene): Promise<void> {
  for (const timer of scene.timers) clearInterval(timer);
  scene.aheadMs = 0;
  scene.crawler = undefined;
  scene.indexers = await Promise.all(
    scene.indexers.map(async (indexer) => {
      indexer.faults.clear();
      indexer.faults.latencyMs = 0;
      for (const replica of indexer.replicas) replica.lag(0);
      const port = closed.get(indexer);
      if (port === undefined) return indexer;
      const again = await startIndexer({ port, chain: indexer.chain });
      scene.stack.defer(() => again.close());
      return again;
    }),
  );
}
