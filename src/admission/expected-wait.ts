import type { Ms } from '../time-units.ts';
import type { Refusal, RouteRequest } from './guard.ts';
import { hasSlot, type Route, type RouteChoice, rateOf } from './route.ts';
import type { WaitingQueues } from './waiting-queues.ts';

/** The expected wait of a new request, behind those that wait, and its reason. */
export function expectedWait(
  request: RouteRequest,
  routes: RouteChoice,
  queues: Pick<WaitingQueues<unknown>, 'ahead' | 'aheadForReservation'>,
  patienceMs: Ms,
): Refusal {
  const open = routes.openTo(request);
  const all = 'reason' in open ? [] : open;
  const [client] = request.clients;
  const ahead = queues.ahead(request);
  const isFree = ahead === 0 || all.some((route) => hasSlot(route, request.operation, client));
  // Waiters ahead of it give up after their patience.
  const slotMs = isFree ? 0 : Math.min(slotWaitMs(all, request, ahead) ?? 0, 2 * patienceMs);
  const reservationMs = reservationWaitMs(all, request, () => queues.aheadForReservation(request));
  if (reservationMs > slotMs) return { reason: 'rate-limit', retryAfterMs: reservationMs };
  return { reason: 'expected-wait', retryAfterMs: slotMs };
}

/**
 * The expected wait of a request for a slot at any of these routes, behind `ahead` others; `undefined` while unknown.
 */
function slotWaitMs(routes: readonly Route[], { operation }: RouteRequest, ahead: number): Ms | undefined {
  let perMs = 0;
  for (const { slots } of routes) {
    const waitMs = slots.waitMs(operation, 1);
    if (waitMs === undefined) return undefined;
    perMs += 1 / waitMs;
  }
  return ahead / perMs;
}

/** The expected wait of a request for a reservation at any of these routes, behind `ahead` others. */
function reservationWaitMs(routes: readonly Route[], request: RouteRequest, ahead: () => number): Ms {
  const rates = routes.flatMap((route) => rateOf(route, request) ?? []);
  if (rates.length < routes.length || rates.length === 0) return 0;
  const each = ahead() / rates.length;
  return Math.min(...rates.map((rate) => rate.expectedWaitMs(each)));
}
