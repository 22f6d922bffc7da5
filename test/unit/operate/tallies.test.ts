import fc from 'fast-check';
import { Counter, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { DurationTally, Tally } from '../../../src/operate/event-counters.ts';

const BOUNDS = [0.001, 0.25, 1];
const first = fc.constantFrom('a', 'b', 'with "quotes"', 'and\\slash', '__proto__');
const second = fc.oneof(fc.constantFrom(200, 404), fc.constantFrom('upstream-timeout', 'constructor'));

test('tallies of two labels are rendered as a counter of prom-client is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(first, second)), async (events) => {
      const [expected, actual] = [new Registry(), new Registry()];
      const naming = { name: 'things_total', help: 'Things.', labelNames: ['kind', 'result'] };
      const counter = new Counter({ ...naming, registers: [expected] });
      const tally = new Tally(actual, naming);
      for (const [kind, result] of events) {
        counter.inc({ kind, result });
        tally.add(1, kind, result);
      }
      expect(linesOf(await actual.metrics())).toEqual(linesOf(await expected.metrics()));
    }),
  );
});

test('durations are rendered as a histogram of prom-client is, the ends of buckets included', async () => {
  const ms = fc.oneof(fc.constantFrom(0, 1, 250, 1000, 1001), fc.nat({ max: 3000 }));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(first, ms)), async (events) => {
      const [expected, actual] = [new Registry(), new Registry()];
      const naming = { name: 'thing_seconds', help: 'How long.', labelNames: ['kind'] };
      const histogram = new Histogram({ ...naming, buckets: BOUNDS, registers: [expected] });
      const tally = new DurationTally(actual, naming, BOUNDS);
      for (const [kind, took] of events) {
        histogram.observe({ kind }, took / 1000);
        tally.add(took, kind);
      }
      expect(linesOf(await actual.metrics())).toEqual(linesOf(await expected.metrics()));
    }),
  );
});

/** prom-client has them in the order of the first event, tallies by the first label. */
function linesOf(page: string): string[] {
  return page.split('\n').sort();
}
