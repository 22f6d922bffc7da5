import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { account, by, ONE, PushUnderTest, traceHash } from './push-under-test.ts';

let push: PushUnderTest;

beforeEach(() => {
  push = new PushUnderTest();
});

afterEach(() => push[Symbol.dispose]());

const EMPTY = { types: ['transactions', 'actions'], trace_external_hash_norms: [], min_finality: 'pending' };

describe('a key is watched', () => {
  test('if it is requested twice within 2 s', () => {
    push.ask(by(1));
    vi.advanceTimersByTime(1999);
    push.ask(by(1));
    expect(push.watches).toBe(1);
  });

  test('but not if each request comes more than 2 s after the previous one', () => {
    for (let time = 0; time < 5; time++) {
      push.ask(by(1));
      vi.advanceTimersByTime(2001);
    }
    expect(push.watches).toBe(0);
  });

  test('until 10 s pass without a request', () => {
    push.watch(by(1));
    vi.advanceTimersByTime(9000);
    push.ask(by(1));
    vi.advanceTimersByTime(9900);
    expect(push.watches).toBe(1);
    vi.advanceTimersByTime(2000);
    expect(push.watches).toBe(0);
    expect(push.subscriptions.at(-1)).toMatchObject({ operation: 'unsubscribe', addresses: [account(1)] });
  });
});

describe('a subscription', () => {
  test('contains the accounts of requests, and the accounts and traces of their answers', () => {
    push.watch(by(1));
    push.answer(by(1), ONE);
    push.subscribe();
    expect(push.subscriptions).toEqual([
      { operation: 'subscribe', id: '1', ...EMPTY, addresses: [account(1)] },
      {
        operation: 'subscribe',
        id: '2',
        ...EMPTY,
        types: [...EMPTY.types, 'trace'],
        addresses: [account(1), account(2)],
        trace_external_hash_norms: [traceHash(1)],
      },
    ]);
    push.answer(by(1));
    push.subscribe();
    expect(push.subscribed).toEqual([account(1)]);
  });

  test('is sent once for all changes within 50 ms, and not without a change', () => {
    for (let n = 0; n < 20; n++) {
      push.ask(by(n), by(n));
      vi.advanceTimersByTime(2);
    }
    push.subscribe();
    expect(push.subscribed).toHaveLength(20);
    for (let time = 0; time < 10; time++) {
      push.ask(by(1));
      push.answer(by(1));
      vi.advanceTimersByTime(500);
    }
    expect(push.subscriptions).toHaveLength(1);
  });

  test('that omits a name ends the acknowledgement of the name immediately', () => {
    push.watch(by(1));
    vi.advanceTimersByTime(5000);
    push.watch(by(2));
    vi.advanceTimersByTime(6500);
    push.ask(by(1), by(1));
    expect(push.subscribed).toEqual([account(2)]);
    vi.advanceTimersByTime(1);
    expect(push.freshMs(push.answer(by(1)))).toBe(250);
    expect(push.freshMs(push.answer(by(2)))).toBe(2000);
  });

  test('that is refused is reported, leaves the previous one in force, and is sent again after 10 s', () => {
    push.watch(by(1));
    push.ask(by(2), by(2));
    vi.advanceTimersByTime(50);
    push.server.socket.refuse('invalid event type: actions');
    expect(push.reported.at(-1)).toBe('stream-refused');
    expect([1, 2].map((n) => push.freshMs(push.answer(by(n))))).toEqual([2000, 250]);
    for (let second = 0; second < 9; second++) {
      push.ask(by(1), by(2), by(3), by(3));
      vi.advanceTimersByTime(1000);
    }
    expect(push.subscriptions).toHaveLength(2);
    vi.advanceTimersByTime(1000);
    expect(push.subscribed).toEqual([1, 2, 3].map(account));
  });

  test('contains at most the allowed number of addresses, and newer polled keys do not displace older ones', () => {
    push[Symbol.dispose]();
    push = new PushUnderTest(2);
    push.watch(by(1));
    push.answer(by(1), ONE);
    push.watch(by(2), by(3));
    expect(push.subscribed).toEqual([account(1), account(2), traceHash(1)]);
  });
});
