import { expect, test } from 'vitest';
import { ProofDemand } from '../../../src/proof/proof-demand.ts';

const LIVE_MS = 400;
const BOUND_MS = 60_000;

function demandAt() {
  const clock = { now: 0 };
  const demand = new ProofDemand({ now: () => clock.now, liveMs: LIVE_MS, boundMs: BOUND_MS });
  const poll = (at: number, etag = '"a"', key = 'key', ofOwner = false) => {
    clock.now = at;
    demand.answered(key, etag, ofOwner);
  };
  return { demand, poll };
}

test('counts each poll of an answer that has not changed', () => {
  const { demand, poll } = demandAt();
  for (const at of [0, 3000, 6000, 9000]) poll(at);
  expect(demand.take()).toBe(3);
  expect(demand.take()).toBe(0);
});

test('does not count the poll that gets a changed answer', () => {
  const { demand, poll } = demandAt();
  poll(0);
  poll(3000, '"b"');
  poll(6000, '"c"');
  poll(9000, '"c"');
  expect(demand.take()).toBe(1);
});

test('does not count polls within the ordinary lifetime: many clients of one account count as one poll in 400 ms', () => {
  const { demand, poll } = demandAt();
  for (let at = 0; at < 1200; at += 10) poll(at);
  expect(demand.take()).toBe(2);
});

test('does not count the poll at the bound, for which the answer has to be loaded again', () => {
  const { demand, poll } = demandAt();
  for (let at = 0; at <= 2 * BOUND_MS; at += 30_000) poll(at);
  expect(demand.take()).toBe(2);
});

test('distinguishes keys', () => {
  const { demand, poll } = demandAt();
  poll(0, '"a"', 'one');
  poll(3000, '"a"', 'other');
  expect(demand.take()).toBe(0);
});

test('counts the polls of answers about owners also on their own', () => {
  const { demand, poll } = demandAt();
  for (const at of [0, 3000, 6000]) {
    poll(at);
    poll(at, '"b"', 'owner', true);
  }
  expect(demand.takeOfOwners()).toBe(2);
  expect(demand.takeOfOwners()).toBe(0);
  expect(demand.take()).toBe(4);
});
