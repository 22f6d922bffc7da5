import type { ProxyEvent, RequestOutcome } from '../answer/events.ts';
import { type ErrorCode, UPSTREAM_FAILURES } from '../errors.ts';

/** How requests are answered. */
export const REQUEST_OUTCOMES = Object.keys({
  'hit-memory': 0,
  'hit-redis': 0,
  stale: 0,
  collapsed: 0,
  miss: 0,
  invalid: 0,
  failed: 0,
} satisfies Record<RequestOutcome, 0>);

/** The failures of requests for an operation that are not the client's fault. */
export const FAILURES = [
  ...UPSTREAM_FAILURES,
  'overloaded',
  'too-many-requests',
  'shutting-down',
  'internal',
] satisfies readonly ErrorCode[];

type ShedEvent = Extract<ProxyEvent, { name: 'shed' }>;

/** Why loads are not sent. */
export const SHED_REASONS = Object.keys({
  'breaker-open': 0,
  'client-limit': 0,
  deadline: 0,
  'expected-wait': 0,
  memory: 0,
  'no-free-slot': 0,
  paused: 0,
  'queue-full': 0,
  'rate-limit': 0,
  'too-many-waiting': 0,
  'waited-too-long': 0,
} satisfies Record<ShedEvent['reason'], 0>);
