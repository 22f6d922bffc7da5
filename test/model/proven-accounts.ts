import fc from 'fast-check';
import type { Proof } from '../../src/freshness.ts';
import { Proofs, type ProofsDependencies } from '../../src/proof/proofs.ts';
import { ReadBlocks } from '../../src/proof/read-blocks.ts';
import { type Touch, Touches } from '../../src/proof/touches.ts';
import type { BlockRow } from '../../src/ton/block-facts.ts';
import type { Evidence } from '../../src/ton/evidence.ts';

/** A rule that the model can omit, to show that it is needed. */
export type Rule =
  | 'a body shows each transaction, by hash'
  | 'transactions seen since the request count'
  | 'transactions seen before the request count'
  | 'an answer is proven only as far back as transactions are kept'
  | 'a gap holds back the mark'
  | 'a block counts as read when it is whole'
  | 'the mark is the time of a request'
  | 'the blocks of the last 10 s are read first';

/** The events of one run. Times are multiples of {@link STEP_MS}. */
export interface Schedule {
  /** The delay of the commit of each round. Rounds come out of order if a delay is longer than a round. */
  readonly commitDelays: readonly number[];
  /** The accounts that each round touches. */
  readonly touched: readonly (readonly number[])[];
  /** The lag of the second replica of the database. */
  readonly lagMs: number;
  /** The replica and the duration of each request, in order. */
  readonly answers: readonly { readonly isLagging: boolean; readonly takesMs: number }[];
  /** The time in which the follower does nothing. */
  readonly pause: { readonly fromMs: number; readonly forMs: number };
  /** A failover: the database does not answer, then shows the state before its last commits, then everything. */
  readonly failover: { readonly silentMs: number; readonly olderMs: number };
  /** The bound on the memory of touches. */
  readonly touchBytes: number;
}

const STEP_MS = 100;
const ROUND_MS = 400;
const ROUNDS = 60;
const ACCOUNTS = [0, 1, 2];
const RUN_MS = ROUND_MS * ROUNDS;
/** The follower starts then, and reads the blocks of the 10 s before. */
const BEGINS_AT_MS = 12_000;
/** A failover begins then, and loses the commits of this time before. */
const [FAILS_AT_MS, LOST_MS] = [16_000, 3000];

const delay = fc.oneof(
  { arbitrary: fc.constant(0), weight: 8 },
  { arbitrary: fc.integer({ min: 1, max: 30 }).map((steps) => steps * STEP_MS), weight: 1 },
);

export const schedules: fc.Arbitrary<Schedule> = fc.record({
  commitDelays: fc.array(delay, { minLength: ROUNDS, maxLength: ROUNDS }),
  touched: fc.array(fc.subarray(ACCOUNTS, { maxLength: 2 }), { minLength: ROUNDS, maxLength: ROUNDS }),
  lagMs: fc.constantFrom(0, 500, 2000),
  answers: fc.array(fc.record({ isLagging: fc.boolean(), takesMs: fc.constantFrom(0, STEP_MS, 3 * STEP_MS) }), {
    minLength: 20,
    maxLength: 60,
  }),
  pause: fc.record({
    fromMs: fc.constantFrom(14_000, 17_000),
    forMs: fc.constantFrom(0, 0, 800, 3000),
  }),
  failover: fc.oneof(
    { arbitrary: fc.constant({ silentMs: 0, olderMs: 0 }), weight: 2 },
    {
      arbitrary: fc.record({ silentMs: fc.constantFrom(0, 600, 2500), olderMs: fc.constantFrom(300, 900, 1800) }),
      weight: 1,
    },
  ),
  touchBytes: fc.constantFrom(2 ** 30, 2 ** 30, 4000),
});

interface Commit extends BlockRow {
  readonly seqno: number;
  readonly committedAt: number;
}

/** Runs the rules of the proof against a database and its replica. Returns the proven answers that were outdated. */
export function outdatedAnswers(
  schedule: Schedule,
  without?: Rule,
): { readonly outdated: string[]; readonly proven: number } {
  return new World(schedule, without).run();
}

class World {
  readonly #schedule: Schedule;
  readonly #without: Rule | undefined;
  readonly #commits: readonly Commit[];
  readonly #roundsAt: readonly number[];
  /** The end of the failover. */
  readonly #backAt: number;
  readonly #touches: Touches;
  readonly #blocks = new ReadBlocks();
  readonly #proofs: Proofs;
  readonly #kept = new Map<number, { readonly proof: Proof; readonly hashes: ReadonlySet<string> }>();
  /** The instants of the requests for the kept answers, by account. */
  readonly #askedAt = new Map<string, number>();
  readonly #due: { readonly at: number; readonly run: () => void }[] = [];
  readonly #asking = new Set<string>();
  readonly #outdated: string[] = [];
  #now = 0;
  /** A head poll has shown a block that the failover then takes back. */
  #hasSeenMore = false;
  #answered = 0;
  #proven = 0;

  constructor(schedule: Schedule, without: Rule | undefined) {
    this.#schedule = schedule;
    this.#without = without;
    const { silentMs, olderMs } = schedule.failover;
    this.#backAt = FAILS_AT_MS + silentMs + olderMs;
    this.#roundsAt = schedule.commitDelays.map((delayMs, seqno) => {
      const at = seqno * ROUND_MS + delayMs;
      return at > FAILS_AT_MS ? Math.max(at, this.#backAt) : at;
    });
    this.#commits = schedule.touched.flatMap((accounts, seqno) =>
      accounts.map((account) => ({
        account: String(account),
        lt: BigInt(seqno),
        hash: `${seqno}:${account}`,
        now: seqno,
        seqno,
        committedAt: this.#roundsAt[seqno] ?? 0,
      })),
    );
    const now = () => this.#now;
    this.#touches = new Touches({ now, keptMs: 2 * RUN_MS, maxBytes: schedule.touchBytes });
    this.#proofs = new Proofs({
      touches: this.#touchesAsUsed(),
      blocks: this.#blocks,
      now,
      boundsMs: { withClaims: RUN_MS, plain: RUN_MS },
    });
    this.#proofs.switched(true);
  }

  run(): { readonly outdated: string[]; readonly proven: number } {
    for (; this.#now < RUN_MS; this.#now += STEP_MS) {
      for (const due of this.#due.filter(({ at }) => at <= this.#now)) {
        this.#due.splice(this.#due.indexOf(due), 1);
        due.run();
      }
      this.#follow();
      for (const account of ACCOUNTS) this.#poll(account);
    }
    return { outdated: this.#outdated, proven: this.#proven };
  }

  #leavesOut(rule: Rule): boolean {
    return this.#without === rule;
  }

  /** The touches, without those that a missing rule ignores. */
  #touchesAsUsed(): ProofsDependencies['touches'] {
    const touches = this.#touches;
    const isIgnored = ({ batch }: Touch, account: string) => {
      const isLater = batch.seenAt >= (this.#askedAt.get(account) ?? 0);
      return this.#leavesOut(`transactions seen ${isLater ? 'since' : 'before'} the request count`);
    };
    const keepsAll = this.#leavesOut('an answer is proven only as far back as transactions are kept');
    return {
      lastOf: (account) => touches.lastOf(account),
      since: (account, from) => [...touches.since(account, from)].filter((touch) => !isIgnored(touch, account)),
      add: (rows) => touches.add(rows),
      get forgottenUntil() {
        return keepsAll ? Number.NEGATIVE_INFINITY : touches.forgottenUntil;
      },
    };
  }

  /** Sends a request: a replica answers from its state after half of the time. */
  #ask<T>(name: string, look: (shows: (at: number) => boolean, lagMs: number) => T, take: (seen: T) => void): void {
    if (this.#asking.has(name)) return;
    this.#asking.add(name);
    const { answers, lagMs } = this.#schedule;
    const { isLagging, takesMs } = answers[this.#answered++ % answers.length] ?? { isLagging: false, takesMs: 0 };
    const behindMs = isLagging ? lagMs : 0;
    const looksAt = this.#now + takesMs / 2;
    const isDown = looksAt >= FAILS_AT_MS && looksAt < this.#backAt;
    const showsUntil = isDown ? FAILS_AT_MS - LOST_MS : looksAt;
    const isSilent = isDown && looksAt < FAILS_AT_MS + this.#schedule.failover.silentMs;
    const seen = look((at) => at <= showsUntil - behindMs, behindMs);
    const end = () => {
      this.#asking.delete(name);
      if (!isSilent) take(seen);
    };
    if (takesMs === 0) end();
    else this.#due.push({ at: this.#now + takesMs, run: end });
  }

  #follow(): void {
    const { fromMs, forMs } = this.#schedule.pause;
    if (this.#now < BEGINS_AT_MS || (this.#now >= fromMs && this.#now < fromMs + forMs)) return;
    if (this.#now === BEGINS_AT_MS) {
      const there = [...this.#roundsAt.keys()].filter((seqno) => (this.#roundsAt[seqno] ?? 0) <= this.#now);
      const newest = Math.max(...there);
      const isHasty = this.#leavesOut('the blocks of the last 10 s are read first');
      this.#blocks.begin(there, isHasty ? newest : newest - 25, this.#now);
      if (isHasty) this.#proofs.caughtUp();
    }
    const askedAt = this.#now;
    const newestIn = (shows: (at: number) => boolean) =>
      this.#roundsAt.reduce((newest, at, seqno) => (shows(at) ? seqno : newest), 0);
    this.#ask('head', newestIn, (head) => {
      this.#hasSeenMore ||= this.#now < FAILS_AT_MS && (this.#roundsAt[head] ?? 0) > FAILS_AT_MS - LOST_MS;
      this.#blocks.headIs(head, this.#markOf(askedAt));
    });
    for (const seqno of this.#blocks.unread) {
      this.#ask(
        `block ${seqno}`,
        (shows) => shows(this.#roundsAt[seqno] ?? Number.POSITIVE_INFINITY),
        (isThere) => this.#read(seqno, isThere, askedAt),
      );
    }
    if (this.#blocks.mark > this.#now - 1000) this.#proofs.caughtUp();
  }

  #markOf(askedAt: number): number {
    return this.#leavesOut('the mark is the time of a request') ? this.#now + 1000 : askedAt;
  }

  #read(seqno: number, isThere: boolean, askedAt: number): void {
    if (!isThere) {
      if (this.#leavesOut('a gap holds back the mark')) this.#blocks.isRead(seqno);
      else this.#blocks.isAbsent(seqno, this.#markOf(askedAt));
      return;
    }
    const rows = this.#commits.filter((commit) => commit.seqno === seqno);
    // A page that is cut ends before the last row.
    this.#proofs.read(this.#leavesOut('a block counts as read when it is whole') ? rows.slice(0, -1) : rows);
    this.#blocks.isRead(seqno);
  }

  /** A client polls: it gets the kept answer if that is proven, otherwise a new one. */
  #poll(account: number): void {
    const kept = this.#kept.get(account);
    if (kept !== undefined && kept.proof.doubt === undefined) {
      this.#proven++;
      this.#judge(account, kept.hashes);
      return;
    }
    const askedAt = this.#now;
    this.#ask(
      `account ${account}`,
      (shows) => this.#commits.filter((row) => row.account === String(account) && shows(row.committedAt)),
      (rows) => {
        const hashes = new Set(rows.map(({ hash }) => hash));
        const newest = rows.reduce((lt, row) => (row.lt > lt ? row.lt : lt), -1n);
        const shown = { accounts: [String(account)], hasClaims: false };
        const evidence: Evidence = this.#leavesOut('a body shows each transaction, by hash')
          ? { ...shown, kind: 'state', lastLt: newest }
          : { ...shown, kind: 'page', hashes, window: { fromLt: 0n, fromNow: 0 } };
        const proof = this.#proofs.proofOf(evidence, shown.accounts, askedAt);
        if (proof !== undefined) this.#kept.set(account, { proof, hashes });
        this.#askedAt.set(String(account), askedAt);
      },
    );
  }

  /**
   * True while the database shows an older state, and for a second afterwards, if the follower has seen no block that
   * this state lacks: to it, the chain stands still.
   */
  get #fellBackUnseen(): boolean {
    const isOlder = this.#now >= FAILS_AT_MS && this.#now < this.#backAt + 1000;
    return isOlder && !this.#hasSeenMore;
  }

  /** An answer may lack commits of the last second, and those that a replica with this lag cannot show. */
  #judge(account: number, hashes: ReadonlySet<string>): void {
    if (this.#fellBackUnseen) return;
    const before = this.#now - 1000 - this.#schedule.lagMs;
    const lacks = this.#commits.filter(
      (row) => row.account === String(account) && row.committedAt < before && !hashes.has(row.hash),
    );
    for (const { hash } of lacks) this.#outdated.push(`${hash} at ${this.#now}`);
  }
}
