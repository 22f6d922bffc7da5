import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StreamConnection } from '../../../src/push/connection.ts';
import type { StreamEvent } from '../../../src/push/reports.ts';
import { FakeServer } from './fake-server.ts';

let server: FakeServer;
let connection: StreamConnection;
let reported: StreamEvent[];
let ups: number;
let downs: number;

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
  [reported, ups, downs] = [[], 0, 0];
  connection = new StreamConnection({
    open: server.open,
    random: () => 0,
    onUp: () => void ups++,
    onDown: () => void downs++,
    onFrame: () => {},
    report: (event) => void reported.push(event),
  });
  connection.start();
});

afterEach(() => {
  connection.close();
  vi.useRealTimers();
});

const names = () => reported.map(({ name }) => name);

describe('a lost connection', () => {
  test('ends its subscriptions once, and is opened again after a delay that doubles from 250 ms to 30 s', () => {
    server.socket.accept();
    server.socket.handlers.onClose('reset');
    expect([connection.isUp, downs]).toEqual([false, 1]);
    for (const delayMs of [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      const before = server.sockets.length;
      vi.advanceTimersByTime(delayMs - 1);
      expect(server.sockets).toHaveLength(before);
      vi.advanceTimersByTime(1);
      expect(server.sockets).toHaveLength(before + 1);
      server.socket.handlers.onClose('refused');
    }
    expect(downs).toBe(1);
  });

  test('is opened again after 250 ms only if it had answered a second ping, after 15 s', () => {
    server.answersPings = true;
    for (const delayMs of [250, 500]) {
      server.socket.accept();
      vi.advanceTimersByTime(14_999);
      server.socket.handlers.onClose('reset');
      vi.advanceTimersByTime(delayMs - 1);
      const before = server.sockets.length;
      vi.advanceTimersByTime(1);
      expect(server.sockets).toHaveLength(before + 1);
    }
    server.socket.accept();
    vi.advanceTimersByTime(15_000);
    server.socket.handlers.onClose('reset');
    vi.advanceTimersByTime(250);
    expect(server.sockets).toHaveLength(4);
  });
});

describe('a server that does not answer', () => {
  test('the first ping within 10 s is disconnected', () => {
    server.socket.handlers.onOpen();
    vi.advanceTimersByTime(10_000);
    expect(server.sockets[0]?.isClosed).toBe(true);
    expect(names()).toEqual(['stream-disconnected']);
  });

  test('a subscription within 10 s is disconnected, although it answers pings', () => {
    server.answersPings = true;
    server.socket.accept();
    connection.send({ id: '1' });
    vi.advanceTimersByTime(9999);
    expect(connection.isUp).toBe(true);
    vi.advanceTimersByTime(1);
    expect([connection.isUp, downs]).toEqual([false, 1]);
  });
});
