import type { ProxyEvent, RequestOutcome } from '../answer/events.ts';
import type { ErrorCode } from '../errors.ts';
import { OPERATIONS } from './gauges.ts';
import type { Tally } from './tallies.ts';

const REQUEST_OUTCOMES = Object.keys({
  'hit-memory': 0,
  'hit-redis': 0,
  stale: 0,
  miss: 0,
  collapsed: 0,
  failed: 0,
  invalid: 0,
} satisfies Record<RequestOutcome, 0>);

/** The failures of requests for an operation that are not the client's fault. */
const FAILURES = [
  'upstream-error',
  'upstream-invalid',
  'upstream-rate-limited',
  'upstream-redirect',
  'upstream-refused-key',
  'upstream-timeout',
  'upstream-too-large',
  'upstream-unreachable',
  'overloaded',
  'too-many-requests',
  'shutting-down',
  'internal',
] satisfies readonly ErrorCode[];

type ShedEvent = Extract<ProxyEvent, { name: 'shed' }>;

const SHED_REASONS = Object.keys({
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

/** Shows the known labels with 0: a counter that begins with its first event hides that one from `rate` and `increase`. */
export function startAtZero(tallies: Readonly<Record<'answered' | 'failed' | 'shed', Tally>>): void {
  for (const operation of OPERATIONS) {
    for (const outcome of REQUEST_OUTCOMES) tallies.answered.start(operation, outcome);
    for (const code of FAILURES) tallies.failed.start(operation, code);
    for (const reason of SHED_REASONS) tallies.shed.start(operation, reason);
  }
}
