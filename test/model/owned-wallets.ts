import fc from 'fast-check';
import { ProxyError } from '../../src/errors.ts';
import type { Proof } from '../../src/freshness.ts';
import { BlockFollower, type BlockSource, type Page } from '../../src/proof/block-follower.ts';
import { type LookedUp, OwnerLookUps, type OwnerSource, type PageOfBlock } from '../../src/proof/owner-look-ups.ts';
import { Proofs, type ProofsDependencies } from '../../src/proof/proofs.ts';
import { ReadBlocks } from '../../src/proof/read-blocks.ts';
import { SettledWallets } from '../../src/proof/settled-wallets.ts';
import { type Touch, Touches } from '../../src/proof/touches.ts';
import type { BlockRow } from '../../src/ton/block-facts.ts';
import type { Evidence } from '../../src/ton/evidence.ts';
import { jettonTransfers } from '../../src/ton/operations/jetton-transfers.ts';
import { jettonWallets } from '../../src/ton/operations/jetton-wallets.ts';
import { type Call, parseCall } from '../../src/ton/parse-call.ts';
import { makeAccount } from '../../src/tools/simulator/accounts.ts';
import { writeTransfer } from '../../src/tools/simulator/transfer-body.ts';

/** A rule that the model can omit, to show that it is needed. */
export type OwnerRule =
  | 'owners are looked up'
  | 'any account can become a jetton wallet'
  | 'a look-up shows that it comes from a database with the block'
  | 'a later transaction does not show that a database has a block'
  | 'states show that they come from a database with the block'
  | 'a new wallet touches the list of its owner'
  | 'a wallet touches the lists in which it stands'
  | 'the page comes before the look-up'
  | 'a page that a provider may have cut is counted'
  | 'an empty page is a missing block'
  | 'a transfer to no account touches its sender'
  | 'only the two words are directions'
  | 'a full page can lack a wallet';

/** Something that happens to one of the accounts in a round. */
export interface Happening {
  readonly kind: 'run' | 'own' | 'delete' | 'unconfirmed' | 'send' | 'waste' | 'plain' | 'pretend';
  readonly account: number;
  readonly owner: number;
  readonly jetton: number;
  readonly balance: number;
}

/** The events of one run. Times are multiples of {@link STEP_MS}. */
export interface OwnerSchedule {
  readonly happenings: readonly (readonly Happening[])[];
  /** The delay of the commit of each round: rounds come out of order, or several at once. */
  readonly commitDelays: readonly number[];
  /** The lag of the second replica, and the requests that it answers. */
  readonly lagMs: number;
  readonly answers: readonly { readonly isLagging: boolean; readonly takesMs: number }[];
  /** True: the rows of deleted wallets disappear. */
  readonly forgetsDeleted: boolean;
  /** True: another wallet has a transaction in each round. Otherwise most blocks have no wallet. */
  readonly hasHotWallet: boolean;
  /** True: many other accounts run before those in some of the last rounds, and the provider cuts pages to {@link CAP} rows. */
  readonly cutsPages: boolean;
  /** True: the second replica answers all look-ups. */
  readonly lookUpsLag: boolean;
  /**
   * A third replica, with this lag, answers every second request of a client, and no other. A proven answer must be true
   * nevertheless.
   */
  readonly pollsLagMs: number;
  /** Rounds before this instant are there when the follower starts. */
  readonly beginsAtMs: number;
}

const STEP_MS = 100;
const ROUND_MS = 400;
/** Look-ups prove nothing in the first 32 s. */
const ROUNDS = 170;
/** Rounds before this instant are there when the follower starts. */
const BEGINS_AT_MS = 6000;
const FIRST_SEQNO = 5000;
const [ACCOUNTS, OWNERS, JETTONS] = [6, 3, 2];
/** Time within blocks, in seconds. */
const POLL_EVERY_MS = 500;
const LEAST_LT = 1_000_000n;
/** Other accounts of a crowded round, the rows to which a provider cuts a page, and the first such round. */
const [CROWD, CAP, CROWDED_FROM] = [12, 10, 140];

const addressOf = (kind: number, n: number) => `0:${`${kind}${n}`.padStart(64, '0')}`;
const accountAt = (n: number) => addressOf(1, n);
const ownerAt = (n: number) => addressOf(2, n);
const jettonAt = (n: number) => addressOf(3, n);
const TRANSFER = { amount: 1, queryId: 1n, responseDestination: makeAccount('wallet', Buffer.alloc(32)) };
const TO_NOBODY = writeTransfer({ ...TRANSFER, destination: undefined });
const BODIES = Array.from({ length: OWNERS }, (_, n) => {
  const destination = makeAccount('wallet', Buffer.from(ownerAt(n).slice(2), 'hex'));
  return writeTransfer({ destination, responseDestination: destination, amount: 1, queryId: 1n, hasPayload: false });
});

const happening: fc.Arbitrary<Happening> = fc.record({
  kind: fc.oneof(
    { arbitrary: fc.constantFrom('run' as const, 'own' as const, 'send' as const), weight: 6 },
    {
      arbitrary: fc.constantFrom(...(['delete', 'unconfirmed', 'plain', 'pretend', 'waste'] as const)),
      weight: 3,
    },
  ),
  account: fc.nat(ACCOUNTS - 1),
  owner: fc.nat(OWNERS - 1),
  jetton: fc.nat(JETTONS - 1),
  balance: fc.nat(2),
});

const delay = fc.oneof(
  { arbitrary: fc.constant(0), weight: 6 },
  { arbitrary: fc.integer({ min: 1, max: 20 }).map((steps) => steps * STEP_MS), weight: 1 },
);

/** In half of the runs the second replica answers none but, perhaps, the look-ups. */
function answersWith(isLagging: fc.Arbitrary<boolean>): fc.Arbitrary<OwnerSchedule['answers']> {
  const answer = fc.record({ isLagging, takesMs: fc.constantFrom(0, 0, STEP_MS, 2 * STEP_MS) });
  return fc.array(answer, { minLength: 20, maxLength: 60 });
}

function schedulesOf(rounds: number, beginsAtMs: number, pollsLagMs: number): fc.Arbitrary<OwnerSchedule> {
  const some = fc.array(happening, { minLength: 1, maxLength: 3 });
  const ofRound = fc.oneof({ arbitrary: fc.constant([]), weight: 2 }, { arbitrary: some, weight: 1 });
  return fc.record({
    happenings: fc.array(ofRound, { minLength: rounds, maxLength: rounds }),
    commitDelays: fc.array(delay, { minLength: rounds, maxLength: rounds }),
    lagMs: fc.constantFrom(0, 500, 2500),
    answers: fc.oneof(answersWith(fc.boolean()), answersWith(fc.constant(false))),
    forgetsDeleted: fc.boolean(),
    hasHotWallet: fc.boolean(),
    cutsPages: fc.oneof(fc.constant(false), fc.constant(false), fc.constant(true)),
    lookUpsLag: fc.boolean(),
    pollsLagMs: fc.constant(pollsLagMs),
    beginsAtMs: fc.constant(beginsAtMs),
  });
}

export const ownerSchedules = schedulesOf(ROUNDS, BEGINS_AT_MS, 0);

/** The first minute of a follower, while a replica is 28 s behind. */
export const startsBesideLaggingReplica = schedulesOf(200, 30_000, 28_000);

/** The requests of clients. */
const FORMS = Array.from({ length: OWNERS }, (_, n) => ownerAt(n)).flatMap((owner) => [
  `jetton/wallets?owner_address=${owner}`,
  `jetton/wallets?owner_address=${owner}&limit=2`,
  `jetton/wallets?owner_address=${owner}&jetton_address=${jettonAt(1)}&exclude_zero_balance=true`,
  `jetton/transfers?owner_address=${owner}&direction=in&limit=2`,
  `jetton/transfers?owner_address=${owner}&direction=IN`,
  `jetton/transfers?owner_address=${owner}&direction=out`,
  `jetton/transfers?owner_address=${owner}`,
]);
FORMS.push(`jetton/transfers?jetton_wallet=${accountAt(0)}`);

interface Row {
  readonly owner: string;
  readonly jetton: string;
  readonly balance: number;
}

/** A committed transaction, and its consequences. */
interface Commit extends BlockRow {
  readonly committedAt: number;
  /** The new row of its wallet; `null` if it is deleted, `undefined` if it does not change. */
  readonly row: Row | null | undefined;
  /** The recipient of a listed transfer. */
  readonly to: string | undefined;
  readonly wasActive: boolean;
  readonly wasWallet: boolean;
}

/**
 * Runs the rules of the proof by look-ups of owners, with the follower itself, against a database and its replica.
 * Returns the proven answers that were outdated.
 */
export async function outdatedAboutOwners(
  schedule: OwnerSchedule,
  without?: OwnerRule,
): Promise<{ readonly outdated: string[]; readonly proven: number }> {
  return new OwnerWorld(schedule, without).run();
}

class OwnerWorld {
  readonly #schedule: OwnerSchedule;
  readonly #without: OwnerRule | undefined;
  readonly #commits: readonly Commit[];
  readonly #roundsAt: readonly number[];
  readonly #touches: Touches;
  readonly #proofs: Proofs;
  readonly #lookUps: OwnerLookUps;
  readonly #follower: BlockFollower;
  readonly #kept = new Map<string, { readonly proof: Proof; readonly body: string }>();
  readonly #asking = new Set<string>();
  readonly #due: { readonly at: number; readonly run: () => void }[] = [];
  readonly #outdated: string[] = [];
  #now: number;
  #answered = 0;
  #polls = 0;
  #proven = 0;

  constructor(schedule: OwnerSchedule, without: OwnerRule | undefined) {
    this.#schedule = schedule;
    this.#now = schedule.beginsAtMs;
    this.#without = without;
    this.#roundsAt = schedule.commitDelays.map((delayMs, round) => round * ROUND_MS + delayMs);
    this.#commits = commitsOf(schedule, this.#roundsAt);
    const now = () => this.#now;
    const onBug = (error: unknown) => {
      throw error;
    };
    this.#touches = new Touches({ now, keptMs: 362_000, maxBytes: 2 ** 26 });
    const blocks = new ReadBlocks();
    const settled = new SettledWallets({ touches: this.#touches, now });
    this.#lookUps = new OwnerLookUps({ source: this.#owners(), settled, blocks, now, onBug });
    this.#proofs = new Proofs({
      touches: this.#touchesAsUsed(),
      blocks,
      owners: { lookUps: this.#lookUps, settled },
      now,
      boundsMs: { withClaims: 60_000, plain: 300_000 },
    });
    this.#proofs.switched(true);
    this.#lookUps.switched(true);
    const lookUps = {
      read: (page: PageOfBlock) => this.#lookUps.read({ ...page, rows: this.#lookedUp(page.rows) }),
      headIs: (...head: Parameters<OwnerLookUps['headIs']>) => this.#lookUps.headIs(...head),
    };
    const [source, proofs, onPagesCut] = [this.#blocks(), this.#proofs, () => {}];
    this.#follower = new BlockFollower({ source, blocks, proofs, lookUps, now, onPagesCut, onBug });
  }

  async run(): Promise<{ readonly outdated: string[]; readonly proven: number }> {
    for (const untilMs = this.#roundsAt.length * ROUND_MS; this.#now < untilMs; this.#now += STEP_MS) {
      for (const due of this.#due.filter(({ at }) => at <= this.#now)) {
        this.#due.splice(this.#due.indexOf(due), 1);
        due.run();
      }
      this.#follower.tick();
      this.#lookUps.tick();
      for (let turn = 0; turn < 40; turn++) await Promise.resolve();
      for (const [place, form] of FORMS.entries()) {
        if ((this.#now / STEP_MS + place) % (POLL_EVERY_MS / STEP_MS) === 0) this.#poll(form);
      }
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    }
    return { outdated: this.#outdated, proven: this.#proven };
  }

  #leavesOut(rule: OwnerRule): boolean {
    return this.#without === rule;
  }

  /** Sends a request: a replica answers from its commits after half of the time. */
  #ask<T>(look: (at: number) => T, lags = false): Promise<T> {
    const { answers, lagMs } = this.#schedule;
    const { isLagging, takesMs } = answers[this.#answered++ % answers.length] ?? { isLagging: false, takesMs: 0 };
    const seen = look(this.#now + takesMs / 2 - (isLagging || lags ? lagMs : 0));
    if (takesMs === 0) return Promise.resolve(seen);
    return new Promise((resolve) => this.#due.push({ at: this.#now + takesMs, run: () => resolve(seen) }));
  }

  #newest(at: number): number {
    return FIRST_SEQNO + this.#roundsAt.reduce((newest, committedAt, round) => (committedAt <= at ? round : newest), 0);
  }

  #blocks(): BlockSource {
    const rowsOf = (seqno: number) => this.#commits.filter((commit) => commit.seqno === seqno);
    return {
      head: () => {
        const askedAt = this.#now;
        return this.#ask((at) => ({ seqno: this.#newest(at), askedAt, indexer: '' }));
      },
      newest: () => {
        const askedAt = this.#now;
        return this.#ask((at) => {
          const rounds = [...this.#roundsAt.keys()].filter((round) => (this.#roundsAt[round] ?? 0) <= at);
          return { blocks: rounds.map((round) => ({ seqno: FIRST_SEQNO + round, at: round * 0.4 })), askedAt };
        });
      },
      page: (seqno) => {
        const askedAt = this.#now;
        return this.#ask((at): Page => {
          const isThere = (this.#roundsAt[seqno - FIRST_SEQNO] ?? Number.POSITIVE_INFINITY) <= at;
          const takesEmpty = this.#leavesOut('an empty page is a missing block');
          if (!isThere && !takesEmpty) return { state: 'absent', askedAt };
          const all = isThere ? rowsOf(seqno) : [];
          const rows = all.slice(0, this.#schedule.cutsPages ? CAP : undefined);
          const isWhole = rows.length !== CAP || this.#leavesOut('a page that a provider may have cut is counted');
          return { state: 'there', rows, isWhole, askedAt, indexer: '' };
        });
      },
      count: (seqno) => this.#ask(() => rowsOf(seqno).length),
    };
  }

  #owners(): OwnerSource {
    return {
      wallets: (accounts) => this.#ask((at) => this.#lookUp(accounts, at), this.#schedule.lookUpsLag),
      states: (accounts) =>
        this.#ask((at) => {
          const states = new Map(accounts.flatMap((account) => this.#newestLtOf(account, at)));
          const claimed = new Map(accounts.flatMap((account) => this.#newestLtOf(account, this.#now)));
          const rows = this.#lookUp(accounts, at).rows.map(({ address, owner, jetton }) => {
            return { address, owner, jetton, lt: states.get(address) ?? 0n, isByState: true as const, isZero: false };
          });
          const isClaimed = this.#leavesOut('states show that they come from a database with the block');
          return { rows, lts: isClaimed ? claimed : states, indexer: '' };
        }, this.#schedule.lookUpsLag),
    };
  }

  #lookUp(accounts: readonly string[], at: number): LookedUp {
    const isEarly = this.#leavesOut('the page comes before the look-up');
    const rows = this.#walletsAt(isEarly ? at - 1500 : at).filter(({ address }) => accounts.includes(address));
    const exact = new Map(rows.map(({ address, lt }) => [address, lt]));
    const claimed = new Map(accounts.flatMap((account) => this.#newestLtOf(account, this.#now)));
    if (isEarly || this.#leavesOut('a look-up shows that it comes from a database with the block'))
      return { rows, lts: claimed, indexer: '' };
    if (!this.#leavesOut('a later transaction does not show that a database has a block'))
      return { rows, lts: exact, indexer: '' };
    // Any of its transactions up to the shown one counts: the oldest that may not be settled yet.
    const lts = rows.flatMap(({ address, lt }) =>
      this.#commits
        .filter((commit) => commit.account === address && commit.lt <= lt && this.#lookUps.isUnsettled(commit.seqno))
        .map((commit) => [address, commit.lt] as const)
        .slice(0, 1),
    );
    return { rows, lts: new Map([...exact, ...lts]), indexer: '' };
  }

  #newestLtOf(account: string, at: number): [string, bigint][] {
    const lts = this.#commits.filter((row) => row.account === account && row.committedAt <= at).map(({ lt }) => lt);
    return lts.length === 0 ? [] : [[account, lts.reduce((one, other) => (one > other ? one : other))]];
  }

  /** The rows that the follower looks up. */
  #lookedUp(rows: readonly BlockRow[]): readonly BlockRow[] {
    if (this.#leavesOut('owners are looked up')) return [];
    if (this.#leavesOut('a transfer to no account touches its sender'))
      return rows.map((row) => (row.transfer?.body === TO_NOBODY ? { ...row, transfer: undefined } : row));
    if (!this.#leavesOut('any account can become a jetton wallet')) return rows;
    return (rows as readonly Commit[]).filter(({ wasActive, wasWallet }) => !wasActive || wasWallet);
  }

  /** The touches, without those that a missing rule ignores. */
  #touchesAsUsed(): ProofsDependencies['touches'] {
    const touches = this.#touches;
    const withoutNew = this.#leavesOut('a new wallet touches the list of its owner');
    const withoutOld = this.#leavesOut('a wallet touches the lists in which it stands');
    const isIgnored = (key: string, { wallet }: Touch) =>
      wallet !== undefined &&
      ((withoutNew && key.startsWith('wallets of ')) ||
        (withoutOld && (key.startsWith('owner of ') || key !== `wallets of ${wallet.owner}`)));
    return {
      lastOf: (key) => touches.lastOf(key),
      since: (key, from) => [...touches.since(key, from)].filter((touch) => !isIgnored(key, touch)),
      add: (rows) => touches.add(rows),
      get forgottenUntil() {
        return touches.forgottenUntil;
      },
    };
  }

  /** A client polls: it gets the kept answer if that is proven, otherwise a new one. */
  #poll(form: string): void {
    const kept = this.#kept.get(form);
    if (kept !== undefined && kept.proof.doubt === undefined) {
      this.#proven++;
      this.#judge(form, kept.body);
      return;
    }
    if (this.#asking.has(form)) return;
    this.#asking.add(form);
    const askedAt = this.#now;
    const lagMs = this.#polls++ % 2 === 0 ? 0 : this.#schedule.pollsLagMs;
    void this.#ask((at) => this.#bodyOf(form, at - lagMs)).then((body) => {
      this.#asking.delete(form);
      const call = callOf(form, this.#leavesOut('only the two words are directions'));
      if (call === undefined) return;
      const evidence = call.operation.evidence?.(call.request, JSON.parse(body));
      const used = evidence && this.#evidenceAsUsed(evidence, form);
      const proof = this.#proofs.proofOf(used, call.operation.touchedBy?.(call.request) ?? [], askedAt);
      if (proof !== undefined) this.#kept.set(form, { proof, body });
    });
  }

  #evidenceAsUsed(evidence: Evidence, form: string): Evidence {
    const limit = Number(/limit=(\d+)/.exec(form)?.[1] ?? Number.NaN);
    const isTaken = this.#leavesOut('a full page can lack a wallet') && evidence.kind === 'wallets';
    return isTaken && evidence.wallets.size === limit
      ? { ...evidence, wallets: new CompleteMap(evidence.wallets) }
      : evidence;
  }

  /** An answer may be older by a second, and by the lag of the replica. */
  #judge(form: string, body: string): void {
    const from = this.#now - 1000 - this.#schedule.lagMs;
    const instants = [from, ...this.#roundsAt.filter((at) => at > from && at <= this.#now)];
    if (!instants.some((at) => this.#bodyOf(form, at) === body)) this.#outdated.push(`${form} at ${this.#now}`);
  }

  /** The jetton wallets in the database, in the order in which they came. */
  #walletsAt(
    at: number,
  ): { address: string; owner: string; jetton: string; lt: bigint; isZero: boolean; balance: number }[] {
    const latest = new Map<string, Commit>();
    for (const commit of this.#commits) {
      if (commit.committedAt > at || commit.row === undefined) continue;
      if (commit.row === null && !this.#schedule.forgetsDeleted) continue;
      const known = latest.get(commit.account);
      if (known === undefined || known.lt < commit.lt) latest.set(commit.account, commit);
    }
    return [...latest.values()].flatMap(({ account, lt, row }) =>
      row === null || row === undefined ? [] : [{ address: account, lt, isZero: row.balance === 0, ...row }],
    );
  }

  #bodyOf(form: string, at: number): string {
    const { searchParams: query } = new URL(`http://x/${form}`);
    const limit = Number(query.get('limit') ?? 1000);
    const owner = query.get('owner_address');
    if (form.startsWith('jetton/wallets')) {
      const rows = this.#walletsAt(at)
        .filter((row) => row.owner === owner && row.jetton === (query.get('jetton_address') ?? row.jetton))
        .filter(({ isZero }) => !isZero || !query.has('exclude_zero_balance'))
        .map(({ lt, isZero: _, balance, ...row }) => ({ ...row, balance: `${balance}`, last_transaction_lt: `${lt}` }));
      return JSON.stringify({ jetton_wallets: rows.slice(0, limit) });
    }
    const direction = query.get('direction');
    const isListed = ({ account, transfer, to }: Commit) => {
      if (to === undefined) return false;
      if (query.has('jetton_wallet')) return account === query.get('jetton_wallet');
      const [isTo, isFrom] = [to === owner, transfer?.source === owner];
      // Any other word than `in` means `out` to the indexer.
      return direction === null ? isTo || isFrom : direction === 'in' ? isTo : isFrom;
    };
    const rows = this.#commits
      .filter((commit) => commit.committedAt <= at && isListed(commit))
      .toSorted((one, other) => Number(other.lt - one.lt))
      .map(({ hash, lt, now }) => ({ transaction_hash: hash, transaction_lt: `${lt}`, transaction_now: now }));
    return JSON.stringify({ jetton_transfers: rows.slice(0, limit) });
  }
}

/** It takes every wallet as shown. */
class CompleteMap extends Map<string, bigint> {
  override get(address: string): bigint {
    return super.get(address) ?? 2n ** 64n;
  }
}

/** `undefined` for a request without a cached form. */
function callOf(form: string, inLowerCase: boolean): Call | undefined {
  const [name, query = ''] = form.split('?');
  const operation = name === 'jetton/wallets' ? jettonWallets : jettonTransfers;
  try {
    return parseCall(operation, inLowerCase ? query.toLowerCase() : query, {});
  } catch (error) {
    if (error instanceof ProxyError && error.code === 'not-cacheable') return undefined;
    throw error;
  }
}

/** What the chain does, in its own order. */
function commitsOf({ happenings, hasHotWallet, cutsPages }: OwnerSchedule, roundsAt: readonly number[]): Commit[] {
  const rows = new Map<string, Row>();
  /** Another contract runs in each block. */
  const others = (round: number, isCrowded: boolean): Happening[] =>
    Array.from({ length: isCrowded && cutsPages && round >= CROWDED_FROM ? CROWD : 1 }, (_, n) => {
      return { kind: 'plain', account: ACCOUNTS + 1 + round * CROWD + n, owner: 0, jetton: 0, balance: 0 };
    });
  const hot = (round: number): Happening[] =>
    hasHotWallet ? [{ kind: round === 0 ? 'own' : 'run', account: ACCOUNTS, owner: 0, jetton: 0, balance: 1 }] : [];
  const active = new Set<string>();
  return happenings.flatMap((ofRound, round) =>
    [...hot(round), ...others(round, ofRound.length > 1), ...ofRound].map(
      ({ kind, account: n, owner, jetton, balance }, place): Commit => {
        const account = accountAt(n);
        const before = rows.get(account);
        const row = rowAfter(kind, before, { owner: ownerAt(owner), jetton: jettonAt(jetton), balance });
        const wasActive = active.has(account);
        active.add(account);
        if (row === null) rows.delete(account);
        else if (row !== undefined) rows.set(account, row);
        const isTransfer = kind === 'send' || kind === 'waste' || kind === 'pretend';
        const to = kind === 'send' ? ownerAt(owner) : kind === 'waste' ? 'nobody' : undefined;
        return {
          account,
          lt: LEAST_LT + BigInt(round * 100 + place),
          hash: `${round}:${place}`,
          now: Math.floor(round * 0.4),
          seqno: FIRST_SEQNO + round,
          committedAt: roundsAt[round] ?? 0,
          row,
          to: before && to,
          transfer: isTransfer
            ? { source: before?.owner ?? ownerAt(0), body: kind === 'waste' ? TO_NOBODY : BODIES[owner] }
            : undefined,
          isGone: row === null || undefined,
          wasActive,
          wasWallet: before !== undefined,
        };
      },
    ),
  );
}

function rowAfter(kind: Happening['kind'], before: Row | undefined, next: Row): Row | null | undefined {
  switch (kind) {
    case 'own':
      return next;
    case 'run':
    case 'send':
    case 'waste':
      return before && { ...before, balance: next.balance };
    case 'delete':
      return before && null;
    default:
      return undefined;
  }
}
