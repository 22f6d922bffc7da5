import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PublicServer } from '../../src/http/public/public-server.ts';
import { startEchoServer } from './echo-server.ts';
import { MemorySocket } from './memory-socket.ts';

/** A connection whose client reads nothing of its answers. */
class StalledSocket extends MemorySocket {
  override _write(): void {}
  override _writev(): void {}
}

const HIT = 'GET /api/v3/masterchainBlockShards?hit HTTP/1.1\r\nHost: x\r\n\r\n';
/** Node's HTTP server takes over the connection. */
const HIT_OF_NODE = HIT.replace('\r\n\r\n', '\r\nTE: trailers\r\n\r\n');
const MISS = HIT.replace('hit', 'miss');
/** The timeouts of the echo server, ms. */
const HEADER_TIMEOUT = 60_000;
const KEEP_ALIVE = 65_000;
const SLOW_READER = 60_000;

let server: PublicServer;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  server = startEchoServer({ fastLane: true });
});

afterEach(async () => {
  await server.drain(0);
  vi.useRealTimers();
});

async function connected(socket = new MemorySocket()): Promise<MemorySocket> {
  server.server.emit('connection', socket);
  await tick();
  return socket;
}

async function tick(): Promise<void> {
  await new Promise((resolve) => void setImmediate(resolve));
}

it('a client that sends nothing gets a refusal and is closed after the header timeout', async () => {
  const socket = await connected();
  vi.advanceTimersByTime(HEADER_TIMEOUT - 1000);
  expect(socket.isClosed).toBe(false);
  vi.advanceTimersByTime(2000);
  expect(socket.isClosed).toBe(true);
  expect(socket.text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n.*Connection: close\r\n\r\n\{"error":"[^"]+"\}$/s);
});

it('a client that connects just before a timeout check gets the whole header timeout', async () => {
  vi.advanceTimersByTime(900);
  const socket = await connected();
  vi.advanceTimersByTime(HEADER_TIMEOUT - 100);
  expect(socket.isClosed).toBe(false);
  vi.advanceTimersByTime(2000);
  expect(socket.isClosed).toBe(true);
});

it('an idle client is closed a second after keepAlive has passed since its last answer', async () => {
  const socket = await connected();
  socket.push(HIT);
  await tick();
  vi.advanceTimersByTime(KEEP_ALIVE - 1000);
  socket.push(HIT);
  await tick();
  vi.advanceTimersByTime(KEEP_ALIVE);
  expect(socket.isClosed).toBe(false);
  vi.advanceTimersByTime(3000);
  expect(socket.isClosed).toBe(true);
  expect(socket.text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
});

it('a head that is incomplete after a second is left to Node, which answers it once it is complete', async () => {
  const socket = await connected();
  socket.push(HIT.slice(0, 40));
  expect(socket.listenerCount('drain')).toBe(0);
  vi.advanceTimersByTime(1000);
  // Node's HTTP server listens for this event.
  expect(socket.listenerCount('drain')).toBeGreaterThan(0);
  await tick();
  socket.push(Buffer.from(HIT.slice(40)));
  await expect.poll(() => socket.text).toMatch(/^HTTP\/1\.1 200 OK/);
});

it('a client that is served between two checks stays in the fast lane, although each check sees an incomplete head', async () => {
  const socket = await connected();
  for (let second = 1; second <= 5; second++) {
    socket.push(Buffer.from((second === 1 ? HIT : HIT.slice(40)) + HIT.slice(0, 40)));
    await tick();
    vi.advanceTimersByTime(1000);
    expect(socket.listenerCount('drain')).toBe(0);
  }
  vi.advanceTimersByTime(1000);
  expect(socket.listenerCount('drain')).toBeGreaterThan(0);
});

it.each([
  ['the fast lane', HIT, SLOW_READER],
  ['Node', HIT_OF_NODE, SLOW_READER],
  ['the fast lane, after 16 times as long if 256 KiB wait', HIT.replace('hit', 'hit-large'), 16 * SLOW_READER],
  ['Node, after 16 times as long if 256 KiB wait', HIT_OF_NODE.replace('hit', 'hit-large'), 16 * SLOW_READER],
])('a client that reads nothing of an answer is cut off: an answer from %s', async (_, request, ms) => {
  const socket = await connected(new StalledSocket());
  socket.push(request);
  await tick();
  await tick();
  expect(socket.writableLength).toBeGreaterThan(0);
  vi.advanceTimersByTime(ms);
  expect(socket.destroyed).toBe(false);
  // The head of the answer counts too.
  vi.advanceTimersByTime(ms / 16);
  expect(socket.destroyed).toBe(true);
});

it('a drain closes idle connections, and closes waiting ones after their last answer, which announces it', async () => {
  const [idle, fresh, waiting] = [await connected(), await connected(), await connected()];
  idle.push(HIT);
  await tick();
  waiting.push(MISS + MISS);
  const drained = server.drain(1000);
  await expect.poll(() => waiting.isClosed).toBe(true);
  expect([idle.isClosed, fresh.isClosed]).toEqual([false, false]);
  await expect.poll(() => [idle.isClosed, fresh.isClosed]).toEqual([true, true]);
  const connections = [...waiting.text.matchAll(/^Connection: (.*)\r$/gm)].map(([, value]) => value);
  expect(connections).toEqual(['keep-alive', 'close']);
  await drained;
});
