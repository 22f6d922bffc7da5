import type { Proof } from '../freshness.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { type Evidence, showsRow } from '../ton/evidence.ts';
import type { ReadBlocks } from './read-blocks.ts';
import type { Position, Touches } from './touches.ts';

/** The follower is alive while its mark is younger than this. */
const ALIVE_MS: Ms = 1000;

/** A shorter window does not cover a replica that lags. */
const SHORTEST_WINDOW_MS: Ms = 10_000;

/**
 * Why a kept answer is not proven. `not-alive`: not all blocks that existed a second ago are known to be read.
 * `too-old`: it is older than its bound. `asked-too-early`: blocks were skipped or forgotten since its request.
 * `window-too-short`: touches are kept for too short a time. `touched`: a block touched its accounts.
 */
export type ProofDoubt = 'not-alive' | 'too-old' | 'asked-too-early' | 'window-too-short' | 'touched';

export interface ProofsDependencies {
  readonly touches: Pick<Touches, 'lastOf' | 'rowsOf' | 'windowFrom' | 'windowMs' | 'add'>;
  readonly blocks: Pick<ReadBlocks, 'mark'>;
  readonly now: () => MonotonicMs;
  /**
   * The longest time for which an answer may be proven: one whose body has data that changes without a block, and any
   * other.
   */
  readonly boundsMs: { readonly withNames: Ms; readonly plain: Ms };
}

/**
 * Decides which kept answers the blocks prove. An answer about accounts' own rows stays true until the indexer commits
 * a block with a transaction of one of these accounts. At look-up it is proven if all of this holds:
 *
 * 1. The follower is alive: it has read every block that existed a second ago.
 * 2. At the answer's request, the blocks of the 10 s before had been read, and no block was skipped since.
 * 3. No touch of its accounts was read after its request.
 * 4. Its body showed every touch of its accounts that was read before: the replica that answers may lag behind the
 *    replica from which blocks are read.
 * 5. It is younger than its bound: some data in bodies changes without a block.
 *
 * The order counts, not the time. Races between the commit C of a transaction, the read R of its block, and a request
 * Q:
 *
 * - 1. C. 2. R. 3. Q is sent. Its answer holds C, or comes from a replica that lags, and fails 4.
 * - 1. Q is sent. 2. C. 3. R. The answer may lack C. It was requested before R, and fails 3.
 * - 1. C. 2. Q is sent. 3. R. The same: whether the answer holds C does not matter.
 */
export class Proofs {
  readonly #dependencies: ProofsDependencies;
  #position: Position = 0;
  /** No answer requested before this is proven; infinite until the blocks of the last 10 s are read. */
  #validFrom: Position = Number.POSITIVE_INFINITY;

  constructor(dependencies: ProofsDependencies) {
    this.#dependencies = dependencies;
  }

  /** The follower's position in the blocks. Take it when a request is sent. */
  get position(): Position {
    return this.#position;
  }

  get isAlive(): boolean {
    const { blocks, now } = this.#dependencies;
    return this.#validFrom <= this.#position && now() - blocks.mark < ALIVE_MS;
  }

  /** Takes the rows of a whole block. Call before the block counts as read. */
  read(rows: Parameters<Touches['add']>[0]): void {
    this.#dependencies.touches.add(rows, ++this.#position);
  }

  /** Blocks may have been skipped: no answer requested so far is proven, nor any other before {@link caughtUp}. */
  skipped(): void {
    this.#position++;
    this.#validFrom = Number.POSITIVE_INFINITY;
  }

  /** The blocks of the last 10 s are read. Later calls do nothing, until blocks are skipped. */
  caughtUp(): void {
    this.#validFrom = Math.min(this.#validFrom, this.#position);
  }

  /**
   * The proof of an answer that has just arrived; `undefined` if its body fails the check, or earlier blocks were not
   * read.
   * @param askedFrom The {@link position} at its request.
   * @param askedAt The instant of its request.
   */
  proofOf(evidence: Evidence, askedFrom: Position, askedAt: MonotonicMs): Proof | undefined {
    const { touches, boundsMs } = this.#dependencies;
    const { accounts, hasNames } = evidence;
    if (askedFrom < this.#validFrom) return undefined;
    const rows = accounts.flatMap((account) => touches.rowsOf(account));
    if (!rows.every((row) => showsRow(evidence, row))) return undefined;
    const keptMs = hasNames ? boundsMs.withNames : boundsMs.plain;
    return { askedFrom, accounts, until: askedAt + keptMs, keptMs };
  }

  /** The reason why a kept answer is not proven now; `undefined` if it is. */
  doubtOf({ askedFrom, accounts, until }: Proof): ProofDoubt | undefined {
    const { touches, now } = this.#dependencies;
    if (!this.isAlive) return 'not-alive';
    if (now() >= until) return 'too-old';
    if (askedFrom < this.#validFrom || askedFrom < touches.windowFrom) return 'asked-too-early';
    if (touches.windowMs < SHORTEST_WINDOW_MS) return 'window-too-short';
    return accounts.every((account) => (touches.lastOf(account) ?? 0) <= askedFrom) ? undefined : 'touched';
  }
}
