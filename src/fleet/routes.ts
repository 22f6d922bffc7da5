import type { Refusal, RouteRequest } from '../admission/guard.ts';
import { type Route, type RouteChoice, refusalBy } from '../admission/route.ts';
import type { Health } from './health.ts';

/** One indexer, as the choice among several sees it. */
export interface FleetRoute extends Route {
  /** Absent with one indexer, which gets requests even while it fails. */
  readonly health?: Health | undefined;
  /** True if its chain is too far behind, so that its answers are outdated, or if its head is wrong. */
  readonly isBehind?: () => boolean;
  readonly hasBlock?: (seqno: number) => boolean;
  /** The newest masterchain block that it reports; -1 while that is unknown or does not count. */
  readonly newestBlock?: () => number;
}

const NO_OTHER: Refusal = { reason: 'breaker-open', retryAfterMs: 0 };

/**
 * The indexers that a request may be sent to. Among those that no guard closes, the first of these sorts gets it:
 *
 *   healthy and up to date; the backup; those that are behind; those whose requests fail
 *
 * An indexer that has the request's masterchain block goes before those that lack it, even if it is behind: a block
 * does not change. An indexer whose history lacks the block is not used at all while another one has the block, even if
 * that one fails: its 404 would be wrong. A request for a block that does not exist yet goes to the indexer with the
 * newest block.
 *
 * Within a sort, two random indexers are compared and the one with less load is chosen, by its request time and its
 * number of requests (the power of two choices; Mitzenmacher 2001, and "peak EWMA" in Finagle and Envoy). A request for
 * the head goes to the indexer with the newest block, because an indexer that lags has less load.
 */
export class Routes implements RouteChoice {
  readonly #random: () => number;
  readonly #routes: readonly FleetRoute[];
  readonly #ownRoutes: Readonly<Record<string, readonly FleetRoute[]>>;
  readonly #toNewest: ReadonlySet<string>;

  /**
   * `random`: 0 to 1. `ownRoutes`: by operation, for operations with their own slots and health at the same indexers,
   * in the same order. `toNewest`: the operations whose requests go to the indexer with the newest block.
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

  of(operation: string): readonly FleetRoute[] {
    return this.#ownRoutes[operation] ?? this.#routes;
  }

  /** The routes that may get a request now, with or without a free slot; or the refusal if there is none. */
  openTo(request: RouteRequest): readonly FleetRoute[] | Refusal {
    const open: FleetRoute[] = [];
    let refusal: Refusal | undefined;
    const routes = this.of(request.operation);
    const { rate, isOurs, not, at } = request;
    const isKnown = routes.some((route) => !route.isBackup && hasIt(route, request));
    for (const route of routes) {
      if (route.index === not || (rate === 'backup' && !route.isBackup)) continue;
      if (at !== undefined && route.index !== at) continue;
      if (route.isBackup && !isOurs) continue;
      if (isKnown && isGone(route, request)) continue;
      const its = refusalBy(route, request);
      if (its === undefined) open.push(route);
      else if (refusal === undefined || isSooner(its, refusal)) refusal = its;
    }
    const best = bestOf(open, request);
    return best.length > 0 ? best : (refusal ?? NO_OTHER);
  }

  /**
   * Redirects a request away from an indexer that has paused only its key. So it does not wait in one queue with
   * requests that this indexer may get, and does not hold them up.
   */
  butNot<Request extends RouteRequest>(request: Request): Request {
    const routes = this.of(request.operation);
    if (routes.length === 1 || request.not !== undefined || request.at !== undefined) return request;
    const paused = routes.find((route) => refusalBy(route, request)?.reason === 'key-paused');
    if (paused === undefined) return request;
    const other = { ...request, not: paused.index };
    return 'reason' in this.openTo(other) ? request : other;
  }

  /**
   * Redirects a request to the backups if its wait for these routes is too long; `undefined` if it may not go to a
   * backup, or was offered to them already.
   */
  overflow<Request extends RouteRequest>(request: Request, open: readonly FleetRoute[]): Request | undefined {
    const { operation, rate, isOurs, at } = request;
    if (rate !== 'own' || !isOurs || at !== undefined) return undefined;
    const isOffered = open.every(({ isBackup }) => isBackup) || !this.of(operation).some(({ isBackup }) => isBackup);
    return isOffered ? undefined : { ...request, rate: 'backup' };
  }

  /** For operators: why each route would not get a request now; `undefined` for those of which one would get it. */
  whyNot(request: RouteRequest): readonly (WhyNot | undefined)[] {
    const open = this.openTo(request);
    return this.of(request.operation).map((route) => {
      if (!('reason' in open) && open.includes(route)) return undefined;
      return refusalBy(route, request)?.reason ?? UNCHOSEN[sortOf(route, request)] ?? 'failing';
    });
  }

  /** Chooses one of these routes, all free, for a request. */
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

/** These refusals count only if no indexer has another one; the first of them only if all indexers have it. */
const LAST: readonly Refusal['reason'][] = ['other-chain', 'not-served'];

function isSooner(one: Refusal, other: Refusal): boolean {
  const [ofOne, ofOther] = [LAST.indexOf(one.reason), LAST.indexOf(other.reason)].map((place) =>
    place < 0 ? 2 : place,
  );
  return ofOne === ofOther ? one.retryAfterMs < other.retryAfterMs : Number(ofOne) > Number(ofOther);
}

function bestOf(open: readonly FleetRoute[], request: RouteRequest): readonly FleetRoute[] {
  const isUpToDate = (route: FleetRoute) => sortOf(route, request) <= SORTS.behindWithBlock;
  if (request.isExtra === true) return open.filter(isUpToDate);
  if (open.length <= 1) return open;
  const best = Math.min(...open.map((route) => sortOf(route, request)));
  const same = open.filter((route) => sortOf(route, request) === best);
  const { seqno } = request;
  return seqno !== undefined && same.every((route) => newestOf(route) < seqno) ? newestAmong(same) : same;
}

/** Those of these routes that have the newest block. */
function newestAmong(routes: readonly FleetRoute[]): readonly FleetRoute[] {
  const newest = Math.max(...routes.map(newestOf));
  return routes.filter((route) => newestOf(route) === newest);
}

/** Why a route does not get a request: it refuses it, or another route is better. */
export type WhyNot = Refusal['reason'] | 'without-block' | 'behind' | 'backup' | 'failing';

/** Lower is better. For requests about no block, every indexer counts as having it. */
const SORTS = { upToDate: 0, behindWithBlock: 1, withoutBlock: 2, backup: 3, behind: 4, failing: 5 } as const;

/** Why a route of each sort is not chosen. */
const UNCHOSEN: readonly WhyNot[] = ['without-block', 'behind', 'without-block', 'backup', 'behind'];

function sortOf(route: FleetRoute, request: RouteRequest): number {
  const { health, isBehind, isBackup } = route;
  const failing = health?.isFailing === true ? SORTS.failing : 0;
  if (isBackup) return failing + SORTS.backup;
  const has = hasIt(route, request);
  if (isBehind?.() === true) return failing + (has ? SORTS.behindWithBlock : SORTS.behind);
  return failing + (has || request.seqno === undefined ? SORTS.upToDate : SORTS.withoutBlock);
}

/** True if a request is about a masterchain block that an indexer reports to have. */
function hasIt({ hasBlock }: FleetRoute, { seqno }: RouteRequest): boolean {
  return seqno !== undefined && hasBlock?.(seqno) === true;
}

/** True if a request is about a masterchain block that is older than the indexer's history. */
function isGone(route: FleetRoute, { seqno }: RouteRequest): boolean {
  return seqno !== undefined && seqno <= newestOf(route) && route.hasBlock?.(seqno) === false;
}

function newestOf({ newestBlock }: FleetRoute): number {
  return newestBlock?.() ?? -1;
}
