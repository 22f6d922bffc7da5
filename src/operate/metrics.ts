import { type Metric, Registry } from 'prom-client';
import type { Metrics, ReadMetric } from '../tell/metrics.ts';
import { metricsOfProcess } from './process-metrics.ts';

/** Metrics as prom-client renders them. */
export function registryOf(metrics: readonly ReadMetric[]): Registry {
  const registry = new Registry();
  for (const { read, ...described } of metrics) {
    const metric = { ...described, get: () => Promise.resolve({ ...described, values: read() }) };
    // The cast: Registry is typed for prom-client's own classes, but calls only `name` and `get` of a metric (15.1.3).
    registry.registerMetric(metric as unknown as Metric);
  }
  return registry;
}

/** Returns the page of all metrics, in Prometheus' text format: toncache's own and those of the process. */
export function metricsPage({ all }: Metrics): () => Promise<{ readonly contentType: string; readonly body: string }> {
  const registry = registryOf(all);
  for (const metric of metricsOfProcess()) registry.registerMetric(metric);
  return async () => ({ contentType: registry.contentType, body: await registry.metrics() });
}
