import type { EventHub } from '../event-hub.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { betterReason } from './best-reason.ts';
import type { Conditions } from './present-conditions.ts';

/** A reason up to this long before an outage belongs to it: the error comes before the end of the connection. */
const BEFORE_MS: Ms = 10_000;

/**
 * Says that Redis cannot be used, until there is a connection and reads, writes and purges work. So an outage continues
 * when the connection is opened again without effect, as to a read-only replica. Returns a function that is true while
 * Redis can be used.
 */
export function tellRedis(events: EventHub, conditions: Conditions, now: () => MonotonicMs): () => boolean {
  const unavailable = new Set<string>();
  let isConnected = false;
  let before: { readonly reason: string; readonly at: MonotonicMs } | undefined;
  const learn = (reason: string) => {
    const known = before !== undefined && now() - before.at <= BEFORE_MS ? before.reason : '';
    before = { reason: betterReason(known, reason), at: now() };
    if (unavailable.size > 0) conditions.set('redis-unavailable', {}, before.reason, { lasts: true });
  };
  const turn = (part: string, isAvailable: boolean, reason?: string) => {
    if (isAvailable) unavailable.delete(part);
    else unavailable.add(part);
    if (reason !== undefined) learn(reason);
    if (unavailable.size === 0) before = undefined;
    conditions.turn(unavailable.size > 0, 'redis-unavailable', {}, before?.reason, { lasts: true });
  };
  events.on('redis-error', ({ reason }) => learn(reason));
  events.on('redis-transition', (event) => {
    isConnected = event.state === 'connected';
    turn('connection', isConnected, event.state === 'disconnected' ? event.reason : undefined);
  });
  events.on('redis-available', ({ operation, available, reason }) => {
    turn(operation, available, reason);
    if (operation === 'purges') conditions.turn(!available, 'purges-missed', {}, reason, { lasts: true });
  });
  return () => isConnected && unavailable.size === 0;
}
