import type { MonotonicMs, Ms } from '../time-units.ts';
import { ClientSlots } from './client-slots.ts';

/**
 * The estimate is made of the last one to two windows. A window is as short as this if as many requests have ended in it
 * as slots are in use, so that it follows when the load jumps.
 */
const SHORTEST_MS = 250;
const LONGEST_MS = 1000;

export interface SlotUseDependencies {
  readonly now: () => MonotonicMs;
  /** After so long a time in which no request ends, newcomers would wait too long. */
  readonly patienceMs: Ms;
}

/** A measurement that is older than this no longer counts: either no request ends, or there are none. */
const MEASURED_MS: Ms = 250;

/** Slot-milliseconds that were used, and requests that ended, in one window. */
interface Window {
  usedMs: Ms;
  ended: number;
  readonly since: MonotonicMs;
}

/** What is known of the last two windows at one instant. */
interface Measured {
  readonly at: MonotonicMs;
  readonly usedMs: Ms;
  readonly ended: number;
  /** Slots in use then, or on average in the windows, whichever are more. */
  readonly slots: number;
}

/**
 * How requests of one operation use slots, and how long they wait for them:
 *
 *   wait = those ahead * slot time / slots
 *   slot time = slot-milliseconds used in the window / requests that ended in it
 *   slots = those in use, now or on average in the window, whichever are more
 *
 * It is measured after each turn of the event loop in which requests ended, not in between. On a busy machine a turn is
 * delayed, and new requests and answers come in it together: an estimate with the time that passed, but without the answers
 * of this turn, would be up to twice as long, and part of a burst would be refused.
 *
 * While no request ends for {@link MEASURED_MS}, the slots in use count, so the estimate grows while an indexer hangs. It
 * is not known before three quarters as many requests have ended as slots are in use, or slots are in use for a second:
 * the first of many answers would say that all the others take as long again.
 */
export class SlotUse {
  readonly #now: () => MonotonicMs;
  readonly #patienceMs: Ms;
  #older: Window = { usedMs: 0, ended: 0, since: 0 };
  #newer: Window = { usedMs: 0, ended: 0, since: 0 };
  #inUse = 0;
  #countedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** Since when slots are in use. */
  #busySince: MonotonicMs = 0;
  #measured: Measured = { at: Number.NEGATIVE_INFINITY, usedMs: 0, ended: 0, slots: 0 };
  #willMeasure = false;

  constructor({ now, patienceMs }: SlotUseDependencies) {
    this.#now = now;
    this.#patienceMs = patienceMs;
  }

  /** Slots in use now. */
  get inUse(): number {
    return this.#inUse;
  }

  /** A request was given a slot. */
  begin(): void {
    const now = this.#count();
    if (this.#inUse === 0) this.#busySince = now;
    this.#inUse++;
  }

  /** A request gave its slot back; `wasSent`: whether it was at the indexer. */
  end(wasSent: boolean): void {
    this.#count();
    this.#inUse--;
    if (!wasSent) return;
    this.#newer.ended++;
    if (this.#willMeasure) return;
    this.#willMeasure = true;
    setImmediate(() => {
      this.#willMeasure = false;
      this.#measured = this.#measure();
    });
  }

  /** How long a request waits behind so many others; `undefined` while that is not known. */
  waitMs(ahead: number): Ms | undefined {
    const now = this.#count();
    const busyMs = this.#inUse > 0 ? now - this.#busySince : 0;
    const isMeasured = now - this.#measured.at < MEASURED_MS;
    if (!isMeasured && this.#inUse > 0 && busyMs < MEASURED_MS) return undefined;
    const { usedMs, ended, slots } = isMeasured ? this.#measured : this.#measure();
    if (ended >= Math.max(0.75 * this.#inUse, 1) || (ended > 0 && busyMs >= LONGEST_MS)) {
      return (ahead * usedMs) / ended / Math.max(this.#inUse, slots, 1);
    }
    return ended === 0 && busyMs > this.#patienceMs ? Number.POSITIVE_INFINITY : undefined;
  }

  #measure(): Measured {
    const at = this.#count();
    const usedMs = this.#older.usedMs + this.#newer.usedMs;
    const average = usedMs / Math.max(1, at - this.#older.since);
    return { at, usedMs, ended: this.#older.ended + this.#newer.ended, slots: Math.max(this.#inUse, average) };
  }

  #count(): MonotonicMs {
    const now = this.#now();
    if (now - this.#countedAt >= 2 * LONGEST_MS) {
      // What ended before is too old.
      this.#older = { usedMs: this.#inUse * LONGEST_MS, ended: 0, since: now - LONGEST_MS };
      this.#newer = { usedMs: 0, ended: 0, since: now };
    } else {
      this.#newer.usedMs += this.#inUse * (now - this.#countedAt);
      const lastsMs = now - this.#newer.since;
      if (lastsMs >= (this.#newer.ended >= this.#inUse ? SHORTEST_MS : LONGEST_MS)) {
        this.#older = this.#newer;
        this.#newer = { usedMs: 0, ended: 0, since: now };
      }
    }
    this.#countedAt = now;
    return now;
  }
}

/** No slots are kept free for an operation that was not asked for within this time. */
const RECENTLY_MS: Ms = 60_000;

/** The part of an operation's share that is never lent to others while the operation is in use. */
const NEVER_LENT = 1 / 4;

export interface SlotsDependencies extends SlotUseDependencies {
  /** The most requests that may be at the indexer at once. */
  readonly max: number;
  /**
   * The fraction of the slots that is each operation's share, 0 to 1. An operation that is not named has none. Where the
   * operations in use have more than all slots together, the fractions are weights.
   */
  readonly shares: Readonly<Record<string, number>>;
}

interface OperationSlots {
  readonly use: SlotUse;
  readonly clients: ClientSlots;
  usedAt: MonotonicMs;
}

/** The operations in use, those asked for within the last minute: the sum of their fractions, and how many have one. */
interface InUse {
  readonly fractions: number;
  readonly count: number;
}

/**
 * The slots for requests at the indexer. Each operation has a share, and its unused slots are lent to the others. A
 * quarter of the share (at least one slot) is never lent while the operation was asked for within the last minute. So
 * when one operation's requests hang and take all they can borrow, the others still have slots of their own.
 *
 * An operation may start another request when a slot is free and (kept: the slots of an operation that are never lent)
 *
 *   in use < kept, or free slots > sum over the other operations of max(0, kept - in use)
 *
 * Where there are no more slots than operations in use, that sum counts for half of the slots at most: else each
 * operation would have one slot, however little the others ask. Of those that an operation may have, a client may hold a
 * part ({@link ClientSlots}).
 */
export class Slots {
  readonly #dependencies: SlotsDependencies;
  readonly #operations = new Map<string, OperationSlots>();
  readonly max: number;
  #inUse = 0;

  constructor(dependencies: SlotsDependencies) {
    this.#dependencies = dependencies;
    this.max = dependencies.max;
  }

  /** Slots taken now. */
  get inUse(): number {
    return this.#inUse;
  }

  /** Remembers that an operation is in use, and by whom, whether or not it gets a slot. */
  touch(operation: string, clients: Iterable<string> = []): void {
    const touched = this.#of(operation);
    touched.usedAt = this.#dependencies.now();
    for (const client of clients) touched.clients.seen(client);
  }

  /** Whether an operation may take a slot now. */
  mayTake(operation: string): boolean {
    const recent = this.#recent();
    const free = this.max - this.#inUse;
    // An operation that uses fewer than its kept slots takes any free one, also where those of another one are lent too:
    // lent slots come back one at a time, and if each were kept free for the other operation, neither would get one.
    if (this.#of(operation).use.inUse < this.#kept(operation, recent)) return free > 0;
    let keptFree = 0;
    for (const [other, { use, usedAt }] of this.#operations) {
      if (other !== operation && this.#isRecent(usedAt)) {
        keptFree += Math.max(0, this.#kept(other, recent) - use.inUse);
      }
    }
    return free > (this.max <= recent.count ? Math.min(keptFree, Math.floor(this.max / 2)) : keptFree);
  }

  /** Whether a client may hold one more of the slots of an operation; a refresh has no client, and always may. */
  mayHold(operation: string, client: string | undefined): boolean {
    if (client === undefined) return true;
    const recent = this.#recent();
    let slots = this.max;
    for (const [other, { usedAt }] of this.#operations) {
      if (other !== operation && this.#isRecent(usedAt)) slots -= this.#kept(other, recent);
    }
    return this.#of(operation).clients.mayTake(client, slots);
  }

  /** Whether an operation uses less than its share: then it goes before the others. */
  isBelowShare(operation: string): boolean {
    return this.#of(operation).use.inUse < this.#share(operation, this.#recent());
  }

  /** How long a request of an operation waits behind so many others; `undefined` while that is not known. */
  waitMs(operation: string, ahead: number): Ms | undefined {
    return this.#of(operation).use.waitMs(ahead);
  }

  /** `client`: who holds it; absent for a refresh. */
  take(operation: string, client?: string): void {
    const { use, clients } = this.#of(operation);
    use.begin();
    if (client !== undefined) clients.take(client);
    this.#inUse++;
  }

  /** Gives a slot back; `wasSent`: whether its request was at the indexer. */
  release(operation: string, wasSent: boolean, client?: string): void {
    const { use, clients } = this.#of(operation);
    use.end(wasSent);
    if (client !== undefined) clients.release(client);
    this.#inUse--;
  }

  /** The slots of an operation that are never lent: at least one, if it has a share. */
  #kept(operation: string, recent: InUse): number {
    const share = this.#share(operation, recent);
    return share === 0 ? 0 : Math.max(1, Math.round(share * NEVER_LENT));
  }

  #share(operation: string, { fractions }: InUse): number {
    return (this.max * this.#fraction(operation)) / Math.max(1, fractions);
  }

  #fraction(operation: string): number {
    return this.#dependencies.shares[operation] ?? 0;
  }

  #recent(): InUse {
    let [fractions, count] = [0, 0];
    for (const [operation, { usedAt }] of this.#operations) {
      const fraction = this.#isRecent(usedAt) ? this.#fraction(operation) : 0;
      fractions += fraction;
      if (fraction > 0) count++;
    }
    return { fractions, count };
  }

  #isRecent(usedAt: MonotonicMs): boolean {
    return usedAt > this.#dependencies.now() - RECENTLY_MS;
  }

  #of(operation: string): OperationSlots {
    const known = this.#operations.get(operation);
    if (known !== undefined) return known;
    const use = new SlotUse(this.#dependencies);
    const clients = new ClientSlots(this.#dependencies.now);
    const slots = { use, clients, usedAt: Number.NEGATIVE_INFINITY };
    this.#operations.set(operation, slots);
    return slots;
  }
}
