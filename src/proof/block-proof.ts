import { askWith } from '../answer/ask.ts';
import type { BlockJudge, FollowerState } from '../answer/block-proof.ts';
import { loaderWith } from '../answer/load.ts';
import { headKeyOf } from '../cache/redis-keys.ts';
import type { BlockProof, FollowerParts } from '../compose/attached-proof.ts';
import type { AppContext } from '../compose/context.ts';
import { RETRIES, RetryBudget } from '../fleet/retry-budget.ts';
import type { Ms } from '../time-units.ts';
import type { Call } from '../ton/parse-call.ts';
import { BlockFollower } from './block-follower.ts';
import { FollowerAdmission } from './follower-admission.ts';
import { COST_OF_BLOCKS, FollowerSwitch } from './follower-switch.ts';
import { FOLLOWED, IndexerBlocks } from './indexer-blocks.ts';
import { IndexerOwners, LOOKED_UP } from './indexer-owners.ts';
import { type Owners, openOwners } from './owners.ts';
import { ProofDemand } from './proof-demand.ts';
import { Proofs, SEEN_BEFORE_MS } from './proofs.ts';
import { Quiet } from './quiet.ts';
import { ReadBlocks } from './read-blocks.ts';
import { SharedHeads } from './shared-heads.ts';
import { Touches } from './touches.ts';

/** The longest time for which an answer with interfaces or claims is proven. */
const LONGEST_WITH_CLAIMS_MS: Ms = 60_000;

/** The bound on the memory of touches. */
const MAX_TOUCH_BYTES = 64 * 1024 * 1024;

/** The interval at which the follower checks for due work. Each of its answers does so, too. */
const TICK_MS: Ms = 50;

const SECOND_MS: Ms = 1000;

/**
 * The maximum requests a second of the follower, and while it catches up. A block takes one request, and one that has to
 * be counted two or three; 2.5 of those and the head polls are 9.7 a second.
 */
const [PER_SECOND, CATCHING_UP_PER_SECOND] = [12, 24];

/**
 * The maximum look-ups of owners a second, and all other requests of the follower meanwhile. Each of 2.5 blocks takes a
 * look-up of wallets, and one of states if it has none; the rest is for those that are repeated.
 */
const [LOOK_UPS_PER_SECOND, PER_SECOND_WITH_LOOK_UPS] = [8, 11];

/** Look-ups use at most this part of the follower's rate. */
const LOOK_UPS_SHARE = 1 / 4;

/** The rate of look-ups while blocks are read back; and of one that waits while look-ups are off: its answer is dropped. */
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
  const { maxAge, methods } = settings.proof;
  const boundsMs = { plain: maxAge, withClaims: Math.min(maxAge, LONGEST_WITH_CLAIMS_MS) };
  const touches = new Touches({ now: monotonic, keptMs: maxAge + SEEN_BEFORE_MS, maxBytes: MAX_TOUCH_BYTES });
  const blocks = new ReadBlocks();
  const { lifetime: liveMs } = context.lifetimes.accountLive;
  const demand = new ProofDemand({ now: monotonic, liveMs, boundMs: boundsMs.withClaims });
  let started: FollowerParts | undefined;
  const sharing = (what: 'blocks' | 'owners') => () => ({
    all: started?.instances() ?? 1,
    withPolls: started?.exchange.instancesPolling(what) ?? 1,
  });
  const owners = openOwners(context, touches, blocks, () => demand.takeOfOwners(), sharing('owners'));
  const runsMethods = operations.all.some(({ method }) => method !== undefined);
  const quiet =
    runsMethods && methods.length > 0 ? new Quiet({ touches, methods, boundMs: maxAge, now: monotonic }) : undefined;
  const proofs = new Proofs({ touches, blocks, owners, quiet, now: monotonic, boundsMs });
  const worth = new FollowerSwitch({
    now: monotonic,
    takePolls: () => demand.take(),
    expectedCost: COST_OF_BLOCKS,
    isBeginning: () => proofs.isBeginning,
    isAlive: () => proofs.isAlive,
    instances: sharing('blocks'),
  });
  for (const state of STATES) {
    const help = '1 for the current state of the block follower, 0 for the other states.';
    metrics.gauge('block_follower_state', help, () => Number(worth.state === state), { state });
  }
  const newest = 'The newest masterchain block that the follower has read; 0 before the first one.';
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
      answered: (call, { key, etag }, isProven) => {
        const method = call.operation.method?.(call.request);
        if (method !== undefined && quiet?.proves(method) !== true) return;
        const ofOwner = isOfOwner(call);
        // While look-ups begin, they count as proven: blocks are read for them, too.
        demand.answered(key, etag, ofOwner, isProven || (ofOwner && owners?.isBeginning === true));
      },
      refused: (call, key) => demand.refused(key, isOfOwner(call)),
      servedBlock: (seqno) => proofs.servedBlock(seqno),
    },
    blocks,
    get state() {
      return worth.state;
    },
    start: (parts) => {
      started = parts;
      parts.exchange.say(() => [
        ...(worth.hasPolls ? ['blocks'] : []),
        ...(owners?.worth.hasPolls === true ? ['owners'] : []),
      ]);
      const sources = openSources(context, parts, { worth, owners, proofs }, () => follower?.isCatchingUp === true);
      const { lookUps } = owners ?? {};
      owners?.start(sources.owners);
      follower = new BlockFollower({
        source: sources.blocks,
        blocks,
        proofs,
        lookUps,
        now: monotonic,
        // An entry of the only indexer does not name it.
        onPagesCut: (indexer) =>
          events.report({ name: 'pages-cut', indexer: indexer || (parts.indexers.all[0]?.name ?? '') }),
        onBug: events.reportBug,
      });
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

/** True if an answer needs look-ups of owners. */
const isOfOwner = ({ operation, request }: Call) => operation.touchedBy?.(request) !== undefined;

/**
 * Reads blocks like a client, and looks up owners, but with an admission of their own, and outside of the counts of
 * clients' requests.
 */
function openSources(
  { settings, monotonic, now }: AppContext,
  { indexers, ask, load, flights, redis, instances, isClockShared }: FollowerParts,
  { worth, owners, proofs }: { worth: FollowerSwitch; owners: Owners | undefined; proofs: Proofs },
  isCatchingUp: () => boolean,
) {
  const { requestsPerSecond = Number.POSITIVE_INFINITY, timeout: timeoutMs } = settings.upstream;
  const { network } = settings;
  const share = () => (SHARE_OF_RATE * requestsPerSecond) / instances();
  // The blocks of a beginning come first: until they are read, no look-up proves anything.
  const lookUpsPerSecond = () =>
    owners?.lookUps.isOn === true && !proofs.isBeginning ? Math.min(LOOK_UPS_PER_SECOND, LOOK_UPS_SHARE * share()) : 0;
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
    return askWith({ ...ask, proofs: seen, admission, retries, hedging: undefined });
  };
  const ofBlocks = new FollowerAdmission({
    ...common,
    admission: indexers.admissionAhead(FOLLOWED, SLOTS, MOST_WAITING),
    perSecond: () => {
      const most = lookUpsPerSecond() > 0 ? PER_SECOND_WITH_LOOK_UPS : PER_SECOND;
      return Math.min(isCatchingUp() ? CATCHING_UP_PER_SECOND : most, share() - lookUpsPerSecond());
    },
  });
  const ofOwners = new FollowerAdmission({
    ...common,
    admission: indexers.admissionAhead(LOOKED_UP, LOOK_UP_SLOTS, LOOK_UP_SLOTS),
    perSecond: () => Math.max(lookUpsPerSecond(), LEAST_PER_SECOND),
  });
  const [askForBlocks, askForOwners] = [openAsk(ofBlocks), openAsk(ofOwners)];
  return {
    blocks: new IndexerBlocks({
      network,
      cache: load.cache,
      flights,
      // Its loads are counted by nobody: they are no clients' requests.
      load: loaderWith({ ...load, admission: ofBlocks, ask: askForBlocks, report: () => {} }),
      ask: askForBlocks,
      admission: ofBlocks,
      bodies: indexers.answerBodies,
      shared:
        redis &&
        new SharedHeads({
          redis: redis.connection,
          redisKey: headKeyOf(
            network,
            indexers.all.map(({ name }) => name),
          ),
          isClockShared,
          budgetMs: settings.redis.budget,
          now,
          monotonic,
        }),
      onNeeded: () => worth.needed(),
      timeoutMs,
      onAnswered: () => worth.answered(),
      onRows: (rows) => worth.loadedRows(rows),
      now,
      monotonic,
    }),
    owners: new IndexerOwners({
      network,
      cache: load.cache,
      flights,
      load: loaderWith({ ...load, admission: ofOwners, ask: askForOwners, report: () => {} }),
      ask: askForOwners,
      admission: ofOwners,
      timeoutMs,
      onAnswered: () => owners?.worth.answered(),
      onNeeded: () => {
        worth.needed();
        owners?.worth.needed();
      },
    }),
  };
}
