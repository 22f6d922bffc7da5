import fc from 'fast-check';
import { shownIn } from '../../src/answer/body-facts.ts';
import { judgeFromRedis } from '../../src/answer/redis-judge.ts';
import { contentOf, type Entry } from '../../src/cache/entry.ts';
import { MemoryTier } from '../../src/cache/memory-tier.ts';
import { ACQUIRE, STORE } from '../../src/cache/redis-scripts.ts';
import type { RedisTier } from '../../src/cache/redis-tier.ts';
import { TieredCache } from '../../src/cache/tiered-cache.ts';
import { isDatedAhead } from '../../src/freshness.ts';
import { Proofs } from '../../src/proof/proofs.ts';
import { ReadBlocks } from '../../src/proof/read-blocks.ts';
import { SharedHeads } from '../../src/proof/shared-heads.ts';
import { type Touch, Touches } from '../../src/proof/touches.ts';
import type { BlockRow } from '../../src/ton/block-facts.ts';
import { requestIn } from '../../src/ton/cache-key.ts';
import { WHILE_REPLICAS_LAG } from '../../src/ton/lifetime.ts';
import { transactions } from '../../src/ton/operations/transactions.ts';
import { anEntry } from '../support/entry.ts';

/** A rule that the model can omit, to show that it is needed. */
export type SharedRule =
  | 'an entry is judged by the transactions in its body'
  | 'transactions are kept for as long as answers may be proven'
  | 'the mark of a head is not later than its first sight'
  | 'heads come from the same indexers'
  | 'bans come before the judgement'
  | 'a start reads the blocks of the time before';

/** The events of one run. Times are multiples of {@link STEP_MS}. */
export interface SharedSchedule {
  /** The accounts that each round touches. */
  readonly touched: readonly (readonly number[])[];
  /** The lag of the second replica, which all instances use now and then. */
  readonly lagMs: number;
  /** Its place is that of a request, and it tells whether the second replica answers. */
  readonly lagging: readonly boolean[];
  /** The lag of the only indexer of the last instance; 0 if that has the same indexers as all others. */
  readonly foreignLagMs: number;
  /** By this the clock of each instance is ahead. Clocks that are further apart are not shared. */
  readonly aheadMs: readonly number[];
  /** Redis' clock is set back by this, and the instances follow one after the other. */
  readonly clockBackMs: number;
  /** How Redis serves each read: the last value, an older one, or none. */
  readonly reads: readonly ('last' | 'older' | 'lost')[];
  /** Values are visible this long after they were written. */
  readonly delayMs: number;
  /** True if the polls of the head are not answered for 6 of 12 s. */
  readonly headHangs: boolean;
  /** When the first instance restarts; Infinity for never. */
  readonly restartAt: number;
  readonly purgeAt: number;
}

const [STEP_MS, ROUND_MS, RUN_MS, INSTANCES] = [200, 400, 110_000, 3];
const ROUNDS = RUN_MS / ROUND_MS;
const ACCOUNTS = [0, 1].map((account) => `0:${String(account).repeat(64)}`);
const BEGINS_AT_MS = 8000;
const EPOCH_MS = 1_700_000_000_000;
/** The largest difference of clocks that are shared. */
const X_MS = 200;
const [JUMP_AT_MS, POLLED_FROM_MS] = [50_000, 85_000];

const rarely = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 3 }, { arbitrary: fc.constantFrom(usual, ...others), weight: 1 });

export const sharedSchedules: fc.Arbitrary<SharedSchedule> = fc.record({
  touched: fc.array(
    fc.oneof(
      { arbitrary: fc.constant([]), weight: 40 },
      { arbitrary: fc.subarray([0, 1], { minLength: 1 }), weight: 1 },
    ),
    { minLength: ROUNDS, maxLength: ROUNDS },
  ),
  lagMs: fc.constantFrom(0, 600, 2000),
  lagging: fc.array(fc.boolean(), { minLength: 20, maxLength: 40 }),
  foreignLagMs: fc.constantFrom(0, 0, 1600, 1600, 8000),
  aheadMs: fc.array(rarely(0, X_MS, 500, 5000), { minLength: INSTANCES, maxLength: INSTANCES }),
  clockBackMs: rarely(0, 1900),
  reads: fc.array(fc.constantFrom('last' as const, 'last' as const, 'older' as const, 'lost' as const), {
    minLength: 20,
    maxLength: 40,
  }),
  delayMs: fc.constantFrom(0, 200, 600),
  headHangs: fc.boolean(),
  restartAt: rarely(Number.POSITIVE_INFINITY, 30_000, 80_000),
  purgeAt: rarely(Number.POSITIVE_INFINITY, 60_000),
});

interface Commit extends BlockRow {
  readonly committedAt: number;
}

/** A value in Redis, with all earlier ones: after a failover Redis may have an older copy. */
class Values<T> {
  readonly #values: { readonly value: T; readonly at: number }[] = [];

  write(value: T, at: number): void {
    this.#values.push({ value, at });
  }

  read(at: number, how: SharedSchedule['reads'][number], keptMs: number): T | undefined {
    const visible = this.#values.filter((each) => each.at <= at);
    const found = how === 'lost' ? undefined : visible.at(how === 'last' ? -1 : -2);
    // An older copy has not lived for longer either.
    return found !== undefined && at - found.at <= keptMs ? found.value : undefined;
  }
}

/** Runs the shared proof. Returns the proven answers that were outdated or purged, and the number of proven ones. */
export async function sharedOutdated(
  schedule: SharedSchedule,
  without?: SharedRule,
): Promise<{ readonly outdated: readonly string[]; readonly proven: number; readonly taken: number }> {
  const world = new World(schedule, without);
  for (; world.now < RUN_MS; world.now += STEP_MS) await world.step();
  return world;
}

class World {
  readonly schedule: SharedSchedule;
  readonly without: SharedRule | undefined;
  readonly commits: readonly Commit[];
  readonly entries = new Map<string, Values<Entry>>();
  readonly heads = new Map<string, Values<string>>();
  readonly outdated: string[] = [];
  now = 0;
  proven = 0;
  /** The proven answers that another instance had requested. */
  taken = 0;
  #reads = 0;
  #requests = 0;
  readonly #instances: Instance[];

  constructor(schedule: SharedSchedule, without: SharedRule | undefined) {
    this.schedule = schedule;
    this.without = without;
    this.commits = schedule.touched.flatMap((accounts, seqno) =>
      accounts.map((account) => ({
        account: ACCOUNTS[account] ?? '',
        lt: BigInt(seqno + 1),
        hash: `${seqno}:${account}`,
        now: seqno,
        seqno,
        committedAt: seqno * ROUND_MS,
      })),
    );
    this.#instances = Array.from({ length: INSTANCES }, (_, place) => new Instance(this, place));
  }

  how(): SharedSchedule['reads'][number] {
    const { reads } = this.schedule;
    return reads[this.#reads++ % reads.length] ?? 'last';
  }

  lags(): boolean {
    const { lagging } = this.schedule;
    return lagging[this.#requests++ % lagging.length] ?? false;
  }

  async step(): Promise<void> {
    if (this.now === this.schedule.restartAt) this.#instances[0] = new Instance(this, 0);
    for (const instance of this.#instances) await instance.follow();
    for (const [place, account] of ACCOUNTS.entries()) {
      // Each account is polled at each instance, in turn, and seldom enough that most answers are old.
      const turn = this.now / STEP_MS + place * 7;
      const polled = (turn / 15) % INSTANCES;
      // The last one gets no polls before that, and has everything in Redis to choose from then.
      const isPolled = turn % 15 === 0 && (polled < INSTANCES - 1 || this.now >= POLLED_FROM_MS);
      if (isPolled) await this.#instances[polled]?.poll(account);
    }
  }

  isWithout(rule: SharedRule): boolean {
    return this.without === rule;
  }
}

class Instance {
  readonly #world: World;
  readonly #place: number;
  readonly #touches: Touches;
  readonly #blocks = new ReadBlocks();
  readonly #proofs: Proofs;
  readonly #heads: SharedHeads;
  readonly #cache: TieredCache;
  readonly #loaded = new WeakSet<object>();
  readonly #now: () => number;
  readonly #isForeign: boolean;
  #isBegun = false;
  #nextHeadAt = 0;
  #clockBackMs = 0;
  #jumpedAt = Number.NEGATIVE_INFINITY;

  constructor(world: World, place: number) {
    this.#world = world;
    this.#place = place;
    const monotonic = () => world.now;
    const now = () => EPOCH_MS + world.now + (world.schedule.aheadMs[place] ?? 0) - this.#clockBackMs;
    this.#touches = new Touches({ now: monotonic, keptMs: 2 * RUN_MS, maxBytes: 2 ** 30 });
    const bound = 300_000;
    this.#proofs = new Proofs({
      touches: this.#touchesAsUsed(),
      blocks: this.#blocks,
      now: monotonic,
      boundsMs: { withClaims: bound, plain: bound },
    });
    this.#proofs.switched(true);
    this.#isForeign = world.schedule.foreignLagMs > 0 && place === INSTANCES - 1;
    const list = this.#isForeign && !world.isWithout('heads come from the same indexers') ? 'foreign' : 'own';
    const heads = world.heads.get(list) ?? new Values<string>();
    world.heads.set(list, heads);
    const isNaive = world.isWithout('the mark of a head is not later than its first sight');
    const isClockShared = () =>
      isNaive || ((world.schedule.aheadMs[place] ?? 0) <= X_MS && world.now - this.#jumpedAt > 2000);
    this.#heads = new SharedHeads({
      redis: {
        runScript: async (script, _, args) => {
          if (script === STORE) heads.write(String(args[1]), world.now + world.schedule.delayMs);
          const stored = script === ACQUIRE ? heads.read(world.now, world.how(), 1000) : undefined;
          return [null, stored === undefined ? null : Buffer.from(stored)];
        },
      },
      redisKey: list,
      isClockShared,
      budgetMs: 1000,
      now,
      monotonic,
    });
    const judge = judgeFromRedis({
      proofs: this.#proofs,
      bodies: {
        readShown: async (call, body, from) => {
          const shown = shownIn(call, body, from);
          const isBlind = world.isWithout('an entry is judged by the transactions in its body');
          return isBlind && shown.evidence?.kind === 'page'
            ? { ...shown, evidence: { ...shown.evidence, window: { fromLt: 2n ** 60n, fromNow: 0 } } }
            : shown;
        },
      },
      now,
      monotonic,
    });
    const isPurged = ({ askedAt }: { readonly askedAt: number }) =>
      world.now >= world.schedule.purgeAt && askedAt <= EPOCH_MS + world.schedule.purgeAt;
    const ignoresBans = world.isWithout('bans come before the judgement');
    this.#cache = new TieredCache({
      memory: new MemoryTier({ now, maxSizeBytes: 2 ** 26 }),
      redis: {
        get: async (key: string) => {
          const entry = world.entries.get(key)?.read(world.now, world.how(), 300_000);
          return entry === undefined || isDatedAhead(entry, now()) ? { state: 'absent' } : { state: 'found', entry };
        },
        set: (entry: Entry) => {
          const values = world.entries.get(entry.key) ?? new Values<Entry>();
          world.entries.set(entry.key, values);
          values.write({ ...entry, proof: undefined }, world.now + world.schedule.delayMs);
          return undefined;
        },
      } as unknown as RedisTier,
      purges: {
        bans: { applyBans: (entry) => (!ignoresBans && isPurged(entry) ? undefined : entry) },
        isCurrent: true,
      },
      hasReached: () => false,
      olderAnswers: { look: () => {} },
      judge,
      now,
    });
    this.#now = now;
  }

  #touchesAsUsed(): ConstructorParameters<typeof Proofs>[0]['touches'] {
    const [world, touches] = [this.#world, this.#touches];
    if (!world.isWithout('transactions are kept for as long as answers may be proven')) return touches;
    const isKept = ({ batch }: Touch) => world.now - batch.seenAt < 62_000;
    return {
      lastOf: (account) => touches.lastOf(account),
      since: (account, from) => [...touches.since(account, from)].filter(isKept),
      add: (rows) => touches.add(rows),
      forgottenUntil: Number.NEGATIVE_INFINITY,
    };
  }

  /** The lag of the indexer that answers the next request. */
  #lagMs(): number {
    const { foreignLagMs, lagMs } = this.#world.schedule;
    if (foreignLagMs > 0) return this.#isForeign ? foreignLagMs : 0;
    return this.#world.lags() ? lagMs : 0;
  }

  /** The lag that its clients may see. */
  get #mostLagMs(): number {
    const { foreignLagMs, lagMs } = this.#world.schedule;
    if (foreignLagMs > 0) return this.#isForeign ? foreignLagMs : 0;
    return lagMs;
  }

  async follow(): Promise<void> {
    const { now, schedule } = this.#world;
    if (now < BEGINS_AT_MS) return;
    if (now === JUMP_AT_MS + 400 * this.#place && schedule.clockBackMs > 0) {
      this.#clockBackMs = schedule.clockBackMs;
      this.#jumpedAt = now;
      this.#isBegun = false;
      this.#blocks.lose();
      this.#proofs.skipped();
    }
    const headOf = (lagMs: number) => Math.floor((now - lagMs) / ROUND_MS);
    if (!this.#isBegun) {
      this.#isBegun = true;
      const head = headOf(this.#lagMs());
      const isHasty = this.#world.isWithout('a start reads the blocks of the time before');
      this.#blocks.begin(
        Array.from({ length: head + 1 }, (_, seqno) => seqno),
        isHasty ? head : Math.max(0, head - 80),
        now,
      );
      if (isHasty) this.#proofs.caughtUp();
    }
    if (now >= this.#nextHeadAt) {
      const next = await this.#heads.next();
      const known = this.#blocks.head;
      if ('seqno' in next) {
        this.#nextHeadAt = next.askedAt + 450;
        this.#blocks.headIs(next.seqno, next.askedAt + this.#naivelyMs(next.askedAt));
      } else if (schedule.headHangs && now % 12_000 >= 6000 && !this.#isForeign) {
        this.#heads.end(next);
      } else {
        const seqno = headOf(this.#lagMs());
        if (seqno >= known) this.#nextHeadAt = now + 450;
        this.#heads.share(next, { seqno, askedAt: this.#now(), indexer: '' }, 10);
        this.#blocks.headIs(seqno, now);
      }
    }
    if (this.#blocks.mustBeginAnew(now)) {
      this.#isBegun = false;
      this.#blocks.lose();
      this.#proofs.skipped();
      return;
    }
    for (const seqno of this.#blocks.unread) {
      if (headOf(this.#lagMs()) < seqno) {
        this.#blocks.isAbsent(seqno, now);
        continue;
      }
      this.#blocks.isThere(seqno, now);
      this.#proofs.read(this.#world.commits.filter((commit) => commit.seqno === seqno));
      this.#blocks.isRead(seqno);
    }
    if (this.#blocks.mark > Number.NEGATIVE_INFINITY) this.#proofs.caughtUp();
  }

  /** Without the first sight, a clock that is behind makes a head look younger. */
  #naivelyMs(askedAt: number): number {
    const isNaive = this.#world.isWithout('the mark of a head is not later than its first sight');
    return isNaive ? 2000 + this.#world.now - askedAt : 0;
  }

  /** A client polls: a proven answer is checked, otherwise a new one is loaded. */
  async poll(account: string): Promise<void> {
    const { now, commits } = this.#world;
    const key = `main transactions?account=${account}&limit=1000`;
    const tags = [`account:${account}`];
    const inMemory = this.#cache.lookInMemory(key, tags);
    const found = inMemory.state === 'proven' ? inMemory : await this.#cache.lookUp(key, tags);
    if (found.state === 'proven') {
      this.#check(account, found.entry);
      return;
    }
    const lagMs = this.#lagMs();
    const rows = commits.filter((row) => row.account === account && row.committedAt <= now - lagMs).toReversed();
    const body = Buffer.from(
      JSON.stringify({
        transactions: rows.map(({ lt, hash, seqno }, place) => ({
          ...{ account, hash, lt: String(lt), now: seqno, mc_block_seqno: seqno },
          prev_trans_lt: String(rows[place + 1]?.lt ?? 0),
        })),
      }),
    );
    const call = { operation: transactions, request: requestIn(key), tags };
    const { evidence } = shownIn(call, body, 0);
    const askedAt = this.#now();
    const entry = anEntry({
      ...{ key, askedAt, freshUntil: askedAt, lifetime: 0, staleWhileRevalidate: 0, staleIfError: 0 },
      content: contentOf(body),
      etag: `"${now}"`,
      completeness: { rank: 1, order: BigInt(rows.length), members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
      meta: { retention: WHILE_REPLICAS_LAG },
      proof: this.#proofs.proofOf(evidence, [account], now),
    });
    this.#loaded.add(entry.content);
    this.#cache.set({ ...entry, freshUntil: askedAt + 1, lifetime: 1 }, tags);
  }

  /** An answer may lack commits of the last second and of the lag, and those that shared clocks may hide. */
  #check(account: string, { content, etag }: Entry): void {
    const world = this.#world;
    world.proven++;
    if (!this.#loaded.has(content)) world.taken++;
    const requestedAt = Number(etag.slice(1, -1));
    const before = world.now - 1000 - X_MS - this.#mostLagMs;
    const identity = content.identity;
    const shown = identity === undefined ? '' : Buffer.from(identity as ArrayBuffer).toString();
    for (const { hash, committedAt } of world.commits.filter((row) => row.account === account)) {
      if (committedAt < before && !shown.includes(`"${hash}"`)) world.outdated.push(`${hash} at ${world.now}`);
    }
    const { purgeAt } = world.schedule;
    const isDated = world.schedule.aheadMs.every((ms) => ms === 0) && world.schedule.clockBackMs === 0;
    if (isDated && world.now >= purgeAt && requestedAt < purgeAt) world.outdated.push(`purged at ${world.now}`);
  }
}
