import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { account, StreamUnderTest, traceHash } from './stream-under-test.ts';

let stream: StreamUnderTest;

beforeEach(() => {
  stream = new StreamUnderTest();
});

afterEach(() => stream[Symbol.dispose]());

const by = (n: number) => `account=${account(n)}`;
const byHash = (n: number) => `ext_msg_hash=${encodeURIComponent(traceHash(n))}`;

describe('a key is watched', () => {
  test('that was asked for twice within 2 s', () => {
    stream.ask(by(1));
    vi.advanceTimersByTime(2000);
    expect(stream.watches).toBe(0);
    stream.ask(by(1));
    expect(stream.watches).toBe(1);
  });

  test('but not one that was asked for again after 2 s', () => {
    for (let time = 0; time < 5; time++) {
      stream.ask(by(1));
      vi.advanceTimersByTime(2001);
    }
    expect(stream.watches).toBe(0);
  });

  test('until nobody asked for it for 10 s', () => {
    stream.watch(by(1));
    vi.advanceTimersByTime(9000);
    stream.ask(by(1));
    vi.advanceTimersByTime(10_000);
    expect(stream.watches).toBe(1);
    vi.advanceTimersByTime(2000);
    expect(stream.watches).toBe(0);
  });

  test('by hash, but by nothing before it has an answer', () => {
    stream.watch(byHash(1));
    expect([stream.watches, stream.subscriptions.length]).toEqual([1, 0]);
    stream.answer(byHash(1), { accounts: [account(1)], traces: [traceHash(9)], state: 'one' });
    stream.subscribe();
    expect(stream.subscribed).toEqual([account(1), traceHash(9)]);
  });

  test('unless 10 000 are', () => {
    for (let n = 0; n < 10_001; n++) {
      const query = `ext_msg_hash=${n.toString(16).padStart(64, '0')}`;
      stream.ask(query);
      stream.ask(query);
    }
    expect(stream.watches).toBe(10_000);
  });

  test('anew after the connection was lost, and not while it is', () => {
    stream.watch(by(1));
    stream.server.socket.handlers.onClose('reset');
    expect(stream.watches).toBe(0);
    stream.ask(by(1));
    stream.ask(by(1));
    expect(stream.watches).toBe(0);
    vi.advanceTimersByTime(250);
    stream.server.socket.accept();
    stream.watch(by(1));
    expect(stream.subscribed).toEqual([account(1)]);
  });
});

describe('a subscription', () => {
  test('holds all types, and min_finality each time', () => {
    stream.watch(by(1));
    stream.answer(by(1), { accounts: [account(1), account(2)], traces: [traceHash(1)], state: 'one' });
    stream.subscribe();
    expect(stream.subscriptions).toEqual([
      {
        operation: 'subscribe',
        id: '1',
        types: ['transactions', 'actions'],
        addresses: [account(1)],
        trace_external_hash_norms: [],
        min_finality: 'pending',
      },
      {
        operation: 'subscribe',
        id: '2',
        types: ['transactions', 'actions', 'trace'],
        addresses: [account(1), account(2)],
        trace_external_hash_norms: [traceHash(1)],
        min_finality: 'pending',
      },
    ]);
  });

  test('is one message for all changes of 50 ms', () => {
    for (let n = 0; n < 20; n++) {
      stream.ask(by(n));
      stream.ask(by(n));
      vi.advanceTimersByTime(2);
    }
    vi.advanceTimersByTime(50);
    expect(stream.subscriptions.length).toBe(1);
    expect(stream.subscribed).toHaveLength(20);
  });

  test('is not sent again where nothing changed', () => {
    stream.watch(by(1));
    for (let time = 0; time < 10; time++) {
      stream.answer(by(1));
      stream.ask(by(1));
      vi.advanceTimersByTime(500);
    }
    expect(stream.subscriptions).toHaveLength(1);
  });

  test('counts anew for a name that was left out of one in between', () => {
    stream.watch(by(1));
    stream.watch(by(2));
    for (let second = 0; second < 12; second++) {
      stream.ask(by(2));
      vi.advanceTimersByTime(1000);
    }
    stream.server.socket.acknowledge();
    expect(stream.subscribed).toEqual([account(2)]);
    stream.ask(by(1));
    stream.ask(by(1));
    vi.advanceTimersByTime(50);
    expect(stream.subscribed).toEqual([account(2), account(1)]);
    expect(stream.freshMs(stream.answer(by(1)))).toBe(400);
    expect(stream.freshMs(stream.answer(by(2)))).toBe(2000);
    stream.server.socket.acknowledge();
    expect(stream.freshMs(stream.answer(by(1)))).toBe(2000);
  });

  test('ends by unsubscribing when nothing is watched any more', () => {
    stream.watch(by(1));
    vi.advanceTimersByTime(12_000);
    expect(stream.subscriptions.at(-1)).toEqual({
      operation: 'unsubscribe',
      id: '2',
      addresses: [account(1)],
      trace_external_hash_norms: [],
    });
  });

  test('that is refused is reported, keeps the one before, and is tried again after 10 s', () => {
    stream.watch(by(1));
    stream.ask(by(2));
    stream.ask(by(2));
    vi.advanceTimersByTime(50);
    stream.server.socket.refuse('invalid event type: actions');
    expect(stream.reported.at(-1)).toEqual({ name: 'stream-refused', error: 'invalid event type: actions' });
    expect(stream.freshMs(stream.answer(by(1)))).toBe(2000);
    expect(stream.freshMs(stream.answer(by(2)))).toBe(400);
    stream.ask(by(3));
    stream.ask(by(3));
    for (let second = 0; second < 9; second++) {
      vi.advanceTimersByTime(1000);
      for (const n of [1, 2, 3]) stream.ask(by(n));
    }
    expect(stream.subscriptions).toHaveLength(2);
    vi.advanceTimersByTime(1000);
    expect(stream.subscribed).toEqual([account(1), account(2), account(3)]);
  });
});

describe('more addresses than allowed', () => {
  beforeEach(() => {
    stream[Symbol.dispose]();
    stream = new StreamUnderTest({}, 3);
  });

  test('are not watched: the least recently asked for gives way once it is not polled', () => {
    for (const n of [1, 2, 3]) stream.watch(by(n));
    vi.advanceTimersByTime(1500);
    for (const n of [1, 3]) stream.ask(by(n));
    vi.advanceTimersByTime(1000);
    stream.watch(by(4));
    expect(stream.subscribed).toEqual([account(1), account(3), account(4)]);
  });

  test('do not push out what is polled, and are asked for as without a stream', () => {
    for (const n of [1, 2, 3]) stream.watch(by(n));
    stream.watch(by(4));
    expect(stream.subscribed).toEqual([account(1), account(2), account(3)]);
    expect(stream.freshMs(stream.answer(by(4)))).toBe(400);
  });

  test('of one answer leave those asked for, hashes, and no longer life', () => {
    stream.watch(by(1));
    const accounts = [1, 2, 3, 4].map(account);
    stream.answer(by(1), { accounts, traces: [traceHash(1)], state: 'one' });
    stream.subscribe();
    expect(stream.subscribed).toEqual([account(1), traceHash(1)]);
    expect(stream.freshMs(stream.answer(by(1), { accounts, traces: [traceHash(1)], state: 'one' }))).toBe(400);
  });

  test('are learned from the server: what was asked for least recently gives way', () => {
    for (const n of [1, 2]) stream.watch(by(n));
    vi.advanceTimersByTime(10);
    stream.ask(by(1));
    stream.ask(by(3));
    stream.ask(by(3));
    vi.advanceTimersByTime(50);
    stream.server.socket.refuse('address limit exceeded: current 0 + new 3 > max 2');
    stream.subscribe();
    expect(stream.subscribed).toEqual([account(1), account(3)]);
    expect(stream.freshMs(stream.answer(by(3)))).toBe(2000);
  });

  test('may be none', () => {
    stream.ask(by(1));
    stream.ask(by(1));
    vi.advanceTimersByTime(50);
    stream.server.socket.refuse('address limit exceeded: current 0 + new 1 > max 0');
    vi.advanceTimersByTime(50);
    expect(stream.watches).toBe(0);
  });
});
