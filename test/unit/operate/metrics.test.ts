import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { metricsOfProcess } from '../../../src/operate/process-metrics.ts';
import { OPERATION_NAMES } from '../../../src/ton/operation-names.ts';
import { OperationsInUse } from '../../../src/ton/operations.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';
import { startProxy } from '../../support/start-proxy.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

const ALERTS = read('config/prometheus/alerts.yml');
const ALERT_TESTS = read('config/prometheus/alerts.test.yaml');
const DASHBOARD = read('config/grafana/toncache.json');

/** The names of all series on the metrics page of a proxy that has had no requests. */
async function seriesOfPage(): Promise<Set<string>> {
  const env = { REDIS_URL: 'redis://127.0.0.1:1' };
  await using proxy = await startProxy({ upstreamUrl: 'http://127.0.0.1:1', env });
  const { text } = await proxy.askAdmin('/metrics');
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set(
    types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
    ),
  );
}

/** The parts of PromQL that select or exclude hits in memory by the label `outcome`. */
function matchersOfHits(text: string): string[] {
  const matchers = [...text.matchAll(/outcome(?:=~|!~|!=|=)\\?"([^"\\]+)/g)].map(([, outcomes = '']) => outcomes);
  return matchers.filter((outcomes) => outcomes.includes('hit-memory'));
}

function seriesNamedIn(text: string): string[] {
  return [...new Set(text.match(/\b(?:toncache|process|nodejs)_\w+/g))];
}

describe('the metrics page', () => {
  it('has latency buckets from 0.5 ms to just above the timeout', async () => {
    const env = { UPSTREAM_TIMEOUT: '5s' };
    await using proxy = await startProxy({ upstreamUrl: 'http://127.0.0.1:1', env });
    await proxy.ask('/api/v3/masterchainBlockShards?seqno=1');
    const { text } = await proxy.askAdmin('/metrics');
    const bounds = [...text.matchAll(/^toncache_upstream_request_duration_seconds_bucket\{le="([^"]+)"/gm)].map(
      ([, le]) => le,
    );
    expect([bounds[0], ...bounds.slice(-4)]).toEqual(['0.0005', '2.5', '5', '5.25', '+Inf']);
  });

  it.each([
    ['the three default operations', {}, new OperationsInUse().names],
    ['every operation with CACHE_OPERATIONS=all', { CACHE_OPERATIONS: 'all' }, OPERATION_NAMES],
  ])('counts from zero for %s, so that the first event is an increase', async (_, env, operations) => {
    await using proxy = await startProxy({ upstreamUrl: 'http://127.0.0.1:1', env });
    const { text } = await proxy.askAdmin('/metrics');
    const counted = [
      ...text.matchAll(/^toncache_loads_refused_total\{operation="([^"]+)",reason="client-limit"\} 0$/gm),
    ];
    expect(counted.map(([, operation]) => operation).toSorted()).toEqual([...operations].toSorted());
  });

  it.each([
    ['the alerts', ALERTS],
    ['the dashboard', DASHBOARD],
  ])('is read by %s so that proven hits count as hits in memory', (_, text) => {
    const matchers = matchersOfHits(text);
    expect(matchers.length).toBeGreaterThan(0);
    expect(matchers.filter((outcomes) => !outcomes.split('|').includes('hit-proven'))).toEqual([]);
  });

  it.each([
    ['the alerts', ALERTS],
    ['the tests of the alerts', ALERT_TESTS],
    ['the dashboard', DASHBOARD],
  ])('has every series named in %s', async (_, text) => {
    const named = seriesNamedIn(text);
    expect(named.length).toBeGreaterThan(4);
    const series = await seriesOfPage();
    expect(named.filter((name) => !series.has(name))).toEqual([]);
  });

  it('has an operation label, by which the dashboard shows all operations in use', () => {
    const expressions = [...DASHBOARD.matchAll(/"expr": "(.*)"/g)].map(([, expression = '']) => expression);
    const named = (name: string) => expressions.filter((expression) => expression.includes(name));
    expect(OPERATION_NAMES.flatMap(named)).toEqual([]);
    const byOperation = expressions.filter((expression) => expression.includes('by (operation) (rate('));
    expect(byOperation.flatMap(seriesNamedIn)).toEqual(
      expect.arrayContaining(['toncache_requests_total', 'toncache_upstream_requests_total']),
    );
  });

  it('is watched by alerts that each have a firing test and a text', () => {
    const alerts = [...ALERTS.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);
    expect(alerts.length).toBe(15);
    for (const alert of alerts) expect(ALERT_TESTS).toContain(`alertname: ${alert}\n        exp_alerts:`);
    // A checkout has no address to link to: the release adds each `runbook_url`.
    expect(ALERTS).not.toContain('runbook_url: ');
    for (const part of ['summary', 'description'])
      expect(ALERTS.split(`\n          ${part}: `)).toHaveLength(alerts.length + 1);
  });
});

describe('the metrics of the process', () => {
  it('are on the page of each proxy, and keep no unused registry in memory', async () => {
    const start = () => {
      const registry = new Registry();
      for (const metric of metricsOfProcess()) registry.registerMetric(metric);
      return { page: registry.metrics(), gone: new WeakRef(registry) };
    };
    const started = [start(), start()];
    for (const { page } of started) expect(await page).toMatch(/^process_cpu_seconds_total /m);
    await setImmediate();
    collectGarbage();
    expect(started.map(({ gone }) => gone.deref())).toEqual([undefined, undefined]);
  });
});
