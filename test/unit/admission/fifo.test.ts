import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo, type Place } from '../../../src/admission/fifo.ts';

test('a new Fifo is empty', () => {
  const fifo = new Fifo<string>();
  expect([fifo.size, fifo.first]).toEqual([0, undefined]);
});

test('members are taken in the order in which they came', () => {
  const fifo = new Fifo<string>();
  const places = ['a', 'b', 'c'].map((name) => fifo.push(name));
  const order = places.map((place) => {
    const { first } = fifo;
    fifo.remove(place);
    return first;
  });
  expect(order).toEqual(['a', 'b', 'c']);
  expect([fifo.size, fifo.first]).toEqual([0, undefined]);
});

test('removing a member in the middle keeps the order of the others', () => {
  const fifo = new Fifo<string>();
  const [a, b, c] = [fifo.push('a'), fifo.push('b'), fifo.push('c')];
  fifo.remove(b);
  fifo.remove(a);
  expect([fifo.size, fifo.first]).toEqual([1, 'c']);
  fifo.push('d');
  fifo.remove(c);
  expect([fifo.size, fifo.first]).toEqual([1, 'd']);
});

test('the same value may be a member more than once', () => {
  const fifo = new Fifo<string>();
  const [first] = [fifo.push('a'), fifo.push('a')];
  fifo.remove(first);
  expect([fifo.size, fifo.first]).toEqual([1, 'a']);
});

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
