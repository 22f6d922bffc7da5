import type { MonotonicMs, Ms } from '../time-units.ts';
import type { BlockRow } from '../ton/block-facts.ts';
import type { ShownRow } from '../ton/evidence.ts';

/** The memory of a touch, if it is the only one of its account (measured: 334 bytes; 252 if the account has more). */
const TOUCH_BYTES = 340;

/**
 * A transaction of an account, and when this instance saw it: in a block that it read, or in an answer. Or a jetton
 * wallet at a key of `ton/owner-keys.ts`, and when its block was settled.
 */
export interface Touch extends ShownRow {
  readonly batch: Pick<Batch, 'seenAt'>;
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

  /** Takes transactions that this instance sees now. */
  add(rows: readonly BlockRow[]): void {
    if (rows.length === 0) return;
    const accounts = rows.map(({ account }) => account);
    const batch: Batch = { seenAt: this.#dependencies.now(), accounts };
    this.#batches.push(batch);
    this.#count += rows.length;
    for (const { account, lt, hash, now, wallet } of rows) {
      const touch = wallet === undefined ? { batch, lt, hash, now } : { batch, lt, hash, now, wallet };
      const known = this.#touches.get(account);
      if (known === undefined) this.#touches.set(account, [touch]);
      else known.push(touch);
    }
    this.#forget();
  }

  /** When an account was last touched; `undefined` if no touch is known. */
  lastOf(account: string): MonotonicMs | undefined {
    return this.#touches.get(account)?.at(-1)?.batch.seenAt;
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
      for (const account of oldest.accounts) {
        const touches = this.#touches.get(account);
        // The oldest touch of an account belongs to the oldest of its batches.
        if (touches === undefined || touches.length <= 1) this.#touches.delete(account);
        else touches.shift();
      }
    }
  }
}
