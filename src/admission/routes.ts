import type { Health } from '../fleet/health.ts';
import type { Ms } from '../time-units.ts';
import { type Guard, type Refusal, type RouteRequest, refusalNow } from './guard.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Slots } from './slots.ts';

/** One indexer, as admission sees it. */
export interface Route {
  /** Its place in the settings, backups last. */
  readonly index: number;
  /** Whether it is asked only while no other can answer, or the others are full. */
  readonly isBackup: boolean;
  readonly slots: Slots;
  /** Absent when its rate is not limited. */
  readonly rate: RateLimit | undefined;
  /** By operation: the pause and circuit breaker that apply to its requests, in the order in which they are asked. */
  readonly guards: ReadonlyMap<string, readonly Guard[]>;
  /** Absent where there is one indexer: then it is asked however it fares. */
  readonly health?: Health | undefined;
  /** Whether its chain is so far behind that its answers come from the past, or what it says of its chain is wrong. */
  readonly isBehind?: () => boolean;
  /** Whether it has a masterchain block by its own word. */
  readonly hasBlock?: (seqno: number) => boolean;
  /** The newest masterchain block that it has by its own word; -1 while that is unknown or does not count. */
  readonly newestBlock?: () => number;
}

const NO_OTHER: Refusal = { reason: 'breaker-open', retryAfterMs: 0 };

/**
 * The indexers that a request may be sent to. Of those that no guard closes the best sort is asked:
 *
 *   well and up to date; the backup; those that are behind; those whose requests fail
 *
 * An indexer that has the masterchain block of a request goes before those that have not, also if it is behind: a block
 * does not change. One whose history lacks the block that another one has is not asked for it at all, whatever became of
 * that one: its 404 would be wrong. A block that is not there yet is asked for where the newest block is.
 *
 * Of several of one sort, two at random are compared and the one with less to do is taken, by the time that its requests
 * take and how many it has (the power of two choices; Mitzenmacher 2001, and "peak EWMA" in Finagle and Envoy). A request
 * for the head itself goes to the one of them with the newest block: the one that lags would have the least to do.
 */
export class Routes {
  readonly #random: () => number;
  readonly #routes: readonly Route[];
  readonly #ownRoutes: Readonly<Record<string, readonly Route[]>>;
  readonly #toNewest: ReadonlySet<string>;

  /**
   * `random`: 0 to 1. `ownRoutes`: by operation, for those that have slots and health of their own at the same indexers, in
   * the same order. `toNewest`: the operations whose requests go to the indexer with the newest block.
   */
  constructor(
    random: () => number,
    routes: readonly Route[],
    ownRoutes: Readonly<Record<string, readonly Route[]>> = {},
    toNewest: ReadonlySet<string> = new Set(),
  ) {
    this.#random = random;
    this.#routes = routes;
    this.#ownRoutes = ownRoutes;
    this.#toNewest = toNewest;
  }

  /** All that requests of an operation can be sent to. */
  of(operation: string): readonly Route[] {
    return this.#ownRoutes[operation] ?? this.#routes;
  }

  /** Those that a request may be sent to now, whether or not they have a free slot; or why there is none. */
  openTo(request: RouteRequest): readonly Route[] | Refusal {
    const open: Route[] = [];
    let refusal: Refusal | undefined;
    const routes = this.of(request.operation);
    const isKnown = routes.some((route) => !route.isBackup && hasIt(route, request));
    for (const route of routes) {
      if (route.index === request.not || (request.toBackup === true && !route.isBackup)) continue;
      if (request.at !== undefined && route.index !== request.at) continue;
      if (route.isBackup && request.withClientKey === true) continue;
      if (isKnown && isGone(route, request)) continue;
      const its = refusalBy(route, request);
      if (its === undefined) open.push(route);
      else if (refusal === undefined || isSooner(its, refusal)) refusal = its;
    }
    const best = bestOf(open, request);
    return best.length > 0 ? best : (refusal ?? NO_OTHER);
  }

  /**
   * A request as it is to be sent: elsewhere, if an indexer has paused its key alone. So it does not wait in one queue with
   * requests that this indexer may be sent, and holds them up.
   */
  elsewhere<Request extends RouteRequest>(request: Request): Request {
    const routes = this.of(request.operation);
    if (routes.length === 1 || request.not !== undefined || request.at !== undefined) return request;
    const paused = routes.find((route) => refusalBy(route, request)?.reason === 'key-paused');
    if (paused === undefined) return request;
    const other = { ...request, not: paused.index };
    return 'reason' in this.openTo(other) ? request : other;
  }

  /** Whether there is a backup that a request of a client may be sent to. */
  hasBackup({ operation, withClientKey, at }: RouteRequest): boolean {
    return withClientKey !== true && at === undefined && this.of(operation).some(({ isBackup }) => isBackup);
  }

  /** The one of these, all free, that a request is to be sent to. */
  choose(free: readonly Route[], { operation }: Pick<RouteRequest, 'operation'>): Route | undefined {
    const equal = this.#toNewest.has(operation) && free.length > 1 ? newestAmong(free) : free;
    if (equal.length <= 1) return equal[0];
    const first = Math.floor(this.#random() * equal.length);
    const second = (first + 1 + Math.floor(this.#random() * (equal.length - 1))) % equal.length;
    const [one, other] = [equal[first], equal[second]];
    const load = (route: Route | undefined) => route?.health?.loadMs ?? 0;
    return load(other) < load(one) ? other : one;
  }
}

/** How long a request waits for a slot of these behind so many others; `undefined` while that is not known. */
export function slotWaitMs(routes: readonly Route[], { operation }: RouteRequest, ahead: number): Ms | undefined {
  let perMs = 0;
  for (const { slots } of routes) {
    const waitMs = slots.waitMs(operation, 1);
    if (waitMs === undefined) return undefined;
    perMs += 1 / waitMs;
  }
  return ahead / perMs;
}

/** How long a request waits for a turn of the rate of one of these behind so many others. */
export function turnWaitMs(routes: readonly Route[], request: RouteRequest, ahead: () => number): Ms {
  const rates = routes.flatMap((route) => rateOf(route, request) ?? []);
  if (rates.length < routes.length || rates.length === 0) return 0;
  const each = ahead() / rates.length;
  return Math.min(...rates.map((rate) => rate.expectedWaitMs(each)));
}

/** The guards that apply to a request: none if it is sent with the client's own API key. */
export function guardsOf({ guards }: Route, { operation, withClientKey }: RouteRequest): readonly Guard[] {
  return withClientKey === true ? [] : (guards.get(operation) ?? []);
}

/** The rate that a request needs a turn of: none if it is sent with the client's own API key. */
export function rateOf({ rate }: Route, { withClientKey }: RouteRequest): RateLimit | undefined {
  return withClientKey === true ? undefined : rate;
}

/** Whether a route has a free slot that a client may hold; a refresh has no client. */
export function hasSlot({ slots }: Route, operation: string, client: string | undefined): boolean {
  return slots.mayTake(operation) && slots.mayHold(operation, client);
}

/** Why the first guard that does not let a request through refuses it now; `undefined` when all let it through. */
export function refusalBy(route: Route, request: RouteRequest): Refusal | undefined {
  for (const guard of guardsOf(route, request)) {
    const refusal = refusalNow(guard, request.key);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Whether a refusal ends sooner than another; that an indexer does not serve the operation counts if all say so. */
function isSooner(one: Refusal, other: Refusal): boolean {
  if (one.reason === 'not-served' || other.reason === 'not-served') return one.reason !== 'not-served';
  return one.retryAfterMs < other.retryAfterMs;
}

function bestOf(open: readonly Route[], request: RouteRequest): readonly Route[] {
  const isUpToDate = (route: Route) => sortOf(route, request) <= SORTS.behindWithBlock;
  if (request.isHedge === true) return open.filter(isUpToDate);
  if (open.length <= 1) return open;
  const best = Math.min(...open.map((route) => sortOf(route, request)));
  const same = open.filter((route) => sortOf(route, request) === best);
  const { seqno } = request;
  return seqno !== undefined && same.every((route) => newestOf(route) < seqno) ? newestAmong(same) : same;
}

/** Those of these that have the newest block. */
function newestAmong(routes: readonly Route[]): readonly Route[] {
  const newest = Math.max(...routes.map(newestOf));
  return routes.filter((route) => newestOf(route) === newest);
}

/** The lower, the better. Of requests about no block, all indexers have it. */
const SORTS = { upToDate: 0, behindWithBlock: 1, withoutBlock: 2, backup: 3, behind: 4, failing: 5 } as const;

function sortOf(route: Route, request: RouteRequest): number {
  const { health, isBehind, isBackup } = route;
  const failing = health?.isFailing === true ? SORTS.failing : 0;
  if (isBackup) return failing + SORTS.backup;
  const has = hasIt(route, request);
  if (isBehind?.() === true) return failing + (has ? SORTS.behindWithBlock : SORTS.behind);
  return failing + (has || request.seqno === undefined ? SORTS.upToDate : SORTS.withoutBlock);
}

/** Whether a request is about a masterchain block that an indexer has by its own word. */
function hasIt({ hasBlock }: Route, { seqno }: RouteRequest): boolean {
  return seqno !== undefined && hasBlock?.(seqno) === true;
}

/** Whether a request is about a masterchain block that the history of an indexer does not hold, though it is older. */
function isGone(route: Route, { seqno }: RouteRequest): boolean {
  return seqno !== undefined && seqno <= newestOf(route) && route.hasBlock?.(seqno) === false;
}

function newestOf({ newestBlock }: Route): number {
  return newestBlock?.() ?? -1;
}
