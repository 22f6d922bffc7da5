import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type WaitingClient, watchGreedy } from '../../../src/clients/waiting-clients.ts';

describe('a client with more than half of the backlog', () => {
  let waiting: WaitingClient[];
  let reported: string[];
  let end: () => void;
  const has = (client: string, share: number, requests = 100) => {
    waiting = [{ client, share, requests }];
  };

  beforeEach(() => {
    vi.useFakeTimers();
    waiting = [];
    reported = [];
    end = watchGreedy(
      () => waiting,
      ({ client }) => reported.push(client),
    );
  });

  afterEach(() => {
    end();
    vi.useRealTimers();
  });

  test('is reported once, after 10 s, and again after another client was reported', () => {
    has('a', 0.6);
    vi.advanceTimersByTime(9000);
    expect(reported).toEqual([]);
    vi.advanceTimersByTime(60_000);
    expect(reported).toEqual(['a']);
    has('b', 0.9);
    vi.advanceTimersByTime(10_000);
    has('a', 0.9);
    vi.advanceTimersByTime(10_000);
    expect(reported).toEqual(['a', 'b', 'a']);
  });

  test.each([
    ['its share is only half for a second', () => has('a', 0.5)],
    ['another client has more than half for a second', () => has('b', 0.6)],
    ['nothing waits for a second', () => (waiting = [])],
    ['it has only 9 requests for a second', () => has('a', 0.6, 9)],
  ])('is not reported if %s', (_, once) => {
    for (let i = 0; i < 3; i++) {
      has('a', 0.6);
      vi.advanceTimersByTime(9000);
      once();
      vi.advanceTimersByTime(1000);
    }
    expect(reported).toEqual([]);
  });
});
