import { FollowerAdmission } from '../admission/follower-admission.ts';
import type { ProxyEvent } from '../answer/events.ts';
import { IndexerBlocks } from '../answer/indexer-blocks.ts';
import { Indexers, type IndexersDependencies } from '../answer/indexers.ts';
import { EntryLoader, type EntryLoaderDependencies, type Load } from '../answer/load-entry.ts';
import { BlockFollower } from '../chain/block-follower.ts';
import { type FollowerState, FollowerSwitch } from '../chain/follower-switch.ts';
import { ProofDemand } from '../chain/proof-demand.ts';
import { Proofs, SEEN_BEFORE_MS } from '../chain/proofs.ts';
import { ReadBlocks } from '../chain/read-blocks.ts';
import { Touches } from '../chain/touches.ts';
import { RETRIES, RetryBudget } from '../indexer/retry-budget.ts';
import type { SingleFlight } from '../once/single-flight.ts';
import type { Ms } from '../time-units.ts';
import type { AppContext } from './context.ts';
import type { OpenIndexers } from './indexers.ts';

/** The bound on the memory of touches. */
const MAX_TOUCH_BYTES = 64 * 1024 * 1024;

/** The interval at which the follower checks for due work. Each of its answers does so, too. */
const TICK_MS: Ms = 50;

const SECOND_MS: Ms = 1000;

/**
 * The maximum requests a second of the follower, and while it catches up. A round of exactly 10 or 100 blocks takes three
 * requests, as many as its list can hide; 2.5 such rounds and the head polls are 9.7 a second.
 */
const [PER_SECOND, CATCHING_UP_PER_SECOND] = [12, 24];

/** The followers of all instances together use at most this part of the rate of an indexer. */
const SHARE_OF_RATE = 1 / 2;

/** The parts that load blocks, shared with clients' requests. */
export interface FollowerParts {
  readonly indexers: OpenIndexers;
  readonly ask: IndexersDependencies;
  readonly load: EntryLoaderDependencies;
  readonly flights: SingleFlight<Load>;
  /** The number of instances on one Redis, including this one. */
  readonly instances: () => number;
}

/** Proves kept answers by blocks. */
export type BlockProof = NonNullable<ReturnType<typeof openBlockProof>>;

const STATES = Object.keys({ alive: 1, behind: 1, idle: 1, resting: 1 } satisfies Record<FollowerState, 1>);

/**
 * Builds it; `undefined` if no operation in use has answers that blocks can prove. `provable` returns the number of
 * kept answers that blocks may prove.
 */
export function openBlockProof(context: AppContext, provable: () => number) {
  const { settings, operations, monotonic, events, metrics } = context;
  if (!operations.all.some(({ evidence }) => evidence !== undefined)) return undefined;
  const boundsMs = { withNames: settings.proof.maxAge, plain: settings.proof.maxAgePlain };
  const bounds = Object.values(boundsMs);
  const keptMs = Math.max(...bounds) + SEEN_BEFORE_MS;
  const touches = new Touches({ now: monotonic, keptMs, maxBytes: MAX_TOUCH_BYTES });
  const blocks = new ReadBlocks();
  const proofs = new Proofs({ touches, blocks, now: monotonic, boundsMs });
  const { lifetime: liveMs } = context.lifetimes.accountLive;
  const demand = new ProofDemand({ now: monotonic, liveMs, boundMs: Math.min(...bounds) });
  const worth = new FollowerSwitch({
    now: monotonic,
    takePolls: () => demand.take(),
    isAlive: () => proofs.isAlive,
  });
  for (const state of STATES) {
    const help = '1 for the state of the block follower, 0 for the others.';
    metrics.gauge('block_follower_state', help, () => Number(worth.state === state), { state });
  }
  const newest = 'The newest masterchain block that the follower has read; 0 while none is.';
  metrics.gauge('block_follower_seqno', newest, () => Math.max(0, blocks.newestRead));
  metrics.gauge('proof_entries', 'Answers in the memory tier that blocks may prove.', provable);
  let follower: BlockFollower | undefined;
  const timers: NodeJS.Timeout[] = [];
  const lookWhetherItPays = () => {
    const { isOn } = worth;
    worth.tick();
    if (worth.isOn === isOn) return;
    proofs.switched(worth.isOn);
    if (isOn) follower?.stop();
    events.report({ name: 'block-follower', state: worth.state });
  };
  return {
    proofs,
    demand,
    blocks,
    touches,
    /** For operators. */
    get state() {
      return worth.state;
    },
    /** From now on blocks are followed while that pays. Call once. */
    start: (parts: FollowerParts): void => {
      const source = openSource(context, parts, worth, () => follower?.isCatchingUp === true);
      follower = new BlockFollower({ source, blocks, proofs, now: monotonic, onBug: events.reportBug });
      const begin = () => worth.isOn && follower?.tick();
      timers.push(setInterval(begin, TICK_MS).unref(), setInterval(lookWhetherItPays, SECOND_MS).unref());
    },
    /** Call when the clock has jumped, or everything was purged: no earlier answer is proven. */
    forget: (): void => follower?.beginAnew(),
    close: (): void => timers.forEach(clearInterval),
  };
}

/** Reads blocks like a client, but with its own admission, and outside of the counts of clients' requests. */
function openSource(
  { settings, monotonic, now, events }: AppContext,
  { indexers, ask, load, flights, instances }: FollowerParts,
  worth: FollowerSwitch,
  isCatchingUp: () => boolean,
): IndexerBlocks {
  const { requestsPerSecond = Number.POSITIVE_INFINITY, timeout: timeoutMs } = settings.upstream;
  const admission = new FollowerAdmission({
    admission: indexers.followerAdmission,
    perSecond: () =>
      Math.min(isCatchingUp() ? CATCHING_UP_PER_SECOND : PER_SECOND, (SHARE_OF_RATE * requestsPerSecond) / instances()),
    takeNext: async (index) => (await indexers.all[index]?.takeNext()) === true,
    onSent: () => worth.sent(),
    now: monotonic,
  });
  const report = (event: ProxyEvent) => event.name === 'upstream-useless' && events.report(event);
  const retries = new RetryBudget({ now: monotonic }, RETRIES);
  const askable = new Indexers({ ...ask, admission, retries, report, hedging: undefined });
  return new IndexerBlocks({
    network: settings.network,
    cache: load.cache,
    flights,
    loader: new EntryLoader({ ...load, admission, indexers: askable, report }),
    indexers: askable,
    admission,
    bodies: indexers.answerBodies,
    timeoutMs,
    onAnswered: () => worth.answered(),
    onRows: (rows) => worth.loadedRows(rows),
    now,
    monotonic,
  });
}
