import { inMap } from '../in-map.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { ClientSlots } from './client-slots.ts';

/**
 * The estimate covers the last one or two windows. A window is as short as this if as many requests have ended in it as
 * slots are in use, so that the estimate follows a jump of the load.
 */
const SHORTEST_MS = 250;
const LONGEST_MS = 1000;

export interface SlotUseDependencies {
  readonly now: () => MonotonicMs;
  /** After this time without the end of a request, new requests would wait too long. */
  readonly patienceMs: Ms;
}

/** A measurement older than this no longer counts: either no request ends, or there are none. */
const MEASURED_MS: Ms = 250;

/** Used slot-milliseconds, and ended requests, of one window. */
interface Window {
  usedMs: Ms;
  ended: number;
  readonly since: MonotonicMs;
}

/** The values of the last two windows at one instant. */
interface Measured {
  readonly at: MonotonicMs;
  readonly usedMs: Ms;
  readonly ended: number;
  /** Slots in use at that instant, or on average in the windows, whichever is more. */
  readonly slots: number;
}

/**
 * How requests of one operation use slots, and their wait for a slot:
 *
 *   wait = requests ahead * slot time / slots
 *   slot time = slot-milliseconds used in the window / requests that ended in it
 *   slots = slots in use, now or on average in the window, whichever is more
 *
 * It is measured after each turn of the event loop in which requests ended, not in between. On a busy machine a turn is
 * delayed, and contains new requests as well as answers. An estimate with the elapsed time, but without the answers of
 * this turn, would be up to twice as long, and part of a burst would be refused.
 *
 * While no request ends for {@link MEASURED_MS}, the slots in use count, so the estimate grows while an indexer hangs.
 * It is unknown until three quarters as many requests have ended as slots are in use, or slots have been in use for a
 * second: the first of many answers would suggest that all others take as long again.
 */
export class SlotUse {
  readonly #now: () => MonotonicMs;
  readonly #patienceMs: Ms;
  #older: Window = { usedMs: 0, ended: 0, since: 0 };
  #newer: Window = { usedMs: 0, ended: 0, since: 0 };
  #inUse = 0;
  #countedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The time since which slots are in use. */
  #busySince: MonotonicMs = 0;
  #measured: Measured = { at: Number.NEGATIVE_INFINITY, usedMs: 0, ended: 0, slots: 0 };
  #willMeasure = false;

  constructor({ now, patienceMs }: SlotUseDependencies) {
    this.#now = now;
    this.#patienceMs = patienceMs;
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** A request got a slot. */
  begin(): void {
    const now = this.#count();
    if (this.#inUse === 0) this.#busySince = now;
    this.#inUse++;
  }

  /** A request gave its slot back; `wasSent`: it was sent to the indexer. */
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

  /** The wait of a request behind `ahead` others; `undefined` while unknown. */
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
      // Earlier ends are too old.
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

/** No slots are kept free for an operation without a request within this time. */
const RECENTLY_MS: Ms = 60_000;

/** The part of an operation's share that is never lent while the operation is in use. */
const NEVER_LENT = 1 / 4;

export interface SlotsDependencies extends SlotUseDependencies {
  /** The maximum number of concurrent requests at the indexer. */
  readonly max: number;
  /**
   * Each operation's share as a fraction of the slots, 0 to 1. An operation without an entry has no share. If the
   * operations in use have more than all slots together, the fractions are weights.
   */
  readonly shares: Readonly<Record<string, number>>;
}

interface OperationSlots {
  readonly use: SlotUse;
  readonly clients: ClientSlots;
  usedAt: MonotonicMs;
}

/**
 * The operations in use (requested within the last minute): the sum of their fractions, and the number of those with a
 * fraction.
 */
interface InUse {
  readonly fractions: number;
  readonly count: number;
}

/**
 * Gives up slots that stand empty: while an operation is in use, up to a quarter of its share waits for its next
 * request, although others could use it. Gives up a rule in one line. For that an operation whose requests hang never
 * takes all slots, and with a single operation in use it still gets nearly all of them: a fixed share for each would
 * waste more, and one pool for all would stop everything with the slowest (a database hangs by kind of query).
 *
 * The slots for requests at the indexer. Each operation has a share, and lends its unused slots to the others. While an
 * operation is in use (requested within the last minute), a quarter of its share, at least one slot, is never lent. So
 * when one operation's requests hang and take all they can borrow, the others still have slots of their own.
 *
 * An operation may start another request when a slot is free and
 *
 *   in use < never lent, or free slots > sum over the other operations of max(0, never lent - in use)
 *
 * If there are no more slots than operations in use, this sum counts for at most half of the slots: otherwise each
 * operation would have one slot, however few requests the others send. One client may hold a part of an operation's
 * slots ({@link ClientSlots}).
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

  get inUse(): number {
    return this.#inUse;
  }

  /** Remembers that an operation is in use, and by which clients, also if it gets no slot. */
  touch(operation: string, clients: Iterable<string> = []): void {
    const touched = this.#of(operation);
    touched.usedAt = this.#dependencies.now();
    for (const client of clients) touched.clients.seen(client);
  }

  mayTake(operation: string): boolean {
    const recent = this.#recent();
    const free = this.max - this.#inUse;
    // An operation that uses fewer slots than it never lends takes any free slot, even if those of another operation are
    // lent too. Lent slots come back one at a time: if each were kept free for the other operation, neither would get one.
    if (this.#of(operation).use.inUse < this.#neverLent(operation, recent)) return free > 0;
    let neverLentFree = 0;
    for (const [other, { use, usedAt }] of this.#operations) {
      if (other !== operation && this.#isRecent(usedAt)) {
        neverLentFree += Math.max(0, this.#neverLent(other, recent) - use.inUse);
      }
    }
    return free > (this.max <= recent.count ? Math.min(neverLentFree, Math.floor(this.max / 2)) : neverLentFree);
  }

  /** True if a client may hold one more of the slots of an operation; a refresh has no client, and always may. */
  mayHold(operation: string, client: string | undefined): boolean {
    if (client === undefined) return true;
    const recent = this.#recent();
    let slots = this.max;
    for (const [other, { usedAt }] of this.#operations) {
      if (other !== operation && this.#isRecent(usedAt)) slots -= this.#neverLent(other, recent);
    }
    return this.#of(operation).clients.mayTake(client, slots);
  }

  /** True if an operation uses less than its share: then it goes before the others. */
  isBelowShare(operation: string): boolean {
    return this.#of(operation).use.inUse < this.#share(operation, this.#recent());
  }

  /** The wait of a request of an operation behind `ahead` others; `undefined` while unknown. */
  waitMs(operation: string, ahead: number): Ms | undefined {
    return this.#of(operation).use.waitMs(ahead);
  }

  /** `client`: the holder; absent for a refresh. */
  take(operation: string, client?: string): void {
    const { use, clients } = this.#of(operation);
    use.begin();
    if (client !== undefined) clients.take(client);
    this.#inUse++;
  }

  /** Gives a slot back; `wasSent`: its request was sent to the indexer. */
  release(operation: string, wasSent: boolean, client?: string): void {
    const { use, clients } = this.#of(operation);
    use.end(wasSent);
    if (client !== undefined) clients.release(client);
    this.#inUse--;
  }

  /** The slots of an operation that are never lent: at least one, if it has a share. */
  #neverLent(operation: string, recent: InUse): number {
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

  readonly #newOperation = (): OperationSlots => ({
    use: new SlotUse(this.#dependencies),
    clients: new ClientSlots(this.#dependencies.now),
    usedAt: Number.NEGATIVE_INFINITY,
  });

  #of(operation: string): OperationSlots {
    return inMap(this.#operations, operation, this.#newOperation);
  }
}
