import type { FollowerState } from '../answer/block-proof.ts';
import { Indexers } from '../answer/indexers.ts';
import { EntryLoader } from '../answer/load-entry.ts';
import type { BlockProof, FollowerParts } from '../compose/attached-proof.ts';
import type { AppContext } from '../compose/context.ts';
import { RETRIES, RetryBudget } from '../fleet/retry-budget.ts';
import type { Ms } from '../time-units.ts';
import { BlockFollower } from './block-follower.ts';
import { FollowerAdmission } from './follower-admission.ts';
import { FollowerSwitch } from './follower-switch.ts';
import { FOLLOWED, IndexerBlocks } from './indexer-blocks.ts';
import { ProofDemand } from './proof-demand.ts';
import { Proofs, SEEN_BEFORE_MS } from './proofs.ts';
import { ReadBlocks } from './read-blocks.ts';
import { Touches } from './touches.ts';

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

/** The follower has this many requests under way at each indexer, and this many more may wait. */
const [SLOTS, MOST_WAITING] = [2, 2];

/** The followers of all instances together use at most this part of the rate of an indexer. */
const SHARE_OF_RATE = 1 / 2;

const STATES = Object.keys({ alive: 1, behind: 1, idle: 1, resting: 1 } satisfies Record<FollowerState, 1>);

/** Builds the proof of answers by blocks; `undefined` if no operation in use has answers that blocks can prove. */
export function openBlockProof(context: AppContext): BlockProof | undefined {
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
    get state() {
      return worth.state;
    },
    start: (parts) => {
      const source = openSource(context, parts, worth, () => follower?.isCatchingUp === true);
      follower = new BlockFollower({ source, blocks, proofs, now: monotonic, onBug: events.reportBug });
      const begin = () => worth.isOn && follower?.tick();
      timers.push(setInterval(begin, TICK_MS).unref(), setInterval(lookWhetherItPays, SECOND_MS).unref());
    },
    forget: () => follower?.beginAnew(),
    close: () => timers.forEach(clearInterval),
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
    admission: indexers.admissionAhead(FOLLOWED, SLOTS, MOST_WAITING),
    perSecond: () =>
      Math.min(isCatchingUp() ? CATCHING_UP_PER_SECOND : PER_SECOND, (SHARE_OF_RATE * requestsPerSecond) / instances()),
    takeNext: async (index) => (await indexers.all[index]?.takeNext()) === true,
    onSent: () => worth.sent(),
    now: monotonic,
  });
  const retries = new RetryBudget({ now: monotonic }, RETRIES);
  const askable = new Indexers({ ...ask, admission, retries, hedging: undefined });
  return new IndexerBlocks({
    network: settings.network,
    cache: load.cache,
    flights,
    // Its loads are counted by nobody: they are no clients' requests.
    loader: new EntryLoader({ ...load, admission, indexers: askable, report: () => {} }),
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
