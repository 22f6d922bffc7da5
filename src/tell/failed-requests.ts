import type { FailedRequest } from '../answer/finished-request.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { ClientShare } from './client-share.ts';
import type { ConditionName } from './conditions.ts';
import { KEPT_MS } from './counted.ts';

/** Why a request failed, as it said when it failed. */
interface Cause {
  readonly condition: ConditionName;
  readonly upstream: string | undefined;
  readonly operation: string;
  /** In words, if nothing says more. */
  readonly says: string;
}

interface CountedCause extends Cause {
  readonly count: number;
}

interface CountedFailure {
  readonly cause: Cause;
  readonly request: FailedRequest;
  /** True if it was refused because there were too many requests. */
  readonly isForLoad: boolean;
}

/** Failures by cause, and whose they are. Two keys and two clients are enough to know that there are several. */
class Failures {
  readonly causes = new Map<string, CountedCause>();
  readonly keys = new Set<string | symbol>();
  readonly clients = new Set<string>();
  count = 0;
  areForLoad = true;
  /** True if one of the requests names another client in a header that is not read. */
  nameOthers = false;

  add({ cause, request, isForLoad }: CountedFailure): void {
    const { key = Symbol('a request like no other'), requester } = request;
    this.#count(cause, 1);
    this.#remember([key], [requester.client]);
    this.areForLoad &&= isForLoad;
    this.nameOthers ||= requester.unreadHeader !== undefined;
  }

  merge(other: Failures): void {
    for (const cause of other.causes.values()) this.#count(cause, cause.count);
    this.#remember(other.keys, other.clients);
    this.areForLoad &&= other.areForLoad;
    this.nameOthers ||= other.nameOthers;
  }

  #count({ condition, upstream, operation, says }: Cause, count: number): void {
    const key = `${upstream} ${operation} ${says}`;
    const known = this.causes.get(key)?.count ?? 0;
    // The newest one is the last.
    this.causes.delete(key);
    this.causes.set(key, { condition, upstream, operation, says, count: known + count });
    this.count += count;
  }

  #remember(keys: Iterable<string | symbol>, clients: Iterable<string>): void {
    for (const key of keys) if (this.keys.size < 2) this.keys.add(key);
    for (const client of clients) if (this.clients.size < 2) this.clients.add(client);
  }
}

/** The failed requests of the last five minutes, by second. */
export class FailedRequests {
  readonly #now: () => MonotonicMs;
  readonly #share: ClientShare;
  #seconds: { readonly until: MonotonicMs; readonly failures: Failures }[] = [];
  #failures = new Failures();
  #failedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(now: () => MonotonicMs, share: ClientShare) {
    this.#now = now;
    this.#share = share;
  }

  add(failure: CountedFailure): void {
    this.#failures.add(failure);
    this.#share.failed(failure.request.requester.client);
  }

  /** The time since a request failed. */
  get quietMs(): Ms {
    return this.#now() - this.#failedAt;
  }

  /** Call about once a second. Returns true if a request failed since the last call. */
  turn(): boolean {
    const now = this.#now();
    const failures = this.#failures;
    this.#failures = new Failures();
    this.#seconds = this.#seconds.filter(({ until }) => now - until <= KEPT_MS);
    if (failures.causes.size === 0) return false;
    this.#seconds.push({ until: now, failures });
    this.#failedAt = now;
    return true;
  }

  /** The causes of the failures of the last time of this length; the newest is the last. */
  causes(ms: Ms): readonly CountedCause[] {
    return [...this.#within(ms).causes.values()];
  }

  /**
   * True if the failures of the last time of this length concern everybody: they are those of several keys, and of
   * several clients, or of one that sends more than half of all requests, of which there were `asked`. But if only
   * requests of that one are refused for load, and others are answered, the client itself is the load, unless it is a
   * proxy of many.
   */
  areWide(ms: Ms, asked: number): boolean {
    const { keys, clients, count, areForLoad, nameOthers } = this.#within(ms);
    const [client, another] = clients;
    if (keys.size < 2 || client === undefined) return false;
    if (another !== undefined) return true;
    if (areForLoad && !nameOthers) return this.#share.isAlone(client);
    return count > asked / 2 || this.#share.isMost(client);
  }

  #within(ms: Ms): Failures {
    const sum = new Failures();
    for (const { until, failures } of this.#seconds) if (this.#now() - until <= ms) sum.merge(failures);
    return sum;
  }
}
