import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo, type Place } from '../../../src/admission/fifo.ts';

test('whatever is added and removed, a Fifo equals an array', () => {
  // A number removes the member at that index, `push` adds one.
  const step = fc.oneof(fc.constant('push' as const), fc.nat(50));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const fifo = new Fifo<number>();
      const model: Place<number>[] = [];
      for (const [number, each] of steps.entries()) {
        if (each === 'push') model.push(fifo.push(number));
        else {
          const [place] = model.splice(each % Math.max(1, model.length), 1);
          if (place !== undefined) fifo.remove(place);
        }
        expect([fifo.size, fifo.first]).toEqual([model.length, model[0]?.value]);
      }
      for (const place of model) {
        expect(fifo.first).toBe(place.value);
        fifo.remove(place);
      }
      expect([fifo.size, fifo.first]).toEqual([0, undefined]);
    }),
  );
});
