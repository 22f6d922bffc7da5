import { REFUSED } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import type { Heads } from '../fleet/heads.ts';
import type { Ms } from '../time-units.ts';
import type { AppContext } from './context.ts';
import type { OpenIndexer } from './indexer.ts';

/** Adds the gauges of one indexer. `heads`: absent without two replicas. */
export function addIndexerGauges(
  { metrics }: AppContext,
  { name: upstream, head, route, pause, breakers }: OpenIndexer,
  heads: Heads | undefined,
): void {
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    metrics.gauge(name, help, read, { upstream });
  const seconds = (ms: Ms | undefined) => (ms === undefined ? undefined : ms / 1000);
  gauge('upstream_head_seqno', 'The newest masterchain block of each indexer; 0 if unknown.', () =>
    Math.max(0, head.highestBlock),
  );
  gauge(
    'upstream_head_age_seconds',
    "Age of each indexer's newest block when a response last showed it, by toncache's clock; negative if the block is ahead of the clock. Absent if no response has shown it for 60 s.",
    () => seconds(head.lastWord?.ageMs),
  );
  gauge(
    'upstream_head_unchanged_seconds',
    "How long each indexer's newest block had been the same when a response last showed it. Absent if no response has shown it for 60 s.",
    () => seconds(head.lastWord?.sameForMs),
  );
  gauge('upstream_backup', '1 if the indexer is a backup, otherwise 0.', () => Number(route.isBackup));
  gauge('upstream_slots_in_use', 'Slots for cached operations in use at each indexer.', () => route.slots.inUse);
  gauge('upstream_peak_latency_seconds', 'Duration of the slowest recent request; 0 for a single indexer.', () =>
    seconds(route.health?.peakMs ?? 0),
  );
  gauge('upstream_unhealthy', '1 while requests to an indexer fail, so that others are preferred, otherwise 0.', () =>
    Number(route.health?.isHealthy === false),
  );
  gauge('upstream_paused', `1 while ${sentenceOf(REFUSED.paused)}, otherwise 0.`, () =>
    Number(!pause.breaker.isClosed),
  );
  const help = '1 while the circuit breaker of an operation at an indexer is open: no misses are sent. Otherwise 0.';
  const halfOpen =
    '1 while the circuit breaker of an operation at an indexer is half-open: the next miss is a trial. Otherwise 0.';
  for (const [operation, { breaker }] of breakers) {
    const labels = { upstream, operation };
    metrics.gauge('circuit_breaker_open', help, () => Number(breaker.state === 'open'), labels);
    metrics.gauge('circuit_breaker_half_open', halfOpen, () => Number(breaker.state === 'half-open'), labels);
  }
  gauge(
    'upstream_lag_blocks',
    'Number of blocks that each indexer lags behind the newest known block; 0 for a backup or a single indexer.',
    () => heads?.lag(route.index) ?? 0,
  );
  gauge('upstream_behind', '1 while an indexer lags by more than upstream.maxLag blocks, otherwise 0.', () =>
    Number(heads?.isBehind(route.index) === true),
  );
}
