import fc from 'fast-check';
import { Gauge, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { MetricsPage, parseMetrics } from '../../../src/cli/metrics-text.ts';

test('a page of prom-client is read back, whatever its labels hold', async () => {
  const samples = fc.uniqueArray(fc.tuple(fc.string(), fc.double({ noNaN: true })), { selector: ([label]) => label });
  await fc.assert(
    fc.asyncProperty(samples, async (given) => {
      const registry = new Registry();
      const gauge = new Gauge({ name: 'a_gauge', help: 'x', labelNames: ['kind', 'other'], registers: [registry] });
      for (const [kind, value] of given) gauge.set({ kind, other: '{},"=' }, value);
      const read = parseMetrics(await registry.metrics());
      const expected = given.map(([kind, value]) => ({
        name: 'a_gauge',
        labels: { kind, other: '{},"=' },
        value: value + 0,
      }));
      expect(read).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

test('a sum is over the samples with all labels, and undefined where the metric is missing', () => {
  const page = new MetricsPage(
    '# TYPE x counter\nx{a="1",b="1"} 2\nx{a="1",b="2"} 3\nx{a="2",b="1"} 5\ny 7 1700000000\n',
  );
  expect([page.sum('x'), page.sum('x', { a: '1' }), page.sum('x', { a: '1', b: '2' }), page.sum('y')]).toEqual([
    10, 5, 3, 7,
  ]);
  expect([page.sum('z'), page.sum('x', { a: '3' })]).toEqual([undefined, 0]);
  expect(page.valuesOf('x', 'a')).toEqual(['1', '2']);
});
