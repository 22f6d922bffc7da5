import type { Guard } from '../admission/guard.ts';
import type { Pause } from '../admission/pause.ts';
import { REFUSED } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import type { FleetRoute } from '../fleet/routes.ts';
import type { Head } from '../indexer/head.ts';
import type { Ms } from '../time-units.ts';
import type { AppContext } from './context.ts';

/** One indexer, as it is measured. */
interface MeasuredIndexer {
  readonly head: Head;
  readonly route: FleetRoute;
  readonly pause: Pick<Pause, 'breaker'>;
  /** By operation. */
  readonly breakers: ReadonlyMap<string, Guard>;
}

/** Adds the gauges of one indexer. */
export function addIndexerGauges(
  { metrics }: AppContext,
  upstream: string,
  { head, route, pause, breakers }: MeasuredIndexer,
): void {
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    metrics.gauge(name, help, read, { upstream });
  const seconds = (ms: Ms | undefined) => (ms === undefined ? undefined : ms / 1000);
  gauge('upstream_head_seqno', 'The newest masterchain block of each indexer; 0 if unknown.', () =>
    Math.max(0, head.highestBlock),
  );
  gauge(
    'upstream_head_age_seconds',
    'Age of the newest block of each indexer at its last head poll, by our clock; negative if it is ahead. Absent without head polls.',
    () => seconds(head.lastWord?.ageMs),
  );
  gauge(
    'upstream_head_unchanged_seconds',
    'Time for which the newest block of each indexer has been the same. Absent without head polls.',
    () => seconds(head.lastWord?.sameForMs),
  );
  gauge('upstream_backup', '1 if the indexer is a backup, else 0.', () => Number(route.isBackup));
  gauge('upstream_slots_in_use', 'Slots in use at each indexer.', () => route.slots.inUse);
  gauge('upstream_peak_latency_seconds', 'The longest time that a recent request to each indexer took.', () =>
    seconds(route.health?.peakMs ?? 0),
  );
  gauge('upstream_unhealthy', '1 while requests to an indexer fail, so that the others are used; else 0.', () =>
    Number(route.health?.isHealthy === false),
  );
  gauge('upstream_paused', `1 after ${sentenceOf(REFUSED.paused)}, until it answers again; else 0.`, () =>
    Number(!pause.breaker.isClosed),
  );
  const help = '1 while the circuit breaker of an operation at an indexer is open; else 0.';
  for (const [operation, { breaker }] of breakers)
    metrics.gauge('circuit_breaker_open', help, () => Number(!breaker.isClosed), { upstream, operation });
}
