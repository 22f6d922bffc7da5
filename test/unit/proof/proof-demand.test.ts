import { expect, test } from 'vitest';
import { ProofDemand } from '../../../src/proof/proof-demand.ts';

const LIVE_MS = 400;
const BOUND_MS = 60_000;

function demandAt() {
  const clock = { now: 0 };
  const demand = new ProofDemand({ now: () => clock.now, liveMs: LIVE_MS, boundMs: BOUND_MS });
  const poll = (at: number, etag = '"a"', key = 'key', ofOwner = false, isProven = false) => {
    clock.now = at;
    demand.answered(key, etag, ofOwner, isProven);
  };
  return { demand, poll, clock };
}

test('counts each poll of an answer that has not changed', () => {
  const { demand, poll } = demandAt();
  for (const at of [0, 3000, 6000, 9000]) poll(at);
  expect(demand.take().wanted).toBe(3);
  expect(demand.take().wanted).toBe(0);
});

test('does not count the poll that gets a changed answer', () => {
  const { demand, poll } = demandAt();
  poll(0);
  poll(3000, '"b"');
  poll(6000, '"c"');
  poll(9000, '"c"');
  expect(demand.take().wanted).toBe(1);
});

test('does not count polls within the ordinary lifetime: many clients of one account count as one poll in 400 ms', () => {
  const { demand, poll } = demandAt();
  for (let at = 0; at < 1200; at += 10) poll(at);
  expect(demand.take().wanted).toBe(2);
});

test('does not count the poll at the bound, for which the answer has to be loaded again', () => {
  const { demand, poll } = demandAt();
  for (let at = 0; at <= 2 * BOUND_MS; at += 30_000) poll(at);
  expect(demand.take().wanted).toBe(2);
});

test('distinguishes keys', () => {
  const { demand, poll } = demandAt();
  poll(0, '"a"', 'one');
  poll(3000, '"a"', 'other');
  expect(demand.take().wanted).toBe(0);
});

test('counts the polls of answers about owners also on their own', () => {
  const { demand, poll } = demandAt();
  for (const at of [0, 3000, 6000]) {
    poll(at);
    poll(at, '"b"', 'owner', true);
  }
  expect(demand.takeOfOwners().wanted).toBe(2);
  expect(demand.takeOfOwners().wanted).toBe(0);
  expect(demand.take().wanted).toBe(4);
});

test('counts the proven ones among the polls on their own', () => {
  const { demand, poll } = demandAt();
  for (const at of [0, 3000, 6000, 6100]) poll(at, '"a"', 'key', true, at >= 6000);
  poll(9000, '"b"', 'key', true, true);
  expect([demand.take(), demand.takeOfOwners()]).toEqual([
    { wanted: 2, proven: 1 },
    { wanted: 2, proven: 1 },
  ]);
  expect(demand.take()).toEqual({ wanted: 0, proven: 0 });
});

test('counts a refused poll of a key that was answered within its bound, once per lifetime', () => {
  const { demand, poll, clock } = demandAt();
  const refuse = (at: number, key = 'key') => {
    clock.now = at;
    demand.refused(key, true);
  };
  poll(0);
  for (const at of [100, 3000, 3100, 6000, BOUND_MS, BOUND_MS + 3000]) refuse(at);
  expect([demand.take(), demand.takeOfOwners()]).toEqual([
    { wanted: 2, proven: 0 },
    { wanted: 2, proven: 0 },
  ]);
});

test('counts no refused polls of keys that were never answered: a flood of new accounts', () => {
  const { demand, clock } = demandAt();
  for (let n = 0; n < 1000; n++) {
    clock.now = n * 10;
    demand.refused(`key ${n % 100}`, false);
  }
  expect(demand.take().wanted).toBe(0);
});
