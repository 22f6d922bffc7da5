import fc from 'fast-check';
import { Gauge, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { parseMetrics } from '../../../src/cli/metrics-text.ts';

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
