import type { Refusal, RouteRequest } from '../admission/guard.ts';
import { type Route, refusalBy } from '../admission/route.ts';
import { elsewhere, overflow } from './lanes.ts';

/** One indexer, as the choice among several sees it. */
export interface FleetRoute extends Route {
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
  readonly #routes: readonly FleetRoute[];
  readonly #ownRoutes: Readonly<Record<string, readonly FleetRoute[]>>;
  readonly #toNewest: ReadonlySet<string>;

  /**
   * `random`: 0 to 1. `ownRoutes`: by operation, for those that have slots and health of their own at the same indexers, in
   * the same order. `toNewest`: the operations whose requests go to the indexer with the newest block.
   */
  constructor(
    random: () => number,
    routes: readonly FleetRoute[],
    ownRoutes: Readonly<Record<string, readonly FleetRoute[]>> = {},
    toNewest: ReadonlySet<string> = new Set(),
  ) {
    this.#random = random;
    this.#routes = routes;
    this.#ownRoutes = ownRoutes;
    this.#toNewest = toNewest;
  }

  /** All that requests of an operation can be sent to. */
  of(operation: string): readonly FleetRoute[] {
    return this.#ownRoutes[operation] ?? this.#routes;
  }

  /** Those that a request may be sent to now, whether or not they have a free slot; or why there is none. */
  openTo(request: RouteRequest): readonly FleetRoute[] | Refusal {
    const open: FleetRoute[] = [];
    let refusal: Refusal | undefined;
    const routes = this.of(request.operation);
    const { rate, to } = request.lane;
    const isKnown = routes.some((route) => !route.isBackup && hasIt(route, request));
    for (const route of routes) {
      if (route.index === to.not || (rate === 'backup' && !route.isBackup)) continue;
      if (to.at !== undefined && route.index !== to.at) continue;
      if (route.isBackup && rate === 'none') continue;
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
    const { lane } = request;
    if (routes.length === 1 || lane.to.not !== undefined || lane.to.at !== undefined) return request;
    const paused = routes.find((route) => refusalBy(route, request)?.reason === 'key-paused');
    if (paused === undefined) return request;
    const other = { ...request, lane: elsewhere(lane, paused.index) };
    return 'reason' in this.openTo(other) ? request : other;
  }

  /**
   * A request as it may be sent to a backup, where it would wait too long for these; `undefined` where it may not, or has
   * been offered to the backups already.
   */
  overflow<Request extends RouteRequest>(request: Request, open: readonly FleetRoute[]): Request | undefined {
    const { lane, operation } = request;
    if (lane.rate !== 'own' || lane.to.at !== undefined) return undefined;
    const isOffered = open.every(({ isBackup }) => isBackup) || !this.of(operation).some(({ isBackup }) => isBackup);
    return isOffered ? undefined : { ...request, lane: overflow(lane) };
  }

  /** The one of these, all free, that a request is to be sent to. */
  choose(free: readonly FleetRoute[], { operation }: Pick<RouteRequest, 'operation'>): FleetRoute | undefined {
    const equal = this.#toNewest.has(operation) && free.length > 1 ? newestAmong(free) : free;
    if (equal.length <= 1) return equal[0];
    const first = Math.floor(this.#random() * equal.length);
    const second = (first + 1 + Math.floor(this.#random() * (equal.length - 1))) % equal.length;
    const [one, other] = [equal[first], equal[second]];
    const load = (route: FleetRoute | undefined) => route?.health?.loadMs ?? 0;
    return load(other) < load(one) ? other : one;
  }
}

/** Whether a refusal ends sooner than another; that an indexer does not serve the operation counts if all say so. */
function isSooner(one: Refusal, other: Refusal): boolean {
  if (one.reason === 'not-served' || other.reason === 'not-served') return one.reason !== 'not-served';
  return one.retryAfterMs < other.retryAfterMs;
}

function bestOf(open: readonly FleetRoute[], request: RouteRequest): readonly FleetRoute[] {
  const isUpToDate = (route: FleetRoute) => sortOf(route, request) <= SORTS.behindWithBlock;
  if (request.lane.to.isHedge === true) return open.filter(isUpToDate);
  if (open.length <= 1) return open;
  const best = Math.min(...open.map((route) => sortOf(route, request)));
  const same = open.filter((route) => sortOf(route, request) === best);
  const { seqno } = request.lane.to;
  return seqno !== undefined && same.every((route) => newestOf(route) < seqno) ? newestAmong(same) : same;
}

/** Those of these that have the newest block. */
function newestAmong(routes: readonly FleetRoute[]): readonly FleetRoute[] {
  const newest = Math.max(...routes.map(newestOf));
  return routes.filter((route) => newestOf(route) === newest);
}

/** The lower, the better. Of requests about no block, all indexers have it. */
const SORTS = { upToDate: 0, behindWithBlock: 1, withoutBlock: 2, backup: 3, behind: 4, failing: 5 } as const;

function sortOf(route: FleetRoute, request: RouteRequest): number {
  const { health, isBehind, isBackup } = route;
  const failing = health?.isFailing === true ? SORTS.failing : 0;
  if (isBackup) return failing + SORTS.backup;
  const has = hasIt(route, request);
  if (isBehind?.() === true) return failing + (has ? SORTS.behindWithBlock : SORTS.behind);
  return failing + (has || request.lane.to.seqno === undefined ? SORTS.upToDate : SORTS.withoutBlock);
}

/** Whether a request is about a masterchain block that an indexer has by its own word. */
function hasIt({ hasBlock }: FleetRoute, { lane: { to } }: RouteRequest): boolean {
  return to.seqno !== undefined && hasBlock?.(to.seqno) === true;
}

/** Whether a request is about a masterchain block that the history of an indexer does not hold, though it is older. */
function isGone(route: FleetRoute, { lane: { to } }: RouteRequest): boolean {
  return to.seqno !== undefined && to.seqno <= newestOf(route) && route.hasBlock?.(to.seqno) === false;
}

function newestOf({ newestBlock }: FleetRoute): number {
  return newestBlock?.() ?? -1;
}
