import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeySamples } from '../../../src/admission/key-samples.ts';

const WINDOW_MS = 1000;

let now = 0;

function samplesOf(mostSamples: number): KeySamples {
  now = 0;
  return new KeySamples({ now: () => now }, { windowMs: WINDOW_MS, mostSamples });
}

test('each key counts once, with its latest result', () => {
  const samples = samplesOf(100);
  for (const failed of [true, false, true]) samples.add('a', failed);
  samples.add('b', true);
  samples.add('b', false);
  expect([samples.count, samples.failures]).toEqual([2, 1]);
  expect([samples.hasFailed('a'), samples.hasFailed('b'), samples.hasFailed('c')]).toEqual([true, false, false]);
});

test('a sample counts for the window', () => {
  const samples = samplesOf(100);
  samples.add('a', true);
  now = WINDOW_MS - 1;
  expect([samples.count, samples.failures, samples.hasFailed('a')]).toEqual([1, 1, true]);
  now = WINDOW_MS;
  expect([samples.count, samples.failures, samples.hasFailed('a')]).toEqual([0, 0, false]);
});

test('a key with a new result counts for another window', () => {
  const samples = samplesOf(100);
  samples.add('a', true);
  now = 600;
  samples.add('a', true);
  now = WINDOW_MS + 599;
  expect([samples.count, samples.failures]).toEqual([1, 1]);
});

test('when there are too many keys, the newest are kept', () => {
  const samples = samplesOf(2);
  for (const key of ['a', 'b', 'a', 'c']) samples.add(key, true);
  expect(['a', 'b', 'c'].map((key) => samples.hasFailed(key))).toEqual([true, false, true]);
  expect([samples.count, samples.failures]).toEqual([2, 2]);
});

test('nothing is left once it was cleared', () => {
  const samples = samplesOf(100);
  samples.add('a', true);
  samples.clear();
  expect([samples.count, samples.failures, samples.hasFailed('a')]).toEqual([0, 0, false]);
  samples.add('a', false);
  expect([samples.count, samples.failures]).toEqual([1, 0]);
});

test('whatever results come when, the counts equal those of a plain list', () => {
  const sample = fc.record({ key: fc.nat(15), failed: fc.boolean(), waitMs: fc.nat(200) });
  fc.assert(
    fc.property(fc.constantFrom(1, 5, 100), fc.array(sample, { maxLength: 100 }), (mostSamples, history) => {
      const samples = samplesOf(mostSamples);
      let model: { key: string; failed: boolean; at: number }[] = [];
      for (const { key, failed, waitMs } of history) {
        now += waitMs;
        samples.add(`${key}`, failed);
        model = [...model.filter((each) => each.key !== `${key}`), { key: `${key}`, failed, at: now }];
        model = model.filter(({ at }) => now - at < WINDOW_MS).slice(-mostSamples);
        const failures = model.filter((each) => each.failed);
        expect([samples.count, samples.failures]).toEqual([model.length, failures.length]);
        expect(samples.hasFailed('0')).toBe(failures.some((each) => each.key === '0'));
      }
    }),
  );
});
