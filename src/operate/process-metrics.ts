import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';

/**
 * Gauges of prom-client with names of counters, which `promtool check metrics` refuses. Their numbers are in
 * `nodejs_active_handles`, `nodejs_active_requests` and `nodejs_active_resources`, by type.
 */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

let ofProcess: readonly Metric[] | undefined;

/**
 * Metrics of the process itself, under the usual names of Prometheus' clients, so that common dashboards show them.
 * They are collected once, for any number of proxies in a process. prom-client never ends its observer of garbage
 * collections, which keeps the registry and everything that it reads in memory, nor its timer of 10 ms.
 */
export function metricsOfProcess(): readonly Metric[] {
  if (ofProcess !== undefined) return ofProcess;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  ofProcess = registry.getMetricsAsArray().flatMap(({ name }) => registry.getSingleMetric(name) ?? []);
  return ofProcess;
}

/** The p99 of the delay of the event loop since the last look, in seconds. */
export async function loopLagSeconds(): Promise<number> {
  const registry = new Registry();
  const names = ['nodejs_eventloop_lag_min_seconds', 'nodejs_eventloop_lag_p99_seconds'];
  for (const metric of metricsOfProcess())
    if ('name' in metric && names.includes(String(metric.name))) registry.registerMetric(metric);
  // The first of them reads the histogram for all, and resets it.
  const [, p99] = await registry.getMetricsAsJSON();
  return Number(p99?.values[0]?.value ?? 0);
}
