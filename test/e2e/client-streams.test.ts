import { once } from 'node:events';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { USER_AGENT } from '../../src/version.ts';
import { type HttpAnswer, startHttpUpstream } from '../support/http-upstream.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { EventsClient, refusedWith, SSE, WebSocketClient, WS } from '../support/stream-clients.ts';
import { accountOf, send } from '../support/streaming-world.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

const PATIENCE = { interval: 2 };

/** A world with a quiet chain, whose proxy passes the rest of the API through. */
function startWorld({ env, ...options }: WorldProxyOptions = {}): Promise<World> {
  const proxy = { ...options, env: { PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s', ...env } };
  return World.start({ ...ANY_WORLD, chain: { messagesPerBlock: 0, delayedShare: 0 }, proxy });
}

const subscription = (account: string) => ({
  operation: 'subscribe',
  id: '1',
  types: ['transactions', 'actions', 'account_state_change'],
  addresses: [account],
  min_finality: 'pending',
});

const open = (world: World, kind: string) => world.proxy.metric('streams', { kind });
const ended = (world: World, kind: string, reason: string) => world.proxy.metric('streamsEnded', { kind, reason });

describe('a client of the Streaming API', () => {
  it('gets the same messages through toncache as directly from the indexer, by WebSocket', async () => {
    await using world = await startWorld();
    const account = accountOf(world);
    using straight = await WebSocketClient.open(world.indexer.url);
    using through = await WebSocketClient.open(world.proxy.url);
    for (const client of [straight, through]) {
      await client.ask({ operation: 'ping', id: 'p' });
      await client.ask(subscription(account));
      await client.ask({ operation: 'subscribe', types: ['no such type'] });
    }
    world.advanceTo(send(world).emulatedAt);
    await straight.untilMessages(4);
    world.indexer.streaming.flood(account, 200);
    await straight.untilMessages(204);
    await through.untilMessages(straight.messages.length);
    expect(through.messages).toEqual(straight.messages);
    expect(await open(world, 'websocket')).toBe(1);
    expect(await world.proxy.metric('toncache_client_stream_requests_total', { result: '101' })).toBe(1);
    // Neither a slot nor a request in flight.
    expect(await world.proxy.metric('upstreamInFlight')).toBe(0);
    through.socket.close(1000);
    expect(await through.closed).toBe(1006);
    await expect.poll(() => open(world, 'websocket'), PATIENCE).toBe(0);
    await expect.poll(() => world.indexer.streaming.connections, PATIENCE).toBe(1);
  });

  it('gets the same messages through toncache as directly from the indexer, by server-sent events', async () => {
    await using world = await startWorld();
    const account = accountOf(world);
    using straight = await EventsClient.open(world.indexer.url, subscription(account));
    using through = await EventsClient.open(world.proxy.url, subscription(account));
    expect(through.response.status).toBe(200);
    expect(through.response.headers.get('content-type')).toBe('text/event-stream');
    expect(through.response.headers.get('access-control-allow-origin')).toBe('*');
    world.advanceTo(send(world).emulatedAt);
    await straight.untilText('"transactions"');
    world.indexer.streaming.sayToAll('the last');
    await straight.untilText('the last');
    await through.untilText('the last');
    expect(through.text).toBe(straight.text);
    expect(through.text).toMatch(/^data: \{"id":"1","status":"subscribed"\}\n\ndata: \{"type":"transactions"/);
    expect(await open(world, 'sse')).toBe(1);
    const onPage = async () => JSON.parse((await world.proxy.askAdmin('/status.json')).text).clientStreams;
    await expect.poll(onPage).toBe(1);
    expect(await world.proxy.metric('upstreamInFlight')).toBe(0);
    through[Symbol.dispose]();
    await expect.poll(() => world.indexer.streaming.connections, PATIENCE).toBe(1);
    await expect.poll(() => ended(world, 'sse', 'client-closed-request'), PATIENCE).toBe(1);
  });

  it('may upgrade a connection after other requests, and gets an answer to its preflight', async () => {
    await using world = await startWorld();
    const upgrade = [
      ...['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    ];
    const before = `GET /api/v3/pendingTraces?account=${accountOf(world)} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const ping = Buffer.from([0x88, 0x80, 0, 0, 0, 0]);
    const wire = await world.proxy.exchange(
      `${before}${before}GET ${WS} HTTP/1.1\r\n${upgrade.join('\r\n')}\r\n\r\n${ping.toString('latin1')}`,
    );
    expect(wire.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 101']);
    const preflight = await world.ask(SSE, { method: 'OPTIONS' });
    expect(preflight.headers['access-control-allow-methods']).toContain('POST');
  });

  it.each([
    ['a WebSocket at another path', '/api/v3/x', 'GET', [], 400],
    ['a WebSocket by POST', WS, 'POST', ['Content-Length: 2'], 400],
    ['a WebSocket with a body', WS, 'GET', ['Content-Length: 2'], 400],
    ['a WebSocket at an ambiguous path', '/api/streaming/../v3/x', 'GET', [], 400],
    ['a WebSocket with two Hosts', WS, 'GET', ['Host: y'], 400],
  ])('cannot open %s', async (_, target, method, more, status) => {
    await using world = await startWorld();
    const fields = ['Host: x', 'Connection: Upgrade, close', 'Upgrade: websocket', ...more].join('\r\n');
    const wire = await world.proxy.exchange(`${method} ${target} HTTP/1.1\r\n${fields}\r\n\r\n{}`);
    expect(wire).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(world.indexer.requests.recent).toEqual([]);
    expect(world.indexer.streaming.connections).toBe(0);
  });

  it('gets the status with which it is refused', async () => {
    await using world = await startWorld();
    expect(await refusedWith(world.proxy.url, {}, '/api/streaming/v1/ws')).toMatchObject({ status: 404 });
    world.indexer.streaming.faults.apiKey = 'ours';
    expect(await refusedWith(world.proxy.url)).toMatchObject({ status: 401 });
    world.indexer.streaming.faults.apiKey = undefined;
    expect(await world.ask(WS)).toMatchObject({ status: 426 });
    using events = await EventsClient.open(world.proxy.url, { operation: 'subscribe', types: ['none'] });
    expect(events.response.status).toBe(400);
    await events.untilText('invalid event type');
    await expect.poll(() => open(world, 'sse'), PATIENCE).toBe(0);
  });

  it('gets 502 if our key is refused, once for each request, and the 401 of the API itself', async () => {
    let said: HttpAnswer = { status: 402, body: '{"error":"Add credits","code":402}' };
    await using server = await startHttpUpstream(() => said);
    await using backup = await startHttpUpstream(() => ({ status: 200, body: '{}' }));
    const env = { UPSTREAM_API_KEY: 'ours', PASSTHROUGH_SHARED_KEY: 'on', UPSTREAM_BACKUP_URL: backup.url };
    await using proxy = await startProxy({ upstreamUrl: server.url, env: { ...env, PASSTHROUGH: 'on' } });
    const get = () => proxy.ask(SSE);
    const post = () => proxy.ask(SSE, { method: 'POST', body: '{}' });
    for (const status of [401, 402, 403]) {
      said = { ...said, status };
      for (const answer of [await get(), await post()]) {
        expect(answer).toMatchObject({ status: 502 });
        expect(answer.text).not.toContain('credits');
      }
      expect(await refusedWith(proxy.url)).toMatchObject({ status: 502 });
      expect(await refusedWith(proxy.url, { 'X-Api-Key': 'mine' })).toMatchObject({ status });
    }
    said = { status: 401, body: '{"error":"boc is required"}' };
    expect(await get()).toMatchObject({ status: 401, text: said.body });
    expect(await post()).toMatchObject({ status: 401, text: said.body });
    expect(await refusedWith(proxy.url)).toMatchObject({ status: 401, text: said.body });
    expect(server.asked).toHaveLength(15);
    expect(backup.asked).toEqual([]);
  });

  it('gets 501 that names the path if pass-through is off', async () => {
    await using world = await startWorld({ env: { PASSTHROUGH: 'off' } });
    const refused = await refusedWith(world.proxy.url);
    expect(refused.status).toBe(501);
    expect(refused.text).toBe('{"error":"/api/streaming/v2/ws is not served here: PASSTHROUGH does not allow it"}');
    expect(await world.ask(SSE, { method: 'POST', body: '{}' })).toMatchObject({ status: 501 });
  });

  it('gets 502 if the server of the stream cannot be reached', async () => {
    await using world = await startWorld({ env: { STREAM_URL: 'ws://127.0.0.1:1' } });
    expect(await refusedWith(world.proxy.url)).toMatchObject({ status: 502 });
    world.indexer.streaming.faults.refusesConnections = true;
    expect(await world.ask(SSE, { method: 'POST', body: '{}' })).toMatchObject({ status: 502 });
    const failed = await world.proxy.metric('toncache_client_stream_requests_total', {
      result: 'upstream-unreachable',
    });
    expect(failed).toBe(2);
    const lines = world.proxy.log.filter(({ msg }) => msg === 'no stream can be opened for clients: wallets poll');
    expect(lines).toHaveLength(1);
  });

  it('is connected only to the first of several indexers', async () => {
    await using world = await startWorld();
    await using other = await startWorld();
    const env = { PASSTHROUGH: 'on', UPSTREAM_URL: `${world.indexer.url},${other.indexer.url}` };
    const proxy = await world.addProxy({ env });
    for (let time = 0; time < 8; time++) {
      using _socket = await WebSocketClient.open(proxy.url);
    }
    expect(world.indexer.streaming.requests).toHaveLength(8);
    expect(other.indexer.streaming.requests).toEqual([]);
  });

  it('frees its place and the connection to the server when it disconnects before the server answers', async () => {
    const arrived: Socket[] = [];
    const server = createServer((socket) => void arrived.push(socket.on('error', () => {}).resume()));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const STREAM_URL = `ws://127.0.0.1:${port}`;
    await using world = await startWorld({ overrides: { passThrough: { maxStreams: 1 } } });
    const proxy = await world.addProxy({
      env: { PASSTHROUGH: 'on', STREAM_URL },
      overrides: { passThrough: { maxStreams: 1, maxStreamsPerClient: 1 }, upstream: { timeout: 60_000 } },
    });
    const client = new WebSocket(proxy.url.replace('http', 'ws') + WS);
    client.on('error', () => {});
    await expect.poll(() => arrived.length, PATIENCE).toBe(1);
    expect(await refusedWith(proxy.url)).toMatchObject({ status: 429 });
    client.terminate();
    await once(arrived[0] as Socket, 'close');
    expect(await proxy.metric('upstreamInFlight')).toBe(0);
    const next = new WebSocket(proxy.url.replace('http', 'ws') + WS);
    next.on('error', () => {});
    await expect.poll(() => arrived.length, PATIENCE).toBe(2);
    next.terminate();
    server.close();
    for (const socket of arrived) socket.destroy();
  });

  it('is disconnected when the server closes the connection, and can reconnect', async () => {
    await using world = await startWorld();
    using socket = await WebSocketClient.open(world.proxy.url);
    using events = await EventsClient.open(world.proxy.url, subscription(accountOf(world)));
    await events.untilText('subscribed');
    world.indexer.streaming.cut();
    expect(await socket.closed).toBe(1006);
    expect(await events.closed).toBe('broken');
    await expect.poll(() => ended(world, 'websocket', 'upstream-ended'), PATIENCE).toBe(1);
    await expect.poll(() => ended(world, 'sse', 'upstream-ended'), PATIENCE).toBe(1);
    using again = await WebSocketClient.open(world.proxy.url);
    await again.ask({ operation: 'ping', id: 'p' });
  });
});

describe('the server of the stream', () => {
  /** A server that answers with its own path, over TLS, and accepts WebSockets there. */
  async function startServer() {
    const certificate = selfSignedCertificate('stream.test', '127.0.0.1');
    const server = createSecureServer(certificate, ({ url }, response) => response.end(url));
    const sockets = new WebSocketServer({ server });
    const asked: (string | undefined)[] = [];
    sockets.on('connection', (socket, { url, headers }) => {
      asked.push(`${headers.host} ${url}`);
      socket.on('message', (data) => socket.send(`echo ${String(data)}`));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, certificate.cert]);
    const { port } = server.address() as AddressInfo;
    const end = () => {
      setDefaultCACertificates(trusted);
      for (const socket of sockets.clients) socket.terminate();
      server.close();
      server.closeAllConnections();
    };
    return { host: `127.0.0.1:${port}`, asked, [Symbol.dispose]: end };
  }

  it.each([
    ['wss', '/api/streaming/v2/ws', '/api/streaming'],
    ['wss', '/streaming/v2/ws', '/streaming'],
    ['wss', '/its/own/streaming/v2/ws', '/its/own/streaming'],
    ['https', '', '/api/streaming'],
    ['https', '/its/own', '/its/own/api/streaming'],
  ])('is reached over TLS: %s://host%s leads to paths below %s', async (scheme, path, below) => {
    using server = await startServer();
    const url = `${scheme}://${server.host}${path}`;
    await using world = await startWorld();
    const proxy = await world.addProxy({
      env: { PASSTHROUGH: 'on', ...(scheme === 'wss' ? { STREAM_URL: url } : { UPSTREAM_URL: url }) },
    });
    using client = await WebSocketClient.open(proxy.url, {}, `${WS}?a=%20b`);
    await client.ask({ operation: 'ping' });
    expect(client.messages).toEqual(['echo {"operation":"ping"}']);
    expect(server.asked).toContain(`${server.host} ${below}/v2/ws?a=%20b`);
    expect((await proxy.ask(SSE, { method: 'POST', body: '{}' })).text).toBe(`${below}/v2/sse`);
  });
});

describe('the key of a stream', () => {
  const OURS = { UPSTREAM_API_KEY: 'ours', STREAM_API_KEY: 'ours-of-stream', PASSTHROUGH_SHARED_KEY: 'on' };
  const withStream = (world: World) => ({ STREAM_URL: world.indexer.streamUrl });

  it('sends no headers of the edge in front of toncache to the server of streams', async () => {
    await using world = await startWorld();
    const edge = { 'CF-Connecting-IP': '192.0.2.1', 'X-Forwarded-For': '192.0.2.1', Origin: 'https://x', Cookie: 'a' };
    const passed = { 'Sec-WebSocket-Protocol': 'x', 'Last-Event-ID': '7', Authorization: 'Bearer x' };
    using _socket = await WebSocketClient.open(world.proxy.url, { ...edge, ...passed }).catch(() => undefined);
    using _events = await EventsClient.open(world.proxy.url, subscription(accountOf(world)), { ...edge, ...passed });
    const sent = world.indexer.streaming.requests.map(({ headers }) => headers);
    expect(sent).toHaveLength(2);
    for (const headers of sent) {
      for (const [name, value] of Object.entries(passed)) expect(headers[name.toLowerCase()]).toContain(value);
      for (const name of Object.keys(edge)) expect(headers).not.toHaveProperty(name.toLowerCase());
      expect(headers['user-agent']).toBe(USER_AGENT);
    }
  });

  /** The keys in requests to the server, as headers and in targets. */
  async function keysOf(world: World, proxy: RunningProxy, headers: Record<string, string>, query = '') {
    const before = world.indexer.streaming.requests.length;
    using _socket = await WebSocketClient.open(proxy.url, headers, `${WS}${query}`).catch(() => undefined);
    using _events = await EventsClient.open(proxy.url, subscription(accountOf(world)), headers, query);
    return world.indexer.streaming.requests.slice(before).map(({ url, headers: sent }) => [sent['x-api-key'], url]);
  }

  it.each([
    ['STREAM_API_KEY if STREAM_URL is set', true, OURS, 'ours-of-stream'],
    ['UPSTREAM_API_KEY if STREAM_URL is not set', false, OURS, 'ours'],
    ['absent if STREAM_URL is set without STREAM_API_KEY', true, { ...OURS, STREAM_API_KEY: '' }, undefined],
    [
      'absent if PASSTHROUGH_SHARED_KEY is off and STREAM_URL is set',
      true,
      { ...OURS, PASSTHROUGH_SHARED_KEY: 'off' },
      undefined,
    ],
    [
      'absent if PASSTHROUGH_SHARED_KEY is off and STREAM_URL is not set',
      false,
      { ...OURS, PASSTHROUGH_SHARED_KEY: 'off' },
      undefined,
    ],
  ])('is %s', async (_, hasStream, env, key) => {
    await using world = await startWorld();
    const proxy = await world.addProxy({
      env: { PASSTHROUGH: 'on', ...env, ...(hasStream ? withStream(world) : {}) },
    });
    expect(await keysOf(world, proxy, {})).toEqual([
      [key, WS],
      [key, SSE],
    ]);
    expect(await keysOf(world, proxy, { 'X-API-Key': 'mine' })).toEqual([
      ['mine', WS],
      ['mine', SSE],
    ]);
    expect(await keysOf(world, proxy, {}, '?Api-Key=mine&x=1')).toEqual([
      [undefined, `${WS}?Api-Key=mine&x=1`],
      [undefined, `${SSE}?Api-Key=mine&x=1`],
    ]);
    // A blank key does not count.
    const rest = key === undefined ? '?api_key=&x=1' : '?x=1';
    expect(await keysOf(world, proxy, {}, '?api_key=&x=1')).toEqual([
      [key, WS + rest],
      [key, SSE + rest],
    ]);
  });
});

describe('the bounds of streams', () => {
  it('limit the total number, with our key or without it', async () => {
    await using world = await startWorld();
    const passThrough = { maxStreams: 3, maxStreamsPerClient: 100 };
    const env = {
      PASSTHROUGH: 'on',
      PASSTHROUGH_SHARED_KEY: 'on',
      STREAM_API_KEY: 'k',
      STREAM_URL: world.indexer.streamUrl,
    };
    const proxy = await world.addProxy({ env, overrides: { passThrough } });
    using first = await WebSocketClient.open(proxy.url);
    using _second = await EventsClient.open(proxy.url, subscription(accountOf(world)));
    using _third = await WebSocketClient.open(proxy.url, { 'X-Api-Key': 'mine' });
    const refused = await refusedWith(proxy.url);
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(await refusedWith(proxy.url, { 'X-Api-Key': 'mine' })).toMatchObject({ status: 503 });
    expect(await proxy.ask(SSE, { method: 'POST', body: '{}' })).toMatchObject({ status: 503 });
    first[Symbol.dispose]();
    await expect.poll(() => proxy.metric('streams', { kind: 'websocket' }), PATIENCE).toBe(1);
    using _again = await WebSocketClient.open(proxy.url);
  });

  it('are 8 streams per client and 64 in total by default', async () => {
    await using world = await startWorld({ env: { TRUSTED_PROXIES: '127.0.0.1' } });
    const from = (client: number) => ({ 'X-Forwarded-For': `192.0.2.${client}` });
    const opened = Array.from({ length: 64 }, (_, n) => WebSocketClient.open(world.proxy.url, from(n % 8)));
    const clients = await Promise.all(opened);
    const refused = await refusedWith(world.proxy.url, from(0));
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect(refused.text).toContain('8 at once are accepted');
    const full = await refusedWith(world.proxy.url, from(8));
    expect(full).toMatchObject({ status: 503 });
    expect(full.text).toContain('all places for streams are taken (passThrough.maxStreams)');
    for (const client of clients) client[Symbol.dispose]();
    await expect.poll(() => open(world, 'websocket'), PATIENCE).toBe(0);
    using _again = await WebSocketClient.open(world.proxy.url, from(0));
  });

  it.each([
    ['X-Forwarded-For', '192.0.2.1'],
    ['X-Real-IP', '192.0.2.1'],
    ['Forwarded', 'for=192.0.2.1'],
  ])('are logged once with TRUSTED_PROXIES if a refused client names others: %s', async (header, value) => {
    await using world = await startWorld({ overrides: { passThrough: { maxStreamsPerClient: 1 } } });
    const lines = () => world.proxy.log.filter(({ msg }) => msg.includes('TRUSTED_PROXIES'));
    using _socket = await WebSocketClient.open(world.proxy.url, { [header]: value });
    expect(await refusedWith(world.proxy.url)).toMatchObject({ status: 429 });
    expect(lines()).toEqual([]);
    for (let time = 0; time < 2; time++) {
      expect(await refusedWith(world.proxy.url, { [header]: value })).toMatchObject({ status: 429 });
      expect(await world.ask(SSE, { method: 'POST', body: '{}', headers: { [header]: value } })).toMatchObject({
        status: 429,
      });
    }
    expect(lines()).toMatchObject([{ header, address: expect.stringContaining('127.0.0.1') }]);
  });

  it('are not logged if the client is known by a trusted proxy', async () => {
    await using world = await startWorld({
      env: { TRUSTED_PROXIES: '127.0.0.1' },
      overrides: { passThrough: { maxStreamsPerClient: 1 } },
    });
    const headers = { 'X-Forwarded-For': '192.0.2.1' };
    using _socket = await WebSocketClient.open(world.proxy.url, headers);
    expect(await refusedWith(world.proxy.url, headers)).toMatchObject({ status: 429 });
    expect(world.proxy.log.filter(({ msg }) => msg.includes('TRUSTED_PROXIES'))).toEqual([]);
  });

  it('are not used up by requests that fail', async () => {
    await using world = await startWorld({ overrides: { passThrough: { maxStreams: 1, maxStreamsPerClient: 1 } } });
    for (let time = 0; time < 3; time++) {
      expect(await refusedWith(world.proxy.url, {}, '/api/streaming/v1/ws')).toMatchObject({ status: 404 });
      world.indexer.streaming.faults.refusesConnections = true;
      expect(await refusedWith(world.proxy.url)).toMatchObject({ status: 502 });
      world.indexer.streaming.faults.refusesConnections = false;
      expect(await world.ask(WS)).toMatchObject({ status: 426 });
      using _socket = await WebSocketClient.open(world.proxy.url);
    }
  });
});

describe('at the end of the process', () => {
  it('streams are closed once all other requests are answered', async () => {
    await using world = await startWorld({ overrides: { http: { drainTimeout: 60_000 } } });
    using socket = await WebSocketClient.open(world.proxy.url);
    using events = await EventsClient.open(world.proxy.url, subscription(accountOf(world)));
    const gate = world.indexer.hold();
    const asked = await world.proxy.sendIn(`/api/v3/pendingTraces?account=${accountOf(world)}`);
    await gate.arrived(1);
    const closed = world.proxy.close();
    await socket.ask({ operation: 'ping', id: 'p' });
    world.indexer.streaming.sayToAll('still there');
    await events.untilText('still there');
    gate.release();
    expect(await asked.answer).toMatchObject({ status: 200 });
    expect(await socket.closed).toBe(1006);
    await events.closed;
    await closed;
    await expect.poll(() => world.indexer.streaming.connections, PATIENCE).toBe(0);
  });

  it('streams are closed at the end of the drain at the latest', async () => {
    await using world = await startWorld({ overrides: { http: { drainTimeout: 300 } } });
    using socket = await WebSocketClient.open(world.proxy.url);
    const gate = world.indexer.hold();
    const asked = await world.proxy.sendIn(`/api/v3/pendingTraces?account=${accountOf(world)}`);
    await gate.arrived(1);
    const closed = world.proxy.close();
    expect(await asked.answer).toMatchObject({ status: 503 });
    expect(await socket.closed).toBe(1006);
    await closed;
  });
});
