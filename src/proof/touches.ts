import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';
import type { ShownRow } from '../ton/evidence.ts';

/**
 * The memory of a touch with its state, if it is the only one of its account (measured: 460 bytes; 295 to 390 if the
 * account has more; 338 and 268 without the state).
 */
const TOUCH_BYTES = 470;

/**
 * A transaction of an account, and when this instance saw it: in a block that it read, or in an answer. Or a jetton
 * wallet at a key of `ton/owner-keys.ts`, and when its block was settled.
 */
export interface Touch extends ShownRow {
  readonly batch: Pick<Batch, 'seenAt'>;
  /** The state of the account after the newest transaction that was seen by then; `undefined` if it is not known. */
  readonly state?: string | undefined;
  /** Set if it left the last known state as it was: when a transaction was last seen that did not. */
  readonly changedAt?: MonotonicMs;
}

/** A transaction, with the states of its account, code and data, before and after its shard block. */
export interface SeenRow extends BlockRow {
  readonly states?: { readonly before: string | undefined; readonly after: string | undefined };
}

interface Batch {
  readonly seenAt: MonotonicMs;
  /** Of each row of the batch. */
  readonly accounts: readonly string[];
}

export interface TouchesDependencies {
  readonly now: () => MonotonicMs;
  /** Touches are kept for this long: as long as any answer may be judged by them. */
  readonly keptMs: Ms;
  /** The bound on the memory of all touches. Above it the oldest are dropped, so that fewer answers can be judged. */
  readonly maxBytes: number;
}

/**
 * The transactions that blocks have shown. Those of all accounts are kept, not only of polled ones, so that the answer
 * to the first request for an account can be judged as well.
 */
export class Touches {
  readonly #dependencies: TouchesDependencies;
  /** The oldest first. */
  readonly #batches: Batch[] = [];
  /** By account, the oldest first. */
  readonly #touches = new Map<string, Touch[]>();
  #forgottenUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(dependencies: TouchesDependencies) {
    this.#dependencies = dependencies;
  }

  /** The memory of all touches, as counted for the bound. */
  get bytes(): number {
    return this.#count * TOUCH_BYTES;
  }

  /** Touches up to this instant are forgotten. */
  get forgottenUntil(): MonotonicMs {
    return this.#forgottenUntil;
  }

  /**
   * Takes transactions that this instance sees now. Those of an account with states are in the order of logical time.
   * `isBeginning`: nothing is proven before all blocks around these are read, so that they hide no earlier transaction.
   */
  add(rows: readonly SeenRow[], isBeginning = false): void {
    if (rows.length === 0) return;
    const accounts = rows.map(({ account }) => account);
    const batch: Batch = { seenAt: this.#dependencies.now(), accounts };
    this.#batches.push(batch);
    this.#count += rows.length;
    for (const row of rows) {
      const known = this.#touches.get(row.account);
      const touch = touchOf(row, batch, known?.at(-1), isBeginning);
      if (known === undefined) this.#touches.set(row.account, [touch]);
      else known.push(touch);
    }
    this.#forget();
  }

  /** When an account was last touched; `undefined` if no touch is known. */
  lastOf(account: string): MonotonicMs | undefined {
    return this.#touches.get(account)?.at(-1)?.batch.seenAt;
  }

  /** When a transaction of an account was last seen that may have changed its state; -Infinity if none is known. */
  lastChangeOf(account: string): MonotonicMs {
    return changeOf(this.#touches.get(account)?.at(-1));
  }

  /** The touches of an account that were seen at an instant or later, the newest first. */
  *since(account: string, from: MonotonicMs): Iterable<Touch> {
    const touches = this.#touches.get(account) ?? [];
    for (let at = touches.length - 1; at >= 0; at--) {
      const touch = touches[at] as Touch;
      if (touch.batch.seenAt < from) return;
      yield touch;
    }
  }

  #forget(): void {
    const { now, keptMs, maxBytes } = this.#dependencies;
    const at = now();
    for (let [oldest] = this.#batches; oldest !== undefined; [oldest] = this.#batches) {
      if (at - oldest.seenAt < keptMs && this.bytes <= maxBytes) break;
      this.#batches.shift();
      this.#count -= oldest.accounts.length;
      this.#forgottenUntil = oldest.seenAt;
      // The oldest touches of an account belong to the oldest of its batches.
      for (const [account, { length }] of Map.groupBy(oldest.accounts, (each) => each)) {
        const touches = this.#touches.get(account);
        if (touches === undefined || touches.length <= length) this.#touches.delete(account);
        // Once for the batch: one account may have most of its touches, and each removal moves all others.
        else touches.splice(0, length);
      }
    }
  }
}

/**
 * A transaction leaves the state as it was if the state is the same before and after it, and is the last known one.
 * Otherwise it would hide a change in a block that is not read yet.
 */
function touchOf(row: SeenRow, batch: Batch, last: Touch | undefined, isBeginning: boolean): Touch {
  const { lt, hash, now, wallet, states } = row;
  if (wallet !== undefined) return { batch, lt, hash, now, wallet };
  if (states === undefined) return { batch, lt, hash, now };
  const { before, after } = states;
  const isLast = last === undefined ? isBeginning : after === last.state;
  if (after !== undefined && after === before && isLast)
    // One string for all.
    return { batch, lt, hash, now, state: last?.state ?? after, changedAt: changeOf(last) };
  return { batch, lt, hash, now, state: last !== undefined && last.lt > lt ? last.state : after };
}

/** When a transaction was last seen, up to this one, that may have changed the state; -Infinity if none is known. */
function changeOf(last: Touch | undefined): MonotonicMs {
  return last?.changedAt ?? last?.batch.seenAt ?? Number.NEGATIVE_INFINITY;
}
