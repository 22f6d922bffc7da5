import type { BlockJudge } from '../answer/block-proof.ts';
import type { Proof, ProofDoubt } from '../freshness.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';
import { type Evidence, type ShownRow, showsRow } from '../ton/evidence.ts';
import { isOwnerKey, type OwnerKey, shownFor } from '../ton/owner-keys.ts';
import type { OwnerLookUps } from './owner-look-ups.ts';
import { type Quiet, withStates } from './quiet.ts';
import type { ReadBlocks } from './read-blocks.ts';
import type { SettledWallets } from './settled-wallets.ts';
import type { SeenRow, Touches } from './touches.ts';

/** The follower is alive while its mark is younger than this. */
const ALIVE_MS: Ms = 1000;

/**
 * A body must show the transactions that were seen up to this long before its request: by then a replica may lag, and a
 * database may have fallen back. The follower starts again after 60 s without an answer.
 */
export const SEEN_BEFORE_MS: Ms = 62_000;

/** Above this number, hashes of shown transactions are forgotten: then they are kept twice once their block is read. */
const MOST_SHOWN = 50_000;

/** The memory of a proof, and of each hash in it. */
const [PROOF_BYTES, HASH_BYTES] = [300, 110];

/** The look-ups of owners, and what they have shown. */
export interface ProofsOfOwners {
  readonly lookUps: Pick<
    OwnerLookUps,
    'isOn' | 'isAlive' | 'areReadSince' | 'isUnsettled' | 'oldestUnsettled' | 'beginAnew'
  >;
  readonly settled: Pick<SettledWallets, 'shown' | 'servedBlock' | 'firstShown'>;
}

export interface ProofsDependencies {
  /** It keeps touches for {@link SEEN_BEFORE_MS} longer than the longest bound. */
  readonly touches: Pick<Touches, 'lastOf' | 'since' | 'forgottenUntil' | 'add'>;
  readonly blocks: Pick<ReadBlocks, 'mark' | 'isUnread' | 'oldestUnread'>;
  /** Absent if no operation in use needs the owners of jetton wallets. */
  readonly owners?: ProofsOfOwners | undefined;
  /** Judges the results of get-methods. Absent if none are proven. */
  readonly quiet?: Quiet | undefined;
  readonly now: () => MonotonicMs;
  /**
   * The longest time for which an answer may be proven: one with `Evidence.hasClaims`, and any other.
   */
  readonly boundsMs: { readonly withClaims: Ms; readonly plain: Ms };
}

/**
 * Gives up every answer in doubt: a slowly read block, a replica that lags or a missing row makes answers live,
 * and they are requested like misses. Gives up requests for blocks, which pay only from some polls a second on. For
 * that a proven answer is true without asking: none lacks a transaction older than a second, in whatever order commits,
 * reads and requests come (`test/model`). A lifetime alone would be wrong for that time, or save nothing.
 *
 * Decides which kept answers the blocks prove. An answer about accounts' own rows stays true until the indexer commits
 * a block with a transaction of one of these accounts. At each look-up it is proven if all of this holds:
 *
 * 1. The follower is alive: it has read every block that existed a second ago.
 * 2. It was requested after the blocks of the 32 s before had been read, and no block was skipped since.
 * 3. It shows every transaction of its accounts that was seen since its request, or in the 62 s before.
 * 4. It is younger than its bound: some data in bodies changes without a block.
 *
 * This gives up the answers that a lagging replica makes look incomplete; they are live. In return the order of commit,
 * read and request does not matter: a body that shows every transaction is true, and one from an older state lacks one.
 */
export class Proofs implements BlockJudge {
  readonly #dependencies: ProofsDependencies;
  #isOn = false;
  /** No answer requested before this is proven; infinite until the blocks of the last 32 s are read. */
  #validFrom: MonotonicMs = Number.POSITIVE_INFINITY;
  /** The hashes of transactions that answers have shown, and whose blocks have not been read since. */
  readonly #shown = new Set<string>();

  constructor(dependencies: ProofsDependencies) {
    this.#dependencies = dependencies;
  }

  /** True until the blocks of the last 32 s are read. */
  get isBeginning(): boolean {
    return this.#validFrom === Number.POSITIVE_INFINITY;
  }

  get isAlive(): boolean {
    const { blocks, now } = this.#dependencies;
    return !this.isBeginning && now() - blocks.mark < ALIVE_MS;
  }

  get unreadFrom(): number {
    const { blocks, owners } = this.#dependencies;
    if (!this.#isOn) return Number.POSITIVE_INFINITY;
    return Math.min(blocks.oldestUnread, owners?.lookUps.oldestUnsettled ?? Number.POSITIVE_INFINITY);
  }

  get mark(): MonotonicMs {
    return this.#dependencies.blocks.mark;
  }

  /** Call when the follower is switched on or off. */
  switched(isOn: boolean): void {
    this.#isOn = isOn;
  }

  /** Takes the rows of a whole block. Call before the block counts as read. */
  read(rows: readonly BlockRow[]): void {
    const { touches } = this.#dependencies;
    touches.add(
      this.#judged(rows).filter(({ hash }) => !this.#shown.delete(hash)),
      this.isBeginning,
    );
  }

  /** Rows as touches need them: only results of get-methods are judged by states. */
  #judged(rows: readonly BlockRow[]): readonly SeenRow[] {
    return this.#dependencies.quiet === undefined ? rows : withStates(rows);
  }

  shown(rows: readonly BlockRow[]): void {
    if (!this.#isOn) return;
    this.#dependencies.owners?.settled.shown(rows.filter(({ seqno }) => this.#isUnsettled(seqno)));
    this.seen(rows);
  }

  /** Takes the final transactions of an answer that no client has seen. */
  seen(rows: readonly BlockRow[]): void {
    if (!this.#isOn) return;
    const { blocks, touches } = this.#dependencies;
    const unread = rows.filter(({ hash, seqno }) => blocks.isUnread(seqno) && !this.#shown.has(hash));
    if (this.#shown.size + unread.length > MOST_SHOWN) this.#shown.clear();
    for (const { hash } of unread) this.#shown.add(hash);
    touches.add(this.#judged(unread), this.isBeginning);
  }

  /** Call when transactions of a block are sent to a client. */
  servedBlock(seqno: number): void {
    if (this.#isOn && this.#isUnsettled(seqno)) this.#dependencies.owners?.settled.servedBlock(seqno);
  }

  #isUnsettled(seqno: number): boolean {
    const { blocks, owners } = this.#dependencies;
    return owners?.lookUps.isOn === true && (blocks.isUnread(seqno) || owners.lookUps.isUnsettled(seqno));
  }

  /** Blocks may have been skipped: no answer requested so far is proven, nor any other before {@link caughtUp}. */
  skipped(): void {
    this.#validFrom = Number.POSITIVE_INFINITY;
    this.#shown.clear();
    this.#dependencies.owners?.lookUps.beginAnew();
  }

  /** The blocks of the last 32 s are read. Later calls do nothing, until blocks are skipped. */
  caughtUp(): void {
    this.#validFrom = Math.min(this.#validFrom, this.#dependencies.now());
  }

  proofOf(
    evidence: Evidence | undefined,
    accounts: readonly string[],
    askedAt: MonotonicMs,
    equalMs?: Ms,
  ): Proof | undefined {
    const judged = evidence?.accounts ?? accounts;
    if (!this.#isOn || judged.length === 0) return undefined;
    if (evidence?.kind !== 'method') return new AnswerProof(this, this.#dependencies, evidence, judged, askedAt);
    const { quiet } = this.#dependencies;
    return quiet?.proves(evidence.method) === true
      ? quiet.proofOf(this, evidence, askedAt, equalMs)
      : new AnswerProof(this, this.#dependencies, undefined, judged, askedAt);
  }

  /** True if the blocks of the 32 s before this instant had been read then, and none was skipped since. */
  areReadSince(instant: MonotonicMs): boolean {
    return instant >= this.#validFrom;
  }
}

/** The judge of one answer. Each transaction is compared once: for a look-up without a new one, a map is read. */
class AnswerProof implements Proof {
  readonly keptMs: Ms;
  readonly bytes: number;
  readonly #proofs: Proofs;
  readonly #dependencies: ProofsDependencies;
  readonly #evidence: Evidence | undefined;
  readonly #accounts: readonly string[];
  /** Set if look-ups of owners judge it. */
  readonly #owners: ProofsOfOwners | undefined;
  readonly #shownBy: readonly OwnerKey[];
  readonly #askedAt: MonotonicMs;
  /** The transactions that were seen before this instant are compared. */
  #comparedUntil: MonotonicMs;
  #lacksOne = false;
  /** When the first transaction was seen, since the request, that the body lacks. */
  #lacksSince: MonotonicMs = Number.POSITIVE_INFINITY;

  constructor(
    proofs: Proofs,
    dependencies: ProofsDependencies,
    evidence: Evidence | undefined,
    accounts: readonly string[],
    askedAt: MonotonicMs,
  ) {
    const { withClaims, plain } = dependencies.boundsMs;
    this.#proofs = proofs;
    this.#dependencies = dependencies;
    this.#evidence = evidence;
    this.#accounts = accounts;
    const ofOwners = accounts.filter(isOwnerKey);
    this.#owners = ofOwners.length > 0 ? dependencies.owners : undefined;
    this.#shownBy = shownFor(ofOwners);
    this.#askedAt = askedAt;
    this.#comparedUntil = askedAt - SEEN_BEFORE_MS;
    this.keptMs = evidence === undefined ? 0 : evidence.hasClaims ? withClaims : plain;
    this.bytes = PROOF_BYTES + listedIn(evidence) * HASH_BYTES;
  }

  get doubt(): ProofDoubt | undefined {
    const { touches, now } = this.#dependencies;
    if (this.#evidence === undefined) return 'not-checked';
    const reading = this.#owners?.lookUps ?? this.#proofs;
    if (!reading.isAlive) return this.#owners === undefined ? 'not-alive' : 'not-settled';
    if (now() >= this.#askedAt + this.keptMs) return 'too-old';
    const isKnown = touches.forgottenUntil < this.#askedAt - SEEN_BEFORE_MS;
    if (!isKnown || !reading.areReadSince(this.#askedAt)) return 'asked-too-early';
    this.#compare();
    if (this.#firstShown(Number.NEGATIVE_INFINITY) < Number.POSITIVE_INFINITY) return 'touched';
    return this.#lacksOne ? 'touched' : undefined;
  }

  isOutdated(at: MonotonicMs = Number.MAX_VALUE): boolean {
    this.#compare();
    return this.#lacksSince <= at || this.#firstShown(this.#askedAt) <= at;
  }

  /** When an answer first showed a transaction, of a block that is not settled, that may change this answer. */
  #firstShown(from: MonotonicMs): MonotonicMs {
    return this.#owners?.settled.firstShown(this.#shownBy, from) ?? Number.POSITIVE_INFINITY;
  }

  #compare(): void {
    const { touches, now } = this.#dependencies;
    // A later transaction changes nothing any more.
    if (this.#lacksSince < Number.POSITIVE_INFINITY) return;
    const from = this.#comparedUntil;
    let isNew = false;
    for (const account of this.#accounts) isNew ||= (touches.lastOf(account) ?? Number.NEGATIVE_INFINITY) >= from;
    if (!isNew) return;
    this.#comparedUntil = now();
    for (const account of this.#accounts) {
      for (const touch of touches.since(account, from)) {
        if (!this.#shows(touch)) this.#lacks(touch.batch.seenAt);
      }
    }
  }

  #shows(row: ShownRow): boolean {
    return this.#evidence !== undefined && showsRow(this.#evidence, row);
  }

  #lacks(seenAt: MonotonicMs): void {
    this.#lacksOne = true;
    if (seenAt >= this.#askedAt) this.#lacksSince = Math.min(this.#lacksSince, seenAt);
  }
}

function listedIn(evidence: Evidence | undefined): number {
  switch (evidence?.kind) {
    case 'page':
    case 'transfers':
      return evidence.hashes.size;
    case 'wallets':
      return evidence.wallets.size;
    default:
      return 0;
  }
}
