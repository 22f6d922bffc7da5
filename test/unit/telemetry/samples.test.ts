import { expect, test } from 'vitest';
import { parseMetrics } from '../../../src/cli/metrics-text.ts';
import { Samples } from '../../../src/telemetry/samples.ts';

const samples = new Samples(
  parseMetrics(
    'toncache_x{a="1",b="1"} 2\ntoncache_x{a="1",b="2"} 3\ntoncache_x{a="2",b="1"} 5\ntoncache_y 7 1700000000\nz 9\n',
  ),
);

test('a sum is over the samples that have all labels, and 0 without any', () => {
  expect(samples.sum('x')).toBe(10);
  expect([samples.sum('x', { a: '1' }), samples.sum('x', { a: '1', b: '2' }), samples.sum('y')]).toEqual([5, 3, 7]);
  expect([samples.sum('x', { a: '3' }), samples.sum('x', { c: '1' }), samples.sum('z')]).toEqual([0, 0, 0]);
});

test('a label that is a number is found by its digits', () => {
  const counted = new Samples([{ name: 'toncache_b', labels: { le: 0.5 }, value: 4 }]);
  expect([counted.sum('b', { le: '0.5' }), counted.valuesOf('b', 'le')]).toEqual([4, ['0.5']]);
});

test('the values of a label come once each, in the order of the page', () => {
  expect([samples.valuesOf('x', 'a'), samples.valuesOf('z', 'a')]).toEqual([['1', '2'], []]);
});

test('the largest and smallest sample are known, where there are any', () => {
  expect([samples.max('x'), samples.min('x'), samples.max('z'), samples.min('z')]).toEqual([5, 2, 0, undefined]);
});
