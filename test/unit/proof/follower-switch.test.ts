import { beforeEach, describe, expect, test } from 'vitest';
import { FollowerSwitch } from '../../../src/proof/follower-switch.ts';

let now: number;
let polls: number;
let isAlive: boolean;
let follower: FollowerSwitch;

beforeEach(() => {
  now = 0;
  polls = 0;
  isAlive = true;
  follower = new FollowerSwitch({ now: () => now, takePolls: () => polls, expectedCost: 8, isAlive: () => isAlive });
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

  test('when polls are below its cost in rows: 50 rows of a block cost as much as a poll', () => {
    begin();
    const passWithRows = (seconds: number, rows: number) => {
      for (let second = 0; second < seconds; second++) {
        follower.loadedRows(rows);
        pass(1, 8);
      }
    };
    polls = 20;
    passWithRows(60, 600);
    expect(follower.isOn).toBe(true);
    passWithRows(1, 650);
    expect(follower.state).toBe('idle');
  });

  test('when it cost more than it saved: for 10 minutes polls must exceed twice this cost', () => {
    begin();
    polls = 11;
    pass(30, 12);
    expect(follower.state).toBe('idle');
    polls = 24;
    pass(599);
    expect(follower.state).toBe('idle');
    pass(1);
    expect(follower.isOn).toBe(true);
  });

  test('when it cost more than it saved while it caught up: then the higher cost is not expected again', () => {
    begin();
    polls = 17;
    pass(16, 8);
    isAlive = false;
    pass(14, 60);
    expect(follower.state).toBe('idle');
    pass(30);
    expect(follower.isOn).toBe(true);
  });

  test('when it cost more than it saved, and starts again as soon as polls exceed twice this cost', () => {
    begin();
    polls = 11;
    pass(30, 12);
    polls = 26;
    pass(30);
    expect(follower.isOn).toBe(true);
  });

  test('not while polls equal its cost, which is low if scanners load the blocks anyway', () => {
    begin();
    polls = 3;
    pass(60, 3);
    expect(follower.isOn).toBe(true);
  });

  test('when it is behind, and was alive for less than half of 30 s', () => {
    begin();
    isAlive = true;
    pass(14, 8);
    isAlive = false;
    pass(15, 8);
    expect(follower.isOn).toBe(true);
    pass(1, 8);
    expect(follower.state).toBe('resting');
  });

  test('not while it is alive, even if it was behind for more than half of 30 s before', () => {
    begin();
    isAlive = false;
    pass(24, 8);
    isAlive = true;
    // Shorter than the shortest rest.
    pass(15, 8);
    expect(follower.state).toBe('alive');
  });

  /** Is behind until it stops, and returns the seconds of its rest. */
  const restOf = () => {
    isAlive = false;
    while (follower.isOn) pass(1, 8);
    let seconds = 0;
    for (; !follower.isOn; seconds++) pass(1);
    return seconds;
  };

  test('for 20 s, twice as long each time that it is not alive, and at most for 10 minutes', () => {
    begin();
    expect(Array.from({ length: 7 }, restOf)).toEqual([20, 40, 80, 160, 320, 600, 600]);
  });

  test('for 20 s again after it was alive for a minute', () => {
    begin();
    restOf();
    isAlive = true;
    pass(59, 8);
    expect(restOf()).toBe(40);
    isAlive = true;
    pass(60, 8);
    expect(restOf()).toBe(20);
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
