import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';

/**
 * A place in the follower's sequence of events: the number of whole blocks that had arrived by then, and of times that
 * blocks were skipped. Proofs compare positions, not times: an event with a greater position came later.
 */
export type Position = number;

/** The rows of a block are kept for this long. Bodies of answers are checked against them. */
const ROWS_KEPT_MS: Ms = 60_000;

/** The memory of an account in one block: its name, and its place in a list and in the map. */
const ACCOUNT_BYTES = 200;

/** The memory of a row: an object, its hash and a bigint. */
const ROW_BYTES = 250;

export interface TouchesDependencies {
  readonly now: () => MonotonicMs;
  /** Touches are kept for this long: the longest time for which an answer can be proven. */
  readonly keptMs: Ms;
  /** The bound on the memory of all touches. Above it the oldest blocks are dropped, and the window shrinks. */
  readonly maxBytes: number;
}

interface TouchedBlock {
  readonly position: Position;
  readonly readAt: MonotonicMs;
  readonly accounts: readonly string[];
  /** By account; empty after {@link ROWS_KEPT_MS}. */
  rows: ReadonlyMap<string, readonly BlockRow[]>;
  bytes: number;
}

/**
 * The accounts whose transactions the blocks show. All accounts are kept, not only polled ones, so that the answer to
 * the first request for an account can be judged as well.
 */
export class Touches {
  readonly #dependencies: TouchesDependencies;
  /** The oldest first. */
  readonly #blocks: TouchedBlock[] = [];
  readonly #lastOf = new Map<string, Position>();
  /** The newest block that was dropped. */
  #forgotten: Pick<TouchedBlock, 'position' | 'readAt'> = { position: 0, readAt: Number.NEGATIVE_INFINITY };
  #bytes = 0;

  constructor(dependencies: TouchesDependencies) {
    this.#dependencies = dependencies;
  }

  /** The memory of all touches, as counted for the bound. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Touches up to this position are unknown. */
  get windowFrom(): Position {
    return this.#forgotten.position;
  }

  /** The time for which touches are known; infinite until the first one is dropped. */
  get windowMs(): Ms {
    return this.#dependencies.now() - this.#forgotten.readAt;
  }

  /** Takes the rows of a whole block, which arrived at `position`. */
  add(rows: readonly BlockRow[], position: Position): void {
    const byAccount = Map.groupBy(rows, ({ account }) => account);
    const accounts = [...byAccount.keys()];
    const bytes = accounts.length * ACCOUNT_BYTES + rows.length * ROW_BYTES;
    this.#blocks.push({ position, readAt: this.#dependencies.now(), accounts, rows: byAccount, bytes });
    this.#bytes += bytes;
    for (const account of accounts) this.#lastOf.set(account, position);
    this.#forget();
  }

  /** The position of the last touch of an account; `undefined` if the window has none. */
  lastOf(account: string): Position | undefined {
    return this.#lastOf.get(account);
  }

  /** The rows of an account in the blocks that were read within the last {@link ROWS_KEPT_MS}. */
  rowsOf(account: string): readonly BlockRow[] {
    const since = this.#dependencies.now() - ROWS_KEPT_MS;
    return this.#blocks.flatMap(({ rows, readAt }) => (readAt > since ? (rows.get(account) ?? []) : []));
  }

  #forget(): void {
    const { now, keptMs, maxBytes } = this.#dependencies;
    const at = now();
    for (let [oldest] = this.#blocks; oldest !== undefined; [oldest] = this.#blocks) {
      if (at - oldest.readAt < keptMs && this.#bytes <= maxBytes) break;
      this.#blocks.shift();
      this.#bytes -= oldest.bytes;
      this.#forgotten = oldest;
      for (const account of oldest.accounts) {
        if (this.#lastOf.get(account) === oldest.position) this.#lastOf.delete(account);
      }
    }
    for (const block of this.#blocks) {
      if (at - block.readAt < ROWS_KEPT_MS) break;
      if (block.rows.size === 0) continue;
      block.rows = new Map();
      this.#bytes -= block.bytes - block.accounts.length * ACCOUNT_BYTES;
      block.bytes = block.accounts.length * ACCOUNT_BYTES;
    }
  }
}
