import fc from 'fast-check';
import type { Entry } from '../../src/cache/entry.ts';
import type { RedisTier } from '../../src/cache/redis-tier.ts';
import type { TieredCache } from '../../src/cache/tiered-cache.ts';
import { isDatedAhead } from '../../src/freshness.ts';
import type { Proofs } from '../../src/proof/proofs.ts';
import type { BlockRow } from '../../src/ton/block-facts.ts';
import { anEntry, bodyOf, NOTHING_PURGED } from '../support/entry.ts';

/** The parts of the product that the model runs: those of `src`, or of a copy with a broken rule. */
export type Parts = typeof import('../../src/answer/body-facts.ts') &
  typeof import('../../src/answer/redis-judge.ts') &
  typeof import('../../src/cache/entry-codec.ts') &
  typeof import('../../src/cache/memory-tier.ts') &
  typeof import('../../src/cache/tiered-cache.ts') &
  typeof import('../../src/proof/proofs.ts') &
  typeof import('../../src/proof/quiet.ts') &
  typeof import('../../src/proof/touches.ts') &
  typeof import('../../src/ton/lifetime-table.ts') &
  typeof import('../../src/ton/operations/run-get-method.ts');

/** The parts in a folder with `src`, as a URL that ends in a slash. */
export async function partsIn(root: URL): Promise<Parts> {
  const files = [
    ...['answer/body-facts', 'answer/redis-judge', 'cache/entry-codec', 'cache/memory-tier', 'cache/tiered-cache'],
    ...['proof/proofs', 'proof/quiet', 'proof/touches', 'ton/lifetime-table', 'ton/operations/run-get-method'],
  ];
  return Object.assign({}, ...(await Promise.all(files.map((file) => import(new URL(`src/${file}.ts`, root).href)))));
}

/** A transaction of the account. Times are in milliseconds, from the one before or of the one event to the next. */
interface PlannedTransaction {
  readonly afterMs: number;
  /** From its execution to its commit by the indexer. */
  readonly commitMs: number;
  /** For each instance. */
  readonly read: readonly PlannedRead[];
  /** Its effect on the data of the account, which never become the same again. Each transaction also changes the balance. */
  readonly changesData: boolean;
  /** The hashes that its row lacks. */
  readonly lacks: 'none' | 'before' | 'after' | 'both';
  /** It is in the shard block of the one before. */
  readonly isInSameBlock: boolean;
}

interface PlannedRead {
  /** From its commit to the reading of its block. */
  readonly readMs: number;
  /** It is shown by an answer before its block is read. */
  readonly isShown: boolean;
}

interface PlannedPoll {
  readonly afterMs: number;
  readonly method: Method;
  /** The place of the instance. */
  readonly at: number;
  /** How far the lite server lags behind the indexer; below 0 it has executed everything. */
  readonly lagMs: number;
  readonly takesMs: number;
  /** How Redis serves the read: the last value, an older one, or none. */
  readonly redis: 'last' | 'older' | 'lost';
}

export interface QuietSchedule {
  readonly transactions: readonly PlannedTransaction[];
  readonly polls: readonly PlannedPoll[];
  /** By this the clock of the second instance is ahead. */
  readonly aheadMs: number;
  /** Values in Redis are visible this long after they were written. */
  readonly delayMs: number;
}

/** The first reads data, the second data and balance, the third the time. */
const METHODS = ['get_wallet_address', 'get_wallet_data', 'get_jetton_data'] as const;
type Method = (typeof METHODS)[number];

/** By this method, the time is read in steps that are shorter than the time between two equal answers. */
const TIME_STEP_MS = 2500;
const ACCOUNT = '0:AB';
const EPOCH_MS = 1_700_000_000_000;
const INSTANCES = 2;
/** The longest lag of a lite server, less the difference between the clocks of instances. */
const CLOCKS_DIFFER_BY_MS = 200;
const LONGEST_LAG_MS = 62_000 - CLOCKS_DIFFER_BY_MS;

const steps = (most: number) => fc.integer({ min: 0, max: most / 100 }).map((count) => count * 100);
const lagMs = fc.oneof(
  { arbitrary: fc.constant(-1), weight: 2 },
  { arbitrary: steps(1000), weight: 3 },
  { arbitrary: steps(LONGEST_LAG_MS), weight: 2 },
  { arbitrary: fc.constant(LONGEST_LAG_MS), weight: 1 },
);

export const quietSchedules: fc.Arbitrary<QuietSchedule> = fc.record({
  transactions: fc.array(
    fc.record({
      afterMs: fc.oneof(steps(2000), steps(60_000), steps(130_000)),
      commitMs: fc.oneof(steps(1000), steps(8000)),
      read: fc.array(fc.record({ readMs: steps(1000), isShown: fc.boolean() }), {
        minLength: INSTANCES,
        maxLength: INSTANCES,
      }),
      changesData: fc.boolean(),
      lacks: fc.constantFrom('none' as const, 'none' as const, 'before' as const, 'after' as const, 'both' as const),
      isInSameBlock: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
  polls: fc.array(
    fc.record({
      afterMs: fc.oneof(steps(300), steps(6000)),
      method: fc.constantFrom(...METHODS),
      at: fc.nat({ max: INSTANCES - 1 }),
      lagMs,
      takesMs: steps(600),
      redis: fc.constantFrom('last' as const, 'last' as const, 'older' as const, 'lost' as const),
    }),
    { minLength: 40, maxLength: 120 },
  ),
  aheadMs: fc.constantFrom(0, CLOCKS_DIFFER_BY_MS, -CLOCKS_DIFFER_BY_MS),
  delayMs: fc.constantFrom(0, 200, 5000),
});

/** A transaction with the instants of its life; those of its reading are of each instance. */
interface LivedTransaction {
  readonly at: number;
  readonly seenAt: readonly number[];
  readonly readAt: readonly number[];
  readonly row: BlockRow;
}

/** The transactions in the order of their execution. Those of one block are read together, blocks in any order. */
function livedOf(planned: readonly PlannedTransaction[]): readonly LivedTransaction[] {
  const lived: LivedTransaction[] = [];
  let [at, data, block] = [0, 0, 0];
  let readAt: readonly number[] = [];
  for (const [place, one] of planned.entries()) {
    const isFirst = place === 0 || !one.isInSameBlock;
    if (isFirst) {
      at += one.afterMs;
      block++;
      const committedAt = at + one.commitMs;
      readAt = one.read.map(({ readMs }) => committedAt + readMs);
    }
    const before = `code ${data}`;
    if (one.changesData) data++;
    const hashes = {
      before: one.lacks === 'before' || one.lacks === 'both' ? undefined : before,
      after: one.lacks === 'after' || one.lacks === 'both' ? undefined : `code ${data}`,
    };
    const row: BlockRow = {
      account: ACCOUNT,
      lt: BigInt(place + 1),
      hash: `hash ${place}`,
      now: Math.floor(at / 1000),
      seqno: block,
      state: { block: `block ${block}`, ...hashes },
    };
    const seenAt = readAt.map((read, place) => (one.read[place]?.isShown ? Math.min(read, at + one.commitMs) : read));
    lived.push({ at, seenAt, readAt, row });
  }
  return lived;
}

/** A result of a method: its transactions are the first ones. */
function resultOf(method: Method, transactions: readonly PlannedTransaction[], executed: number, at: number): string {
  const data = transactions.slice(0, executed).filter(({ changesData }) => changesData).length;
  if (method === 'get_jetton_data') return `${Math.floor(at / TIME_STEP_MS)}`;
  return method === 'get_wallet_address' ? `${data}` : `${data} ${executed}`;
}

/** The values of a key in Redis. After a failover it may have an older one. */
class Values {
  readonly #values: { readonly bytes: Buffer; readonly at: number }[] = [];

  write(bytes: Buffer, at: number): void {
    this.#values.push({ bytes, at });
  }

  read(now: number, how: PlannedPoll['redis']): Buffer | undefined {
    const visible = this.#values.filter(({ at }) => at <= now);
    return how === 'lost' ? undefined : visible.at(how === 'last' ? -1 : -2)?.bytes;
  }
}

interface Instance {
  readonly proofs: Proofs;
  readonly cache: TieredCache;
  readonly now: () => number;
}

const keyOf = (method: Method) => `main runGetMethod?address=${ACCOUNT}&method=${method}&stack=%5B%5D`;
const TAGS = [`account:${ACCOUNT}`];

/** Plays a schedule. `outdated`: the answers that were served, and lack a transaction that their instance had seen. */
export async function outdatedResults({ transactions, polls, aheadMs, delayMs }: QuietSchedule, parts: Parts) {
  let now = 0;
  let how: PlannedPoll['redis'] = 'last';
  const lived = livedOf(transactions);
  const monotonic = () => now;
  const redis = new Map<string, Values>();
  const open = (place: number): Instance => {
    const clock = () => EPOCH_MS + now + (place === 0 ? 0 : aheadMs);
    const touches = new parts.Touches({ now: monotonic, keptMs: 400_000, maxBytes: 1e9 });
    const isUnread = (seqno: number) =>
      lived.some(({ row, readAt }) => row.seqno === seqno && (readAt[place] ?? 0) > now);
    const blocks = {
      get mark() {
        return now;
      },
      isUnread,
      oldestUnread: 0,
    };
    const quiet = new parts.Quiet({ touches, methods: METHODS, boundMs: 60_000, now: monotonic });
    const boundsMs = { withClaims: 60_000, plain: 60_000 };
    const proofs = new parts.Proofs({ touches, blocks, quiet, now: monotonic, boundsMs });
    const bodies = {
      readShown: async (...read: Parameters<Parts['shownIn']>) => parts.shownIn(...read),
    };
    const tier = {
      get: async (key: string) => {
        const bytes = redis.get(key)?.read(now, how);
        const entry = bytes && parts.decodeEntry(bytes, key);
        return entry === undefined || isDatedAhead(entry, clock()) ? { state: 'absent' } : { state: 'found', entry };
      },
      set: (entry: Entry) => {
        const values = redis.get(entry.key) ?? new Values();
        redis.set(entry.key, values);
        values.write(parts.encodeEntry(entry, { coding: 'identity', body: bodyOf(entry) }), now + delayMs);
        return undefined;
      },
    };
    const cache = new parts.TieredCache({
      memory: new parts.MemoryTier({ now: clock, maxSizeBytes: 2 ** 24 }),
      redis: tier as unknown as RedisTier,
      purges: NOTHING_PURGED,
      hasReached: () => false,
      olderAnswers: { look: () => {} },
      judge: parts.judgeFromRedis({ proofs, bodies, now: clock, monotonic }),
      now: clock,
    });
    return { proofs, cache, now: clock };
  };
  now = -1_000_000;
  const instances = Array.from({ length: INSTANCES }, (_, place) => open(place));
  for (const { proofs } of instances) {
    proofs.switched(true);
    proofs.caughtUp();
  }

  const events: { readonly at: number; readonly happen: () => unknown }[] = [];
  for (const ofBlock of Map.groupBy(lived, ({ row }) => row.seqno).values()) {
    for (const [place, { proofs }] of instances.entries()) {
      const readAt = ofBlock[0]?.readAt[place] ?? 0;
      events.push({ at: readAt, happen: () => proofs.read(ofBlock.map(({ row }) => row)) });
      for (const { row, seenAt } of ofBlock)
        if ((seenAt[place] ?? 0) < readAt) events.push({ at: seenAt[place] ?? 0, happen: () => proofs.shown([row]) });
    }
  }

  const loaded = new WeakSet<object>();
  const outdated: string[] = [];
  let [proven, provenByTime, taken] = [0, 0, 0];
  const judge = (method: Method, { content, etag }: Entry, place: number) => {
    const result = etag.slice(1, -1);
    proven++;
    if (!loaded.has(content)) taken++;
    if (method === 'get_jetton_data') provenByTime++;
    const seen = lived.findLastIndex(({ seenAt }) => (seenAt[place] ?? 0) <= now) + 1;
    const executed = lived.filter(({ at }) => at <= now).length;
    const states = Array.from({ length: executed - seen + 1 }, (_, more) =>
      resultOf(method, transactions, seen + more, now),
    );
    if (method !== 'get_jetton_data' && !states.includes(result))
      outdated.push(`${method} at ${now}: ${result}, but ${states.join(' or ')}`);
  };
  const land = (method: Method, askedAt: number, result: string, { proofs, cache, now: clock }: Instance) => {
    const evidence = { kind: 'method', accounts: [ACCOUNT], hasClaims: false, method, hasFailed: false } as const;
    const { lifetime } = parts.POLICIES.methodResult;
    const entry = anEntry({
      ...{ key: keyOf(method), lifetime, staleWhileRevalidate: 0, staleIfError: 0 },
      askedAt: clock() - now + askedAt,
      freshUntil: clock() + lifetime,
      etag: `"${result}"`,
      body: Buffer.from(JSON.stringify({ exit_code: 0, stack: [{ type: 'num', value: result }] })),
      meta: { retention: parts.runGetMethod.retention },
      proof: proofs.proofOf(evidence, [ACCOUNT], askedAt),
    });
    loaded.add(entry.content);
    cache.set(entry, TAGS);
  };
  let pollAt = 0;
  for (const { afterMs, method, at: place, lagMs: lag, takesMs, redis: read } of polls) {
    pollAt += afterMs;
    const askedAt = pollAt;
    const instance = instances[place] as Instance;
    const poll = async () => {
      how = read;
      const inMemory = instance.cache.lookInMemory(keyOf(method), TAGS);
      const found = inMemory.state === 'miss' ? await instance.cache.lookUp(keyOf(method), TAGS) : inMemory;
      if (found.state !== 'miss') return judge(method, found.entry, place);
      const executed =
        lag < 0
          ? lived.filter(({ at }) => at <= askedAt).length
          : lived.findLastIndex(({ seenAt }) => Math.min(...seenAt) <= askedAt - lag) + 1;
      const result = resultOf(method, transactions, executed, askedAt);
      schedule({ at: askedAt + takesMs, happen: () => land(method, askedAt, result, instance) });
    };
    events.push({ at: askedAt, happen: poll });
  }
  events.sort((one, other) => one.at - other.at);
  const schedule = (event: (typeof events)[number]) => {
    const place = events.findIndex(({ at }) => at > event.at);
    events.splice(place < 0 ? events.length : place, 0, event);
  };
  for (let event = events.shift(); event !== undefined; event = events.shift()) {
    now = event.at;
    await event.happen();
  }
  return { outdated, proven, provenByTime, taken };
}
