import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { OpenWaits, type Wait } from '../../../src/answer/open-waits.ts';

const aStep = fc.record({ what: fc.constantFrom('open', 'open', 'close'), which: fc.nat() });

test('waits end in any order, each once, and those left at the end with a 503', () => {
  fc.assert(
    fc.property(fc.array(aStep, { maxLength: 60, size: 'max' }), (steps) => {
      const waits = new OpenWaits(60_000);
      const open: Wait[] = [];
      const ended = vi.fn();
      for (const { what, which } of steps) {
        const wait = what === 'open' ? waits.open() : open.splice(which % Math.max(1, open.length), 1)[0];
        if (what === 'open' && wait !== undefined) {
          wait.onEnd = ended;
          open.push(wait);
        } else {
          // An end after the end does nothing.
          wait?.close();
          wait?.close();
        }
      }
      waits.endAll();
      expect(ended).toHaveBeenCalledTimes(open.length);
      expect(open.map(({ reason }) => reason?.code)).toEqual(open.map(() => 'shutting-down'));
    }),
  );
});
