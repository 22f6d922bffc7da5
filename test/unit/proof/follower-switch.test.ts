import { beforeEach, describe, expect, test } from 'vitest';
import { FollowerSwitch } from '../../../src/proof/follower-switch.ts';

let now: number;
let polls: number;
/** The proven ones among them. */
let proven: number | undefined;
let isAlive: boolean;
let isBeginning: boolean;
let instances: { all: number; withPolls: number };
let follower: FollowerSwitch;

beforeEach(() => {
  now = 0;
  polls = 0;
  proven = undefined;
  isAlive = true;
  isBeginning = false;
  instances = { all: 1, withPolls: 0 };
  follower = new FollowerSwitch({
    now: () => now,
    takePolls: () => ({ wanted: polls, proven: proven ?? (isAlive ? polls : 0) }),
    expectedCost: 8,
    isBeginning: () => isBeginning,
    isAlive: () => isAlive,
    instances: () => instances,
  });
});

/** Turns it on, and lets it be alive. */
function beginAlive(): void {
  begin();
  pass(1, 8);
}

/**
 * In each of these seconds clients poll, and the follower needs `sent` requests; the indexer answers `answered` of
 * them.
 */
function pass(seconds: number, sent = 0, answered = sent): void {
  for (let second = 0; second < seconds; second++) {
    for (let each = 0; each < sent; each++) follower.needed();
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

  test('when it is not alive, and was alive in less than 8 of the last 30 s', () => {
    beginAlive();
    pass(7, 8);
    isAlive = false;
    pass(29, 8);
    // The first of 8 alive seconds has left the 30.
    expect(follower.state).toBe('resting');
  });

  test('not when 8 of the last 30 s were alive', () => {
    begin();
    polls = 1000;
    for (let round = 0; round < 60; round++) {
      isAlive = true;
      pass(4, 8);
      isAlive = false;
      pass(11, 8);
    }
    expect(follower.state).toBe('behind');
  });

  test('not while it is alive, even if it was not in the seconds before', () => {
    beginAlive();
    polls = 1000;
    isAlive = false;
    pass(28, 8);
    isAlive = true;
    pass(30, 8);
    expect(follower.state).toBe('alive');
  });

  test.each([1, 15, 89])('not for the %i s before the first proof after a start', (seconds) => {
    begin();
    isAlive = false;
    isBeginning = true;
    pass(seconds, 24);
    isBeginning = false;
    isAlive = true;
    // It does not pay by then, if the costs of the start count.
    polls = 9;
    pass(60, 8);
    expect(follower.state).toBe('alive');
  });

  test('not for seconds before the first proof after a new beginning', () => {
    beginAlive();
    pass(40, 8);
    isAlive = false;
    isBeginning = true;
    pass(60, 24);
    expect(follower.state).toBe('behind');
    isAlive = true;
    isBeginning = false;
    pass(60, 8);
    expect(follower.state).toBe('alive');
  });

  test('not for four slow seconds among the first thirty', () => {
    begin();
    isBeginning = true;
    isAlive = false;
    pass(12, 24);
    isBeginning = false;
    for (const slow of [0, 3, 5, 6]) {
      isAlive = true;
      pass(slow, 8);
      isAlive = false;
      pass(1, 8);
    }
    isAlive = true;
    pass(60, 8);
    expect(follower.state).toBe('alive');
  });

  test('when it is not alive after 90 s in which the indexer answered, from a start or a new beginning', () => {
    begin();
    isAlive = false;
    isBeginning = true;
    pass(89, 8);
    pass(60, 8, 0);
    expect(follower.state).toBe('behind');
    pass(1, 8);
    expect(follower.state).toBe('resting');
  });

  test('when it begins anew again and again, and is alive in one second of ten', () => {
    begin();
    for (let round = 0; round < 15 && follower.isOn; round++) {
      [isAlive, isBeginning] = [false, true];
      pass(9, 24);
      [isAlive, isBeginning] = [true, false];
      pass(1, 24);
    }
    expect(follower.state).toBe('resting');
  });

  test('when the proven polls are below its cost, and not by those that it could have proven', () => {
    beginAlive();
    polls = 20;
    // Alive in one second of three: 200 polls, 240 requests.
    for (let round = 0; round < 40 && follower.isOn; round++) {
      isAlive = true;
      pass(1, 8);
      isAlive = false;
      pass(2, 8);
    }
    expect(follower.state).toBe('resting');
  });

  test('when it is alive, and proves nothing, because no answer can be proven', () => {
    beginAlive();
    proven = 0;
    pass(29, 8);
    expect(follower.state).toBe('resting');
  });

  test('not before there are 30 s', () => {
    begin();
    polls = 0;
    pass(29, 8);
    expect(follower.isOn).toBe(true);
    pass(1, 8);
    expect(follower.state).toBe('idle');
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

  test('not during an outage: seconds in which the indexer answered nothing do not count', () => {
    begin();
    isAlive = false;
    polls = 0;
    pass(600, 8, 0);
    expect(follower.state).toBe('behind');
  });
});

describe('instances that share what they read', () => {
  test('follow if their own polls exceed their shares of the cost, whoever sends the requests', () => {
    instances = { all: 8, withPolls: 8 };
    // 40 polls a second in all; the cost of following alone is 8.
    polls = 5;
    pass(30);
    expect([follower.isOn, follower.hasPolls]).toEqual([true, true]);
    pass(300, 8);
    expect(follower.isOn).toBe(true);
  });

  test('stop if their own polls are below their shares', () => {
    instances = { all: 8, withPolls: 8 };
    beginAlive();
    polls = 0.9;
    pass(60, 8);
    expect(follower.state).toBe('idle');
  });

  test('do not follow if only one of twenty has polls, 3 a second', () => {
    instances = { all: 20, withPolls: 1 };
    polls = 3;
    pass(60);
    expect([follower.isOn, follower.hasPolls]).toEqual([false, true]);
  });

  test.each([
    [0.39, false],
    [0.41, true],
  ])('have polls if they exceed the share of one among all: %f a second, on or off', (each, hasPolls) => {
    instances = { all: 20, withPolls: 20 };
    polls = each;
    pass(30);
    expect(follower.hasPolls).toBe(hasPolls);
    beginAlive();
    polls = each;
    pass(30);
    expect(follower.hasPolls).toBe(hasPolls);
  });
});
