import fc from 'fast-check';
import { Counter, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { EventHub } from '../../../src/event-hub.ts';
import { registryOf } from '../../../src/operate/metrics.ts';
import { Metrics } from '../../../src/tell/metrics.ts';

const BOUNDS = [0.001, 0.25, 1];
const name = fc.constant('upstream-answered' as const);
const indexer = fc.constantFrom('a', 'b', 'with "quotes"', 'and\\slash', '__proto__');
const operation = fc.constantFrom('pendingTraces', 'constructor');
const status = fc.constantFrom(200, 404);
const ms = fc.oneof(fc.constantFrom(0, 1, 250, 1000, 1001), fc.nat({ max: 3000 }));
const reported = fc.array(fc.record({ name, indexer, operation, status, ms }));

test('counts of events are rendered in the same lines as a counter of prom-client', async () => {
  await fc.assert(
    fc.asyncProperty(reported, async (all) => {
      const expected = new Registry();
      const labelNames = ['indexer', 'result'] as const;
      const counter = new Counter({
        name: 'toncache_things_total',
        help: 'Things.',
        labelNames,
        registers: [expected],
      });
      const events = new EventHub();
      const metrics = new Metrics(events);
      metrics.count('things_total', 'Things.', labelNames, {
        'upstream-answered': (event) => [event.indexer, event.status],
      });
      for (const event of all) {
        counter.inc({ indexer: event.indexer, result: event.status });
        events.report(event);
      }
      expect(linesOf(await registryOf(metrics.all).metrics())).toEqual(linesOf(await expected.metrics()));
    }),
  );
});

test('durations of events are rendered as a histogram of prom-client, including durations on bucket bounds', async () => {
  await fc.assert(
    fc.asyncProperty(reported, async (all) => {
      const expected = new Registry();
      const naming = { name: 'toncache_thing_seconds', help: 'How long.', labelNames: ['operation'] as const };
      const histogram = new Histogram({ ...naming, buckets: BOUNDS, registers: [expected] });
      const events = new EventHub();
      const metrics = new Metrics(events);
      metrics.time(
        'thing_seconds',
        naming.help,
        naming.labelNames,
        { 'upstream-answered': (event) => [event.ms, [event.operation]] },
        BOUNDS,
      );
      for (const event of all) {
        histogram.observe({ operation: event.operation }, event.ms / 1000);
        events.report(event);
      }
      expect(linesOf(await registryOf(metrics.all).metrics())).toEqual(linesOf(await expected.metrics()));
    }),
  );
});

/** Sorted, because prom-client orders lines by the first event, and Metrics by the first label. */
function linesOf(page: string): string[] {
  return page.split('\n').sort();
}
