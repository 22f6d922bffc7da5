import type { BlockJudge, FollowerState } from '../answer/block-proof.ts';
import { Indexers } from '../answer/indexers.ts';
import { EntryLoader } from '../answer/load-entry.ts';
import type { BlockProof, FollowerParts } from '../compose/attached-proof.ts';
import type { AppContext } from '../compose/context.ts';
import { RETRIES, RetryBudget } from '../fleet/retry-budget.ts';
import type { Ms } from '../time-units.ts';
import { BlockFollower } from './block-follower.ts';
import { FollowerAdmission } from './follower-admission.ts';
import { COST_OF_BLOCKS, FollowerSwitch } from './follower-switch.ts';
import { FOLLOWED, IndexerBlocks } from './indexer-blocks.ts';
import { IndexerOwners, LOOKED_UP } from './indexer-owners.ts';
import { type Owners, openOwners } from './owners.ts';
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

/**
 * The maximum look-ups of owners a second, and all other requests of the follower meanwhile: together a few more than
 * without, so that blocks are read as fast.
 */
const [LOOK_UPS_PER_SECOND, PER_SECOND_WITH_LOOK_UPS] = [4, 11];

/** Look-ups use at most this part of the follower's rate. */
const LOOK_UPS_SHARE = 1 / 4;

/** The rate of a look-up that waits while the look-ups are switched off: its answer is dropped. */
const LEAST_PER_SECOND = 1;

/** The follower has this many requests under way at each indexer, and this many more may wait. */
const [SLOTS, MOST_WAITING] = [2, 2];

/** Look-ups of owners have a slot of their own, so that no block waits for them. */
const LOOK_UP_SLOTS = 1;

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
  const { lifetime: liveMs } = context.lifetimes.accountLive;
  const demand = new ProofDemand({ now: monotonic, liveMs, boundMs: Math.min(...bounds) });
  const owners = openOwners(context, touches, blocks, () => demand.takeOfOwners());
  const proofs = new Proofs({ touches, blocks, owners, now: monotonic, boundsMs });
  const worth = new FollowerSwitch({
    now: monotonic,
    takePolls: () => demand.take(),
    expectedCost: COST_OF_BLOCKS,
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
    owners?.lookWhetherItPays(worth.isOn);
    if (worth.isOn === isOn) return;
    proofs.switched(worth.isOn);
    if (isOn) follower?.stop();
    events.report({ name: 'block-follower', state: worth.state });
  };
  return {
    proofs,
    demand: {
      answered: (...poll) => demand.answered(...poll),
      servedBlock: (seqno) => proofs.servedBlock(seqno),
    },
    blocks,
    get state() {
      return worth.state;
    },
    start: (parts) => {
      const sources = openSources(context, parts, { worth, owners, proofs }, () => follower?.isCatchingUp === true);
      const { lookUps } = owners ?? {};
      owners?.start(sources.owners);
      const { blocks: source } = sources;
      follower = new BlockFollower({ source, blocks, proofs, lookUps, now: monotonic, onBug: events.reportBug });
      const begin = () => {
        if (!worth.isOn) return;
        follower?.tick();
        lookUps?.tick();
      };
      timers.push(setInterval(begin, TICK_MS).unref(), setInterval(lookWhetherItPays, SECOND_MS).unref());
    },
    forget: () => follower?.beginAnew(),
    close: () => timers.forEach(clearInterval),
  };
}

/**
 * Reads blocks like a client, and looks up owners, but with an admission of their own, and outside of the counts of
 * clients' requests.
 */
function openSources(
  { settings, monotonic, now }: AppContext,
  { indexers, ask, load, flights, instances }: FollowerParts,
  { worth, owners, proofs }: { worth: FollowerSwitch; owners: Owners | undefined; proofs: Proofs },
  isCatchingUp: () => boolean,
) {
  const { requestsPerSecond = Number.POSITIVE_INFINITY, timeout: timeoutMs } = settings.upstream;
  const { network } = settings;
  const share = () => (SHARE_OF_RATE * requestsPerSecond) / instances();
  const lookUpsPerSecond = () =>
    owners?.lookUps.isOn === true ? Math.min(LOOK_UPS_PER_SECOND, LOOK_UPS_SHARE * share()) : 0;
  const common = {
    takeNext: async (index: number) => (await indexers.all[index]?.takeNext()) === true,
    now: monotonic,
  };
  // Its answers are shown to clients when they are sent from the cache.
  const seen: BlockJudge = {
    get unreadFrom() {
      return proofs.unreadFrom;
    },
    get mark() {
      return proofs.mark;
    },
    shown: (rows) => proofs.seen(rows),
    proofOf: () => undefined,
  };
  const openAsk = (admission: FollowerAdmission) => {
    const retries = new RetryBudget({ now: monotonic }, RETRIES);
    return new Indexers({ ...ask, proofs: seen, admission, retries, hedging: undefined });
  };
  const ofBlocks = new FollowerAdmission({
    ...common,
    admission: indexers.admissionAhead(FOLLOWED, SLOTS, MOST_WAITING),
    perSecond: () => {
      const most = lookUpsPerSecond() > 0 ? PER_SECOND_WITH_LOOK_UPS : PER_SECOND;
      return Math.min(isCatchingUp() ? CATCHING_UP_PER_SECOND : most, share() - lookUpsPerSecond());
    },
    onSent: () => worth.sent(),
  });
  const ofOwners = new FollowerAdmission({
    ...common,
    admission: indexers.admissionAhead(LOOKED_UP, LOOK_UP_SLOTS, LOOK_UP_SLOTS),
    perSecond: () => Math.max(lookUpsPerSecond(), LEAST_PER_SECOND),
    onSent: () => {
      worth.sent();
      owners?.worth.sent();
    },
  });
  const askable = openAsk(ofBlocks);
  return {
    blocks: new IndexerBlocks({
      network,
      cache: load.cache,
      flights,
      // Its loads are counted by nobody: they are no clients' requests.
      loader: new EntryLoader({ ...load, admission: ofBlocks, indexers: askable, report: () => {} }),
      indexers: askable,
      admission: ofBlocks,
      bodies: indexers.answerBodies,
      timeoutMs,
      onAnswered: () => worth.answered(),
      onRows: (rows) => worth.loadedRows(rows),
      now,
      monotonic,
    }),
    owners: new IndexerOwners({
      network,
      indexers: openAsk(ofOwners),
      admission: ofOwners,
      onAnswered: () => owners?.worth.answered(),
    }),
  };
}
