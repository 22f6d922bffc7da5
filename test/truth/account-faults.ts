import { setTimeout as delay } from 'node:timers/promises';
import type { Faults } from '../../src/tools/simulator/faults.ts';
import type { DatabasePart } from '../../src/tools/simulator/indexer.ts';
import type { Fault } from './fault.ts';
import { AHEAD_MS, ALWAYS_LAGS_MS, BATCHED_BLOCKS, BLOCK_MS } from './world.ts';

const LAG_MS = 2000;
/** Longer than the interval at which accounts are polled. */
const LAGS_FOR_MS = 7000;

/** A block is missing, or its rounds are out of order, for this long, ms. */
const [MISSING_MS, OUT_OF_ORDER_MS] = [4000, 1400];

/** A change in the future begins when the checker has reached it. Afterwards the proof has to come back. */
const SEEN_AFTER_MS = AHEAD_MS + 3000;

const BATCHES_LAST_MS = BATCHED_BLOCKS * BLOCK_MS;

const HANGS_MS = 4000;

/** Longer than a circuit breaker stays open after a trial that failed: then an indexer that is back gets requests again. */
const NOTICED_MS = 8000;

interface FailoverCourse {
  /** Before it, so that answers are proven. */
  readonly calmMs: number;
  readonly lostBlocks: number;
  /** No indexer answers. */
  readonly silentMs: number;
  /** Then the database stands still for this long. */
  readonly olderMs: number;
}

const FAILOVER: FailoverCourse = { calmMs: 12_000, lostBlocks: 90, silentMs: 46_000, olderMs: 8000 };

/**
 * The rest after a fault during which no blocks can be read or settled. An instance that cannot read blocks for half of the time
 * stops reading them for minutes, and nothing would be proven when the fault comes again.
 */
const NOT_READ_REST_MS = 16_000;

const NAMES: Readonly<Record<DatabasePart, string>> = { blocks: 'pages', accounts: 'answers', jettons: 'jettons' };

/** One of two replicas is behind in only a part of its database. */
function lagOf(part: DatabasePart, balances: Faults['balances']): Fault {
  return {
    name: `${NAMES[part]}-lag${balances === 'connections' ? '-by-connection' : ''}`,
    excuses: { lagMs: LAG_MS },
    lastsMs: LAGS_FOR_MS,
    ...(part !== 'accounts' && { restMs: NOT_READ_REST_MS }),
    settlesMs: 2 * LAG_MS,
    begin: async ({ indexer: { faults, replicas } }) => {
      const [, replica] = replicas;
      faults.balances = balances;
      replica?.lagPart(part, LAG_MS);
      return () => {
        replica?.lagPart(part, 0);
        faults.balances = 'requests';
      };
    },
  };
}

/** A failover. What blocks proved of the older state is outdated as soon as the database has everything again. */
function failover({ calmMs, lostBlocks, silentMs, olderMs }: FailoverCourse): Fault {
  return {
    name: 'failover',
    excuses: { refusals: true, overlaps: true },
    lastsMs: calmMs + silentMs + olderMs,
    restMs: NOT_READ_REST_MS,
    settlesMs: 2 * HANGS_MS,
    begin: async (world) => {
      const ending = new AbortController();
      const course = async ({ signal } = ending) => {
        await delay(calmMs, undefined, { signal });
        world.failOver(lostBlocks, silentMs + olderMs);
        const silences = world.indexers.map(({ faults }) => faults.inject({ kind: 'reset' }));
        await delay(silentMs, undefined, { signal }).finally(() => {
          for (const silence of silences) silence.remove();
        });
      };
      const ended = course().catch(() => {});
      return () => {
        ending.abort();
        return ended;
      };
    },
  };
}

/** Faults of the blocks, and of the answers about accounts that they prove. */
export const FAULTS_OF_ACCOUNTS: readonly Fault[] = [
  lagOf('accounts', 'requests'),
  lagOf('accounts', 'connections'),
  lagOf('blocks', 'requests'),
  lagOf('blocks', 'connections'),
  lagOf('jettons', 'requests'),
  failover(FAILOVER),
  {
    name: 'rounds-of-accounts-out-of-order',
    lastsMs: SEEN_AFTER_MS + OUT_OF_ORDER_MS,
    begin: async (world) => {
      world.delayBlock(OUT_OF_ORDER_MS);
      return () => {};
    },
  },
  {
    name: 'rounds-in-batches',
    lastsMs: SEEN_AFTER_MS + BATCHES_LAST_MS,
    begin: async (world) => {
      world.indexInBatches();
      return () => {};
    },
  },
  {
    name: 'block-missing',
    lastsMs: SEEN_AFTER_MS + MISSING_MS,
    begin: async (world) => {
      world.delayBlock(MISSING_MS);
      return () => {};
    },
  },
  {
    name: 'block-full',
    lastsMs: SEEN_AFTER_MS,
    begin: async (world) => {
      world.fillBlock();
      return () => {};
    },
  },
  {
    name: 'indexer-hangs',
    excuses: { refusals: true, overlaps: true },
    lastsMs: HANGS_MS,
    restMs: NOT_READ_REST_MS,
    settlesMs: 2 * HANGS_MS,
    begin: async ({ indexer }) => {
      const gate = indexer.hold();
      return () => gate.release();
    },
  },
  {
    name: 'newest-indexer-dies',
    twoIndexers: true,
    begin: async ({ indexer, indexers: [, second] }) => {
      const down = indexer.faults.inject({ kind: 'reset' });
      // While the second indexer is alone, nothing shows which traces have ended. So it lists only pending ones then, and
      // until toncache has noticed that the newest one is back.
      const lag = (wholeMs: number, partMs: number) => {
        second?.replicas[0].lagDatabase(wholeMs);
        for (const part of ['blocks', 'accounts'] as const) second?.replicas[0].lagPart(part, partMs);
      };
      lag(0, ALWAYS_LAGS_MS);
      return async () => {
        down.remove();
        await delay(NOTICED_MS);
        lag(ALWAYS_LAGS_MS, 0);
      };
    },
  },
];
