import { beforeEach, expect, test } from 'vitest';
import type { EndPass } from '../../../src/admission/guard.ts';
import { type OperationGuard, operationBreakers } from '../../../src/admission/operation-breakers.ts';
import type { Outcome } from '../../../src/outcomes.ts';

let now: number;
let chance: number;
let states: string[];
let one: OperationGuard;
let other: OperationGuard;
let answered: () => void;

beforeEach(() => {
  now = 0;
  chance = 0;
  states = [];
  const { guards, answered: tell } = operationBreakers(['one', 'other'], {
    now: () => now,
    random: () => chance,
    onTransition: (operation, state) => states.push(`${operation} ${state}`),
    minimumThroughput: 20,
    openDuration: 2000,
  });
  [one, other] = [...guards.values()] as [OperationGuard, OperationGuard];
  answered = tell;
});

function admitted(key: string, guard = one): EndPass {
  const end = guard.admit(key);
  if (end === undefined) throw new Error('the circuit breaker is open');
  return end;
}

/** Requests that end with this outcome, each for its own key. */
function requests(times: number, outcome: Outcome, guard = one): void {
  for (let n = 0; n < times; n++) admitted(`${outcome} ${n}`, guard)(outcome);
}

/** Waits until a trial may be sent, and starts it. */
function trial(key: string): EndPass {
  now += one.breaker.retryAfterMs;
  return admitted(key);
}

test.each<[Outcome, string]>([
  ['failed', 'one open'],
  ['broken', 'one open'],
  ['timeout', 'one open'],
  ['invalid', 'one open'],
  ['unreachable', 'one open,other open'],
  ['answered', ''],
  ['absent', ''],
  ['refused-key', ''],
  ['redirect', ''],
  ['not-served', ''],
  ['rate-limited', ''],
  ['unknown', ''],
])('when half of the keys end with %s, the transitions are: %s', (outcome, expected) => {
  for (const guard of [one, other]) requests(10, 'answered', guard);
  requests(10, outcome);
  expect(states.join()).toBe(expected.split(',').toSorted().join());
});

test.each<[Outcome, string[]]>([
  ['answered', ['one closed']],
  ['rate-limited', ['one closed']],
  ['failed', []],
  ['unknown', []],
])('a trial that ends with %s causes the transitions %j', (outcome, expected) => {
  requests(20, 'failed');
  states = [];
  trial('fresh')(outcome);
  expect(states).toEqual(expected);
});

test('each failed trial doubles the open duration, up to the longest, and jitter only shortens it', () => {
  requests(20, 'failed');
  const lengths = Array.from({ length: 6 }, (_, index) => {
    trial(`fresh ${index}`)('failed');
    return one.breaker.retryAfterMs;
  });
  expect([one.reason, ...lengths]).toEqual(['breaker-open', 4000, 5000, 5000, 5000, 5000, 5000]);
  chance = 1;
  trial('another')('failed');
  expect(one.breaker.retryAfterMs).toBe(2500);
});

test('a key whose trial failed is passed over, and another key is the next trial', () => {
  requests(20, 'failed');
  trial('the broken one')('failed');
  now += 4000;
  expect(one.admit('the broken one')).toBeUndefined();
  trial('fresh');
});

test('a key whose trial failed may be the trial again after the longest open duration, if there is no other', () => {
  chance = 1;
  requests(20, 'failed');
  trial('the only one')('failed');
  expect(one.breaker.retryAfterMs).toBe(2000);
  now += 4999;
  expect(one.admit('the only one')).toBeUndefined();
  now += 1;
  admitted('the only one')('answered');
  expect(states).toEqual(['one open', 'one closed']);
});

test('an answer to an operation with broken requests lets the other operations try immediately', () => {
  requests(20, 'broken');
  requests(3, 'broken', other);
  expect([states, one.breaker.isOpen]).toEqual([['one open'], true]);
  requests(1, 'answered', other);
  trial('fresh')('answered');
  expect([states, now]).toEqual([['one open', 'one closed'], 0]);
});

test('answers to an operation without broken requests do not let the other operations try', () => {
  requests(20, 'broken');
  requests(20, 'answered', other);
  expect(one.breaker.isOpen).toBe(true);
});

test('the first breaker that closes lets the other operations try immediately', () => {
  requests(20, 'failed', other);
  now = 1999;
  requests(20, 'failed');
  now = 2000;
  expect([one.breaker.isOpen, other.breaker.isOpen]).toEqual([true, false]);
  admitted('fresh', other)('answered');
  expect(one.breaker.isOpen).toBe(false);
});

test('the first answer of any kind makes breakers half-open that opened because the indexer was unreachable', () => {
  requests(20, 'unreachable');
  const states = () => [one, other].map(({ breaker }) => breaker.state);
  expect(states()).toEqual(['open', 'open']);
  answered();
  expect(states()).toEqual(['half-open', 'half-open']);
  trial('fresh')('unreachable');
  expect(states()).toEqual(['open', 'half-open']);
  // It was the first one since this breaker opened once more.
  answered();
  expect(states()).toEqual(['half-open', 'half-open']);
});

test('further answers allow no trial before its time, and none do if another failure opened the breaker', () => {
  requests(20, 'failed');
  answered();
  expect(one.breaker.state).toBe('open');
  trial('fresh')('unreachable');
  answered();
  trial('fresher')('failed');
  for (const _ of [1, 2]) answered();
  expect([one.breaker.state, one.breaker.retryAfterMs]).toEqual(['open', 5000]);
});

test('after an answer for another operation, a key whose trial failed may be the trial again immediately', () => {
  requests(20, 'unreachable');
  now += 2000;
  admitted('the only key', other)('failed');
  trial('fresh')('answered');
  expect(states.slice(2)).toEqual(['one closed']);
  admitted('the only key', other)('answered');
  expect(states.slice(2)).toEqual(['one closed', 'other closed']);
});
