import { ask } from './http-client.ts';

/** The metrics that several files of tests read, by their names in these files: a metric is renamed here alone. */
const METRICS = {
  upstreamRequests: 'toncache_upstream_requests_total',
  upstreamInFlight: 'toncache_upstream_requests_in_flight',
  upstreamQueued: 'toncache_upstream_requests_queued',
  loadsRefused: 'toncache_loads_refused_total',
  condition: 'toncache_condition',
  requests: 'toncache_requests_total',
  requestsInFlight: 'toncache_requests_in_flight',
  requestsRefused: 'toncache_requests_refused_total',
  redisCalls: 'toncache_redis_calls_total',
  redisPendingWrites: 'toncache_redis_pending_writes',
  leaseWaits: 'toncache_lease_waits_total',
  breakersOpen: 'toncache_circuit_breaker_open',
  breakersHalfOpen: 'toncache_circuit_breaker_half_open',
  olderAnswers: 'toncache_older_answers_served_total',
  upstreamPaused: 'toncache_upstream_paused',
  purges: 'toncache_purges_total',
  purgesReceived: 'toncache_purges_received_total',
  collapsible: 'toncache_passthrough_collapsible_requests_total',
  streams: 'toncache_client_streams',
  streamsEnded: 'toncache_client_streams_ended_total',
  headSeqno: 'toncache_upstream_head_seqno',
  memoryEntries: 'toncache_memory_tier_entries',
  entriesStored: 'toncache_entries_stored_total',
  bodiesCompressed: 'toncache_bodies_compressed_total',
  answersRegressed: 'toncache_answers_regressed_total',
} as const;

/** A metric of {@link METRICS}, or any other by its public name. */
export type MetricName = keyof typeof METRICS | `${'toncache' | 'process'}_${string}`;

/** The value of a metric of an instance, summed over the samples with all of these labels. */
export async function metricAt(
  adminUrl: string,
  metric: MetricName,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  return metricIn((await ask(adminUrl, '/metrics')).text, metric, labels);
}

/** The same in the text of one reading: values of several metrics belong to one instant. */
export function metricIn(text: string, metric: MetricName, labels: Readonly<Record<string, string>> = {}): number {
  const name = metric in METRICS ? METRICS[metric as keyof typeof METRICS] : metric;
  if (!text.includes(`# TYPE ${name.replace(/_count$/, '')} `)) throw new Error(`no metric is called ${name}`);
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const samples = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const matching = samples.filter((line) => wanted.every((label) => line.includes(label)));
  return matching.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
