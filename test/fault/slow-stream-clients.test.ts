import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { open as openSocket } from '../e2e/pass-through-world.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import { EventsClient, refusedWith, SSE, WebSocketClient, WS } from '../support/stream-clients.ts';

const PATIENCE = { interval: 2 };

/** `upstreamUrl` replaces the simulated indexer. */
function startWorld(upstreamUrl?: string, passThrough = {}): Promise<World> {
  const env = { PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s' };
  return World.start({ ...ANY_WORLD, proxy: { env, overrides: { passThrough }, ...(upstreamUrl && { upstreamUrl }) } });
}

const HASHES = { operation: 'subscribe', types: ['trace'], trace_external_hash_norms: ['x'] };

/** A client that opens a stream and reads nothing. */
async function openDeaf(world: World, kind: string): Promise<Socket> {
  const body = JSON.stringify(HASHES);
  const fields = {
    websocket: ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAA'],
    sse: [`Content-Length: ${body.length}`],
  }[kind];
  const line = kind === 'sse' ? `POST ${SSE}` : `GET ${WS}`;
  const before = world.indexer.streaming.connections;
  const socket = await openSocket(
    world,
    `${line} HTTP/1.1\r\nHost: x\r\n${fields?.join('\r\n')}\r\n\r\n${kind === 'sse' ? body : ''}`,
  );
  await expect.poll(() => world.indexer.streaming.connections, PATIENCE).toBe(before + 1);
  return socket;
}

const open = (world: World, kind: string) => world.proxy.metric('streams', { kind });
const ended = (world: World, kind: string, reason: string) => world.proxy.metric('streamsEnded', { kind, reason });

/** Runs the checks of this many seconds. */
async function look(world: World, seconds: number): Promise<void> {
  vi.advanceTimersByTime(seconds * 1000);
  await world.proxy.untilTakenIn();
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

describe.each(['websocket', 'sse'])('a client that never reads its stream (%s)', (kind) => {
  it('is cut after 10 s, and the other clients get every event', async () => {
    await using world = await startWorld();
    using reader = await WebSocketClient.open(world.proxy.url);
    using events = await EventsClient.open(world.proxy.url, HASHES);
    const deaf = await openDeaf(world, kind);
    const text = 'x'.repeat(20_000);
    // More than the system keeps for a connection.
    const sent = 600;
    for (let n = 0; n < sent; n++) {
      world.indexer.streaming.sayToAll(`${n} ${text}`);
      if (n % 20 === 0) await reader.untilMessages(n + 1);
    }
    await reader.untilMessages(sent);
    await events.untilText(`data: ${sent - 1} `);
    await look(world, 9);
    expect(await ended(world, kind, 'slow')).toBe(0);
    await look(world, 3);
    expect(await ended(world, kind, 'slow')).toBe(1);
    expect(reader.messages).toEqual(Array.from({ length: sent }, (_, n) => `${n} ${text}`));
    for (let n = 0; n < sent; n++) expect(events.text).toContain(`data: ${n} x`);
    await expect.poll(() => world.indexer.streaming.connections, PATIENCE).toBe(2);
    expect([await open(world, 'websocket'), await open(world, 'sse')]).toEqual([1, 1]);
    deaf.destroy();
  });

  it('is kept if it reads after a while, and gets every event', async () => {
    await using world = await startWorld();
    using reader = await WebSocketClient.open(world.proxy.url);
    const deaf = await openDeaf(world, kind);
    const sent = 600;
    for (let n = 0; n < sent; n++) world.indexer.streaming.sayToAll(`${n} ${'x'.repeat(20_000)}`);
    await reader.untilMessages(sent);
    await look(world, 9);
    let received = '';
    deaf.on('data', (bytes) => (received += bytes.toString('latin1')));
    await expect.poll(() => received.includes(`${sent - 1} x`), PATIENCE).toBe(true);
    for (let n = 0; n < sent; n++) expect(received).toContain(`${n} xx`);
    await look(world, 15);
    expect(await open(world, kind)).toBe(kind === 'websocket' ? 2 : 1);
    deaf.destroy();
  });
});

/** A server that starts an event stream for each request. */
async function startEvents(): Promise<Server> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': begun\n\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

describe('an idle stream', () => {
  it('is kept if it is a WebSocket, until another client needs its place', async () => {
    const probes = vi.spyOn(Socket.prototype, 'setKeepAlive');
    await using world = await startWorld(undefined, { maxStreams: 2 });
    using pinging = await WebSocketClient.open(world.proxy.url);
    using listening = await WebSocketClient.open(world.proxy.url);
    const after30s = probes.mock.calls.filter(([, delayMs]) => delayMs === 30_000);
    expect(after30s).toHaveLength(4);
    await look(world, 120);
    await pinging.ask({ operation: 'ping', id: '1' });
    world.indexer.streaming.sayToAll('event');
    await listening.untilMessages(1);
    using _next = await WebSocketClient.open(world.proxy.url);
    expect(await listening.closed).toBe(1006);
    expect(await ended(world, 'websocket', 'idle')).toBe(1);
    expect(await refusedWith(world.proxy.url)).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      text: expect.stringContaining('all places for streams are taken (passThrough.maxStreams)'),
    });
    expect(await world.proxy.metric('loadsRefused', { reason: 'streams-full' })).toBe(1);
    await pinging.ask({ operation: 'ping', id: '2' });
  });

  it('is ended for another stream of its client if that client has its maximum', async () => {
    await using world = await startWorld(undefined, { maxStreamsPerClient: 1 });
    using silent = await WebSocketClient.open(world.proxy.url);
    await look(world, 60);
    expect(await refusedWith(world.proxy.url)).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    await look(world, 1);
    using next = await WebSocketClient.open(world.proxy.url);
    expect(await silent.closed).toBe(1006);
    await next.ask({ operation: 'ping', id: '1' });
  });

  it('is cut after 60 s without a byte from either side, if it is an event stream', async () => {
    const server = await startEvents();
    const { port } = server.address() as AddressInfo;
    await using world = await startWorld(`http://127.0.0.1:${port}`);
    using silent = await EventsClient.open(world.proxy.url, HASHES);
    await silent.untilText('begun');
    await look(world, 59);
    expect(await open(world, 'sse')).toBe(1);
    await look(world, 2);
    expect(await silent.closed).toBe('broken');
    expect(await ended(world, 'sse', 'idle')).toBe(1);
    server.close();
  });
});
