import type { EndPass, Guard, Refusal, RouteRequest } from './guard.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Slots } from './slots.ts';

/** One indexer, as admission sees it. */
export interface Route {
  /** Its place in the settings, backups last. */
  readonly index: number;
  /** A backup is used only while no other indexer can answer, or all others are full. */
  readonly isBackup: boolean;
  readonly slots: Slots;
  /** Absent when its rate is not limited. */
  readonly rate: RateLimit | undefined;
  /**
   * Why it gets no requests at all, whatever the request; `undefined` while it gets some. Call it for each request that
   * it could get. Absent if it always does.
   */
  readonly refusal?: () => Refusal | undefined;
  /** By operation: the guards that apply to its requests, in the order of their checks. */
  readonly guards: ReadonlyMap<string, readonly Guard[]>;
  /** Gets the outcome of each request. Absent with one indexer, which gets requests even while it fails. */
  readonly health?: { begin(): EndPass } | undefined;
}

/** The choice among the indexers. `fleet/routes` makes it, and describes each method. */
export interface RouteChoice {
  of(operation: string): readonly Route[];
  openTo(request: RouteRequest): readonly Route[] | Refusal;
  butNot<Request extends RouteRequest>(request: Request): Request;
  overflow<Request extends RouteRequest>(request: Request, open: readonly Route[]): Request | undefined;
  choose(free: readonly Route[], request: Pick<RouteRequest, 'operation'>): Route | undefined;
}

/** The guards that apply to a request: none for a request that only its client's API key counts. */
export function guardsOf({ guards }: Route, { operation, rate }: RouteRequest): readonly Guard[] {
  return rate === 'none' ? [] : (guards.get(operation) ?? []);
}

/** The rate that limits a request; `undefined` for a request that only its client's API key counts. */
export function rateOf(route: Route, { rate }: RouteRequest): RateLimit | undefined {
  return rate === 'none' ? undefined : route.rate;
}

/** True if a route has a free slot for a client. A refresh has no client. */
export function hasSlot({ slots }: Route, operation: string, client: string | undefined): boolean {
  return slots.mayTake(operation) && slots.mayHold(operation, client);
}

/** The refusal of a route, or by the first guard that does not let a request through; `undefined` if all do. */
export function refusalBy(route: Route, request: RouteRequest): Refusal | undefined {
  const ofAll = route.refusal?.();
  if (ofAll !== undefined) return ofAll;
  for (const guard of guardsOf(route, request)) {
    const refusal = guard.refusal(request.key);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
