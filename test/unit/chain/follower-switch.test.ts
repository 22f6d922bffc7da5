import { beforeEach, describe, expect, test } from 'vitest';
import { FollowerSwitch } from '../../../src/chain/follower-switch.ts';

const TEN_MINUTES_MS = 10 * 60_000;

let now: number;
let polls: number;
let isAlive: boolean;
let follower: FollowerSwitch;

beforeEach(() => {
  now = 0;
  polls = 0;
  isAlive = true;
  follower = new FollowerSwitch({ now: () => now, takePolls: () => polls, isAlive: () => isAlive });
});

/**
 * In each of these seconds clients poll, and the follower sends `sent` requests; the indexer answers `answered` of
 * them.
 */
function pass(seconds: number, sent = 0, answered = sent): void {
  for (let second = 0; second < seconds; second++) {
    for (let each = 0; each < sent; each++) follower.sent();
    for (let each = 0; each < answered; each++) follower.answered();
    now += 1000;
    follower.tick();
  }
}

function begin(): void {
  polls = 100;
  pass(5);
  expect(follower.isOn).toBe(true);
}

describe('the follower starts', () => {
  test('when the polls of 30 s exceed twice its cost of 8 requests a second', () => {
    polls = 16;
    pass(60);
    expect(follower.state).toBe('idle');
    polls = 17;
    pass(30);
    expect(follower.isOn).toBe(true);
  });

  test('as soon as enough polls have come, before 30 s are over', () => {
    polls = 481;
    pass(1);
    expect(follower.isOn).toBe(true);
  });
});

describe('the follower stops', () => {
  test('when polls are below its cost over 30 s', () => {
    begin();
    polls = 7;
    pass(29, 8);
    expect(follower.isOn).toBe(true);
    pass(1, 8);
    expect(follower.state).toBe('idle');
  });

  test('not while polls equal its cost, which is low if scanners load the blocks anyway', () => {
    begin();
    polls = 3;
    pass(60, 3);
    expect(follower.isOn).toBe(true);
  });

  test('for 10 minutes when it was alive for less than half of 30 s', () => {
    begin();
    isAlive = false;
    pass(16, 8);
    isAlive = true;
    pass(14, 8);
    expect(follower.state).toBe('resting');
    pass(TEN_MINUTES_MS / 1000 - 1);
    expect(follower.state).toBe('resting');
    pass(1);
    expect(follower.isOn).toBe(true);
  });

  test('not when it was alive for half of 30 s', () => {
    begin();
    isAlive = false;
    pass(15, 8);
    isAlive = true;
    pass(60, 8);
    expect(follower.state).toBe('alive');
  });

  test('not during an outage: seconds in which the indexer answered nothing do not count', () => {
    begin();
    isAlive = false;
    polls = 0;
    pass(600, 8, 0);
    expect(follower.state).toBe('behind');
  });
});
