import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fault, failed, rateLimited } from '../../src/simulator/faults.ts';
import type { LoggedRequest } from '../../src/simulator/request-log.ts';
import { send } from '../support/http-client.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';
import { newestBlock, nothingPending } from './questions.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

const MIB = 1024 * 1024;
const INFO = '/api/v3/masterchainInfo';
const MESSAGE = '/api/v3/message';
const JSON_BODY = { 'Content-Type': 'application/json' };

let world: World;

/** A world whose deadline no busy machine reaches. */
async function start({ env, overrides }: WorldProxyOptions = {}): Promise<void> {
  const proxy = { env: { PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s', ...env }, overrides: { ...overrides } };
  world = await World.start({ ...ANY_WORLD, proxy });
}

/** All requests at the indexer; here only the proxy sends any. */
const arrived = (): readonly LoggedRequest[] => world.indexer.requests.recent;

/** A raw connection to the public port on which these bytes were sent. */
async function open(bytes: string): Promise<Socket> {
  const { hostname, port } = new URL(world.proxy.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write(bytes, 'latin1');
  return socket;
}

/** The statuses of all answers in what came back. */
const statuses = (received: string): string[] => received.match(/(?<=HTTP\/1\.1 )\d{3}(?= )/g) ?? [];

/** The raw head of a request that is the connection's last. */
const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: x', ...headers, 'Connection: close', '', ''].join('\r\n');

/** Resolves once the proxy has seen what became of earlier connections. */
async function untilNoticed(): Promise<void> {
  for (let time = 0; time < 3; time++) await world.proxy.ask('/no/such/path');
}

afterEach(() => world[Symbol.asyncDispose]());

describe('pass-through when it is not configured', () => {
  beforeEach(() => start({ env: { PASSTHROUGH: 'off' } }));

  it('is off: other paths are 404, and preflight allows no POST', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      expect(await world.ask(INFO, { method })).toMatchObject({ status: 404 });
    }
    const { headers } = await world.ask('/api/v3/pendingTraces', { method: 'OPTIONS' });
    expect(headers['access-control-allow-methods']).not.toMatch(/POST/);
    expect(headers['access-control-allow-headers']).not.toMatch(/content-type/i);
    expect(arrived()).toEqual([]);
  });
});

describe('a request that is passed through', () => {
  beforeEach(() => start());

  it('gets the answer of the indexer, which is never stored', async () => {
    const truth = await world.askIndexer(INFO);
    for (let asked = 0; asked < 2; asked++) {
      const { status, text, headers, cache } = await world.ask(INFO);
      expect([status, text]).toEqual([200, truth.text]);
      expect(cache).toMatchObject({ fwd: 'bypass' });
      expect(cache).not.toHaveProperty('stored');
      expect(cache).not.toHaveProperty('hit');
      expect(headers).not.toHaveProperty('age');
      expect(headers['content-type']).toBe('application/json');
      expect(headers['content-length']).toBe(String(truth.bytes.length));
      expect(headers['x-api-version']).toBe(truth.headers['x-api-version']);
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['x-request-id']).toMatch(/./);
    }
    expect(arrived()).toHaveLength(3);
  });

  it('gets the refusal of the indexer', async () => {
    expect(await world.ask('/api/v3/noSuchThing')).toMatchObject({
      status: 404,
      text: '{"error":"Cannot find this path"}',
    });
    expect(await world.ask(MESSAGE)).toMatchObject({ status: 405 });
    expect(await world.ask('/api/v3/transactionsByMasterchainBlock?limit=x')).toMatchObject({ status: 422 });
    expect(arrived()).toHaveLength(3);
  });

  it.each(['GET', 'HEAD'])('is sent byte for byte: %s', async (method) => {
    for (const target of [
      '/api/v3/transactionsByMasterchainBlock?seqno=1&limit=256&offset=0&sort=asc',
      "/api/v3/%41b-._~!$&'()*+,;=:@/c/?a=%2F%00&b[]=+&b[]=%20&&=&?#".slice(0, -1),
      '/api/v3/?api_key=of-the-client',
    ]) {
      await world.ask(target, { method });
      expect(arrived().at(-1)).toMatchObject({ method, target });
    }
  });

  it('is sent to the configured indexer whatever Host it has', async () => {
    const received = await world.proxy.exchange(
      [
        'GET http://evil.example:1/api/v3/masterchainInfo HTTP/1.1',
        'Host: evil.example',
        'Connection: close',
        '',
        '',
      ].join('\r\n'),
    );
    expect(statuses(received)).toEqual(['200']);
    expect(arrived()).toMatchObject([{ target: INFO, headers: { host: new URL(world.indexer.url).host } }]);
  });

  it.each([
    ...[
      '/api/v3/../x',
      '/api/v3/%2e%2e/x',
      '/api/v3//x',
      '/api/v3/x%2fy',
      '/api/v3/x%5Cy',
      '/api/v3/%00',
      '/api/v3/%zz',
    ],
    ...['/api/v3/x\\y', '/api/v3/..;/x', 'http://h/api/v3/../x', '/api/v3/x?\\'],
  ])('is refused when servers could read it differently: %s', async (target) => {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const received = await world.proxy.exchange(
        head(`${method} ${target}`, ...(method === 'POST' ? ['Content-Length: 0'] : [])),
      );
      expect(statuses(received)).toEqual(['400']);
    }
    expect(arrived()).toEqual([]);
  });

  it.each([
    '//evil.example/api/v3/x',
    'http://evil.example//evil.example/api/v3/x',
    '/x/../api/v3/y',
    '*',
    '/%61pi/v3/x',
  ])('has a path under /api/v3/: %s is 404', async (target) => {
    expect(statuses(await world.proxy.exchange(head(`GET ${target}`)))).toEqual(['404']);
    expect(arrived()).toEqual([]);
  });

  it('is allowed to browsers: preflight allows POST and Content-Type', async () => {
    const { status, headers } = await world.ask(MESSAGE, {
      method: 'OPTIONS',
      headers: { Origin: 'https://wallet.example', 'Access-Control-Request-Method': 'POST' },
    });
    expect(status).toBe(204);
    expect(headers['access-control-allow-methods']).toMatch(/\bPOST\b/);
    expect(headers['access-control-allow-headers']).toMatch(/\bContent-Type\b/);
    expect(headers['access-control-allow-headers']).toMatch(/\bX-Api-Key\b/);
    expect(arrived()).toEqual([]);
  });

  it.each(['DELETE', 'PUT', 'PATCH', 'TRACE', 'PROPFIND'])('is refused with %s: 405 with Allow', async (method) => {
    const { status, headers } = await world.ask(INFO, { method });
    expect(status).toBe(405);
    expect(headers['allow']?.split(/, */).sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST']);
    expect(arrived()).toEqual([]);
  });

  it('switches no protocols and opens no tunnels', async () => {
    const upgrade = [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      'Sec-WebSocket-Version: 13',
    ];
    const switched = await world.proxy.exchange(head(`GET ${INFO}`, ...upgrade));
    expect(statuses(switched)).toEqual(['400']);
    const h2c = await world.proxy.exchange(
      head(`GET ${INFO}`, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AA'),
    );
    expect(statuses(h2c)).toEqual(['400']);
    for (const target of ['127.0.0.1:1', new URL(world.indexer.url).host, INFO]) {
      expect(await world.proxy.exchange(head(`CONNECT ${target}`))).not.toMatch(/^HTTP\/1\.1 [12]/);
    }
    expect(arrived()).toEqual([]);
  });

  it('is not for a cached operation: their POST is not passed on', async () => {
    for (const target of ['/api/v3/pendingTraces', '/API/v3/masterchainblockshards/', '/api/v3/adjacentTransactions']) {
      expect(await world.ask(target, { method: 'POST', body: '{}' })).toMatchObject({ status: 405 });
    }
    expect(arrived()).toEqual([]);
  });
});

describe('bodies of requests that are passed through', () => {
  beforeEach(() => start());

  it.each([0, 1, 65_536, MIB])('are sent byte for byte: %d bytes', async (bytes) => {
    const body = randomBytes(bytes >> 1)
      .toString('hex')
      .padEnd(bytes, 'x');
    for (const framing of [{ 'Content-Length': String(bytes) }, { 'Transfer-Encoding': 'chunked' }]) {
      await world.ask(MESSAGE, { method: 'POST', headers: { ...JSON_BODY, ...framing }, body });
      const [asked] = arrived().slice(-1);
      expect(asked).toMatchObject({ method: 'POST', target: MESSAGE, headers: { 'content-type': 'application/json' } });
      expect(asked?.headers['content-length']).toBe(String(bytes));
      expect(asked?.headers).not.toHaveProperty('transfer-encoding');
      expect(hash('sha256', asked?.body ?? '')).toBe(hash('sha256', body));
    }
    expect(arrived()).toHaveLength(2);
  });

  it('are refused above 1 MiB by Content-Length: 413, and the connection is kept or closed', async () => {
    const body = 'x'.repeat(MIB + 1);
    const received = await world.proxy.exchange(
      [`POST ${MESSAGE} HTTP/1.1`, 'Host: x', `Content-Length: ${body.length}`, '', body].join('\r\n') +
        head(`GET ${INFO}`),
    );
    expect(['413', '413,200']).toContain(statuses(received).join());
    // The simulated indexer has the same limit: this one is that of toncache.
    expect(received).toMatch(/detail=body-too-large/);
    expect(arrived().map(({ method }) => method)).not.toContain('POST');
  });

  it('are refused above 1 MiB in chunks: 413, and the connection is kept or closed', async () => {
    const chunk = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`;
    const received = await world.proxy.exchange(
      [`POST ${MESSAGE} HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked', '', ''].join('\r\n') +
        `${chunk.repeat(17)}0\r\n\r\n${head(`GET ${INFO}`)}`,
    );
    expect(['413', '413,200']).toContain(statuses(received).join());
    // The simulated indexer has the same limit: this one is that of toncache.
    expect(received).toMatch(/detail=body-too-large/);
    expect(arrived().map(({ method }) => method)).not.toContain('POST');
  });

  it('are refused before they are sent when Content-Length is too large', async () => {
    const socket = await open(
      [`POST ${MESSAGE} HTTP/1.1`, 'Host: x', `Content-Length: ${MIB + 1}`, '', ''].join('\r\n'),
    );
    const [chunk] = await once(socket, 'data');
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it('that break off are not reported as a bug, and nothing is sent', async () => {
    for (const framing of ['Content-Length: 100\r\n\r\nhalf', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n']) {
      const socket = await open(`POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\n${framing}`);
      await untilNoticed();
      socket.resetAndDestroy();
      await once(socket, 'close');
      await untilNoticed();
    }
    expect(arrived()).toEqual([]);
    expect(world.proxy.log.filter(({ level }) => level >= 50)).toEqual([]);
  });

  it('are sent only once they are complete', async () => {
    const socket = await open(
      `POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 14\r\n\r\n{"boc":`,
    );
    await untilNoticed();
    expect(arrived()).toEqual([]);
    socket.write('"AAAA"}');
    expect(statuses((await buffer(socket)).toString())).toEqual(['200']);
    expect(arrived()).toMatchObject([{ body: Buffer.from('{"boc":"AAAA"}') }]);
  });

  it('of GET and HEAD are not sent, and bytes that follow on the connection are the next request', async () => {
    for (const method of ['GET', 'HEAD']) {
      const smuggled = head(`GET ${MESSAGE}?smuggled`);
      const received = await world.proxy.exchange(
        `${method} ${INFO} HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}${head(`GET ${INFO}`)}`,
      );
      expect(statuses(received)).toEqual(['200', '200']);
    }
    expect(arrived().map(({ target }) => target)).toEqual([INFO, INFO, INFO, INFO]);
    for (const { body, headers } of arrived()) {
      expect(body).toHaveLength(0);
      expect(headers).not.toHaveProperty('content-length');
    }
  });
});

describe('requests that two servers could delimit differently', () => {
  beforeEach(() => start());

  const lines = (...headers: string[]) => [`POST ${MESSAGE} HTTP/1.1`, 'Host: x', ...headers].join('\r\n');
  it.each([
    ['both lengths', `${lines('Content-Length: 6', 'Transfer-Encoding: chunked')}\r\n\r\n0\r\n\r\nG`],
    [
      'both lengths, the other way round',
      `${lines('Transfer-Encoding: chunked', 'Content-Length: 6')}\r\n\r\n0\r\n\r\nG`,
    ],
    ['two lengths', `${lines('Content-Length: 1', 'Content-Length: 2')}\r\n\r\nab`],
    ['a list of lengths', `${lines('Content-Length: 1, 2')}\r\n\r\nab`],
    ['a length with a sign', `${lines('Content-Length: +1')}\r\n\r\na`],
    ['a length in hex', `${lines('Content-Length: 0x1')}\r\n\r\na`],
    ['a length below zero', `${lines('Content-Length: -1')}\r\n\r\na`],
    ['a folded header', `${lines('X-A: b', ' c', 'Content-Length: 0')}\r\n\r\n`],
    ['a folded coding', `${lines('Transfer-Encoding:', ' chunked')}\r\n\r\n0\r\n\r\n`],
    ['chunked that is not last', `${lines('Transfer-Encoding: chunked, identity')}\r\n\r\n0\r\n\r\n`],
    ['chunked twice', `${lines('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked, x')}\r\n\r\n0\r\n\r\n`],
    ['a space before the colon', `${lines('Content-Length : 1')}\r\n\r\na`],
    ['a bare line feed', `${lines('X-A: b\nContent-Length: 1')}\r\n\r\na`],
    ['a bare carriage return', `${lines('X-A: b\rContent-Length: 1')}\r\n\r\na`],
    ['a null byte', `${lines('X-A: b\0', 'Content-Length: 0')}\r\n\r\n`],
    ['a chunk size that is none', `${lines('Transfer-Encoding: chunked')}\r\n\r\nzz\r\n\r\n`],
    ['a chunk that is longer than it says', `${lines('Transfer-Encoding: chunked')}\r\n\r\n1\r\nabc\r\n0\r\n\r\n`],
    ['no host', [`POST ${MESSAGE} HTTP/1.1`, 'Content-Length: 0', '', ''].join('\r\n')],
    ['a space in the target', head(`GET ${INFO} x`)],
  ])('are answered 400 and not sent: %s', async (_, bytes) => {
    const received = await world.proxy.exchange(bytes);
    expect(statuses(received)).toEqual(['400']);
    expect(arrived()).toEqual([]);
    expect(world.proxy.log.filter(({ level }) => level >= 50)).toEqual([]);
  });
});

describe('headers', () => {
  it('of the client are sent, its key too, but no connection headers and no cookies', async () => {
    await start();
    const received = await world.proxy.exchange(
      [
        `GET ${INFO} HTTP/1.1`,
        ...[
          'Host: evil.example',
          'Connection: close, X-Named',
          'X-Named: 1',
          'Keep-Alive: 1',
          'Proxy-Connection: close',
        ],
        ...['TE: trailers', 'Trailer: X-T', 'Proxy-Authorization: Basic AAAA', 'Cookie: a=b', 'X-Timeout: 1'],
        ...[
          'X-Api-Key: of-the-client',
          'X-Kept: 1',
          'X-Latin: \xe9\xff',
          'X-Actions-Version: v1',
          'User-Agent: wallet',
        ],
        ...['Accept: application/json', 'Accept-Encoding: gzip', 'X-Request-Id: abc', '', ''],
      ].join('\r\n'),
    );
    expect(statuses(received)).toEqual(['200']);
    const { headers = {} } = arrived()[0] ?? {};
    expect(headers).toMatchObject({
      ...{ host: new URL(world.indexer.url).host, 'x-api-key': 'of-the-client', 'x-kept': '1', 'x-latin': '\xe9\xff' },
      ...{ 'x-actions-version': 'v1', 'user-agent': 'wallet', accept: 'application/json', 'accept-encoding': 'gzip' },
    });
    for (const name of ['x-named', 'proxy-connection', 'te', 'trailer', 'proxy-authorization', 'cookie', 'x-timeout']) {
      expect(headers).not.toHaveProperty(name);
    }
    expect(headers['connection'] ?? 'keep-alive').toBe('keep-alive');
  });

  it('of any client are never mistaken for an indexer that cannot be reached', async () => {
    await start();
    const odd = [
      '__proto__: 1',
      'constructor: 1',
      "!#$%&'*+-.^_`|~: 1",
      'X-Empty:',
      'X-Tab: a\tb',
      'Expect: 100-continue',
      'Upgrade-Insecure-Requests: 1',
    ];
    const twice = [
      'Cookie: a',
      'X-A: 1',
      'x-a: 2',
      'Set-Cookie: a',
      'Set-Cookie: b',
      'Accept: a',
      'Accept: b',
      'Connection: Host',
      'Connection: x-api-key, content-length, te',
    ];
    for (const header of [
      ...odd,
      ...twice,
      `X-Long: ${'x'.repeat(8000)}`,
      ...Array.from({ length: 128 }, (_, byte) => `X-B: a${String.fromCharCode(128 + byte)}`),
    ]) {
      expect([header, ...statuses(await world.proxy.exchange(head(`GET ${INFO}`, header)))].at(-1)).toBe('200');
    }
    const received = await world.proxy.exchange(head(`GET ${INFO}`, ...odd, ...twice));
    expect(statuses(received).at(-1)).toBe('200');
  });

  it('of the indexer are returned, but no connection headers, no cookies, and none that toncache sets', async () => {
    await start();
    world.indexer.faults.inject({
      kind: 'answer',
      status: 201,
      body: '{"a":1}',
      headers: {
        ...{ 'Set-Cookie': 'a=b', Connection: 'keep-alive, X-Named', 'X-Named': '1', 'Keep-Alive': 'timeout=1' },
        ...{ 'Proxy-Authenticate': 'Basic', 'Access-Control-Allow-Origin': 'https://evil.example', 'X-Kept': '1' },
        ...{ 'Cache-Status': 'other; hit', 'X-Request-Id': 'theirs', 'Cache-Control': 'private', 'X-Latin': '\xe9' },
      },
    });
    const { status, headers, text } = await world.ask(INFO, { headers: { 'X-Request-Id': 'ours' } });
    expect([status, text]).toEqual([201, '{"a":1}']);
    expect(headers).toMatchObject({
      ...{ 'x-kept': '1', 'cache-control': 'private', 'x-request-id': 'ours', 'access-control-allow-origin': '*' },
    });
    expect(headers['cache-status']).toBe('toncache; fwd=bypass; fwd-status=201');
    for (const name of ['set-cookie', 'x-named', 'keep-alive', 'proxy-authenticate']) {
      expect(headers).not.toHaveProperty(name);
    }
  });

  it.each([
    ['a control byte', '200 OK', 'X-Odd: a\x01b'],
    ['text in UTF-8', '200 OK', 'X-Odd: \xe2\x82\xac'],
    ['bytes of no text', '200 OK', 'X-Odd: \xff\xfe'],
    ['a status below all', '042 Odd', 'X-Odd: 1'],
    ['a switch of protocols', '101 Switching Protocols', 'Upgrade: x'],
  ])('of the indexer that are odd still give an answer and leave no connection open: %s', async (_, status, header) => {
    await start();
    await using upstream = await startScriptedUpstream(
      (socket) => void socket.write(`HTTP/1.1 ${status}\r\n${header}\r\nContent-Length: 2\r\n\r\n{}`, 'latin1'),
    );
    await using proxy = await startProxy({ upstreamUrl: upstream.url, env: { PASSTHROUGH: 'on' } });
    for (let asked = 0; asked < 3; asked++) expect([200, 502]).toContain((await proxy.ask(INFO)).status);
    expect(await proxy.metric('toncache_upstream_in_flight')).toBe(0);
    expect(upstream.open).toBeLessThanOrEqual(1);
  });
});

describe('keys', () => {
  const OURS = 'of-the-proxy';
  const keys = () => arrived().map(({ headers }) => headers['x-api-key']);

  it('of clients are sent only with passed-through requests, and ours only with cached operations', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS } });
    const headers = { 'X-Api-Key': 'of-the-client' };
    await world.ask(newestBlock(world), { headers });
    await world.ask(nothingPending(), { headers });
    await world.ask(INFO, { headers });
    await world.ask(INFO);
    await world.ask(MESSAGE, { method: 'POST', headers: { 'X-Api-Key': '' }, body: '{}' });
    expect(keys()).toEqual([OURS, OURS, 'of-the-client', undefined, '']);
  });

  it.each(['/api/v3/pending%54races', '/api/v3/%70endingTraces/'])(
    'of clients are not sent to a cached operation under another spelling of its path: %s',
    async (path) => {
      await start();
      const query = nothingPending().split('?')[1] ?? '';
      await world.ask(`${path}?${query}`, { headers: { 'X-Api-Key': 'of-the-client' } });
      expect(keys()).not.toContain('of-the-client');
    },
  );

  it('of toncache are sent with PASSTHROUGH_SHARED_KEY=on for clients without one', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
    await world.ask(INFO, { headers: { 'X-Api-Key': 'of-the-client' } });
    await world.ask(INFO);
    await world.ask(MESSAGE, { method: 'POST', body: '{}' });
    expect(keys()).toEqual(['of-the-client', OURS, OURS]);
  });

  it('never appear in an answer, a log or a metric', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
    world.indexer.faults.inject({ kind: 'reset' });
    const replies = [
      await world.ask(`${INFO}?api_key=in-the-query`, { headers: { 'X-Api-Key': 'of-the-client' } }),
      await world.ask(INFO),
    ];
    const said = JSON.stringify([replies, world.proxy.log, (await world.proxy.askAdmin('/metrics')).text]);
    for (const secret of [OURS, 'of-the-client', 'in-the-query']) expect(said).not.toContain(secret);
  });

  it('of one client that are used up do not stop others', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS } });
    world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainInfo' });
    expect(await world.ask(INFO, { headers: { 'X-Api-Key': 'of-the-client' } })).toMatchObject({ status: 429 });
    expect(await world.ask(newestBlock(world))).toMatchObject({ status: 200 });
  });

  it.each(['api_key=of-the-client', 'limit=1&api%5Fkey=of-the-client'])(
    'of a client in the query count like those in the header: %s',
    async (query) => {
      await start({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
      world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainInfo' });
      expect((await world.ask(`${INFO}?${query}`)).status).toBe(429);
      expect(keys()).toEqual([undefined]);
      expect((await world.ask(newestBlock(world))).status).toBe(200);
    },
  );

  it('that are missing, on a shared address that is used up, do not stop requests with our key', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS } });
    world.indexer.faults.inject(rateLimited('text', '60'), { operation: 'masterchainInfo' });
    expect(await world.ask(INFO)).toMatchObject({ status: 429 });
    expect(await world.ask(newestBlock(world))).toMatchObject({ status: 200 });
  });
});

describe('an indexer that fails passed-through requests', () => {
  it.each(['GET', 'POST'])('gets exactly one request: %s and a reset', async (method) => {
    await start();
    // A connection that is kept is where clients are tempted to try again.
    await world.ask(INFO);
    const fault = world.indexer.faults.inject({ kind: 'reset' });
    const { status, cache, text } = await world.ask(MESSAGE, {
      method,
      ...(method === 'POST' ? { body: '{"boc":"AA"}' } : {}),
    });
    expect(status).toBe(502);
    expect(cache).toMatchObject({ detail: 'upstream-unreachable' });
    expect(JSON.parse(text)).toEqual({ error: expect.any(String) });
    await untilNoticed();
    expect(fault.hits).toBe(1);
    expect(arrived()).toHaveLength(2);
  });

  it.each(['content-length', 'chunked'] as const)(
    'and cuts its answer short, %s: the client sees that it is incomplete',
    async (framing) => {
      await start();
      world.indexer.faults.inject({ kind: 'cut', framing });
      await expect(world.ask(INFO)).rejects.toThrow();
      expect(await world.proxy.metric('toncache_upstream_in_flight')).toBe(0);
      expect(arrived()).toHaveLength(1);
    },
  );

  it('because it cannot be reached becomes 502', async () => {
    await start();
    await world.indexer.close();
    expect(await world.ask(INFO)).toMatchObject({ status: 502, headers: { 'cache-control': 'no-store' } });
    expect(await world.ask(MESSAGE, { method: 'POST', body: '{}' })).toMatchObject({ status: 502 });
  });

  it('by not answering becomes 504', async () => {
    await start({ env: { UPSTREAM_TIMEOUT: '300ms' } });
    world.indexer.faults.inject({ kind: 'hang' });
    expect(await world.ask(INFO)).toMatchObject({ status: 504, headers: { 'cache-control': 'no-store' } });
    expect(await world.ask(MESSAGE, { method: 'POST', body: '{}' })).toMatchObject({ status: 504 });
    expect(arrived()).toHaveLength(2);
  });

  it.each([
    ['500', failed(500), 500],
    ['503 in plain text', failed(503, 'text'), 503],
    ['401', { kind: 'answer', status: 401, body: '{"ok":false}' }, 401],
    ['302', { kind: 'answer', status: 302, body: '', headers: { Location: '/api/v3/other' } }, 302],
    ['204', { kind: 'answer', status: 204, body: '' }, 204],
    ['304', { kind: 'answer', status: 304, body: '' }, 304],
  ] as readonly (readonly [string, Extract<Fault, { kind: 'answer' }>, number])[])(
    'is passed on unchanged: %s',
    async (_, fault, status) => {
      await start();
      world.indexer.faults.inject(fault);
      expect(await world.ask(INFO)).toMatchObject({ status, text: fault.body, cache: { fwd: 'bypass' } });
      expect(arrived()).toHaveLength(1);
    },
  );
});

describe('the slots of pass-through', () => {
  const LARGE = 32 * MIB;
  /** Clients wait as long as they like, and the slot of a request that was given up stays taken. */
  const admission = { patience: 60_000, holdAfterTimeout: 60_000 };
  const most = (maxConcurrency: number) => ({ admission, passThrough: { maxConcurrency } });
  const waiting = async (count: number) =>
    expect.poll(() => world.proxy.metric('toncache_upstream_queued'), { interval: 5 }).toBe(count);

  it('are separate from those of the operations, and requests beyond the queue get 503 with Retry-After', async () => {
    await start({ overrides: { ...most(2), admission: { ...admission, maxQueue: 2 } } });
    const gate = world.indexer.hold();
    const first = [await world.proxy.sendIn(INFO), await world.proxy.sendIn(INFO)];
    await gate.arrived(2);
    const queued = [
      await world.proxy.sendIn(INFO),
      await world.proxy.sendIn(MESSAGE, { method: 'POST', body: '{"boc":"AA"}' }),
    ];
    await waiting(2);
    const refused = await world.ask(INFO);
    expect(refused).toMatchObject({ status: 503, headers: { 'cache-control': 'no-store' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    const operation = await world.proxy.sendIn(newestBlock(world));
    await gate.arrived(3);
    gate.release();
    const all = await Promise.all([...first, ...queued, operation].map(({ answer }) => answer));
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(world.indexer.requests.maxInHand).toBe(3);
  });

  it('stay taken when clients leave: their queries continue', async () => {
    await start({ overrides: most(2) });
    world.indexer.hold();
    for (let client = 0; client < 6; client++) {
      const before = arrived().length;
      const sent = await world.proxy.sendIn(INFO);
      await expect
        .poll(async () => arrived().length - before + (await world.proxy.metric('toncache_upstream_queued')))
        .toBeGreaterThan(0);
      sent.leave();
      await sent.answer.catch(() => {});
      await untilNoticed();
    }
    expect(world.indexer.requests.inHand).toBeLessThanOrEqual(2);
  });

  it('are not used up by clients that do not read their answers', async () => {
    await start({ overrides: most(1) });
    world.indexer.faults.inject({ kind: 'huge', bytes: LARGE }, { times: 2 });
    const sockets = [await open(head(`GET ${INFO}`)), await open(head(`GET ${INFO}`))];
    for (const socket of sockets) await once(socket, 'readable');
    expect((await world.ask(INFO)).status).toBe(200);
    expect((await world.ask(newestBlock(world))).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('are limited apart from the answers on their way to clients', async () => {
    await start({ overrides: { passThrough: { maxTransfers: 2 } } });
    world.indexer.faults.inject({ kind: 'huge', bytes: LARGE }, { times: 2 });
    const sockets = [await open(head(`GET ${INFO}`)), await open(head(`GET ${INFO}`))];
    for (const socket of sockets) await once(socket, 'readable');
    expect(await world.ask(INFO)).toMatchObject({ status: 503 });
    expect((await world.ask(newestBlock(world))).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await world.ask(INFO)).status).toBe(200);
  });

  it('are not used up by clients that send a body slowly', async () => {
    await start({ overrides: most(1) });
    const socket = await open(`POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{`);
    expect((await world.ask(INFO)).status).toBe(200);
    socket.write('}');
    await buffer(socket);
    expect(arrived()).toHaveLength(2);
    expect(await world.proxy.metric('toncache_upstream_in_flight')).toBe(0);
  });

  it('are returned when the client leaves in the queue, or in the middle of an answer', async () => {
    await start({ overrides: { passThrough: { maxConcurrency: 1 } } });
    const gate = world.indexer.hold();
    const first = await world.proxy.sendIn(INFO);
    await gate.arrived(1);
    const second = await world.proxy.sendIn(INFO);
    await waiting(1);
    second.leave();
    await waiting(0);
    gate.release();
    expect((await first.answer).status).toBe(200);
    world.indexer.faults.inject({ kind: 'huge', bytes: LARGE }, { times: 1 });
    const socket = await open(head(`GET ${INFO}`));
    await once(socket, 'readable');
    socket.destroy();
    expect((await world.ask(INFO)).status).toBe(200);
    await expect.poll(() => world.proxy.metric('toncache_upstream_in_flight')).toBe(0);
    await expect.poll(() => world.indexer.requests.inHand).toBe(0);
  });

  it('are held when a client leaves before the answer, and its request to the indexer ends', async () => {
    await start();
    world.indexer.faults.inject({ kind: 'hang' }, { times: 1 });
    const sent = send(world.proxy.url, INFO);
    await world.indexer.requests.arrived(1);
    sent.leave();
    await expect.poll(() => world.indexer.requests.inHand).toBe(0);
    expect(world.proxy.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it.each(['content-length', 'chunked'] as const)(
    'stay taken by large answers (%s) until slow clients have read them, to the last byte',
    async (framing) => {
      await start();
      world.indexer.faults.inject({ kind: 'huge', bytes: LARGE, framing });
      const truth = (await world.askIndexer(INFO)).bytes;
      const sending = await open(head(`GET ${INFO}`));
      sending.pause();
      await world.indexer.requests.arrived(2);
      for (let time = 0; time < 20; time++) await world.proxy.ask('/no/such/path');
      // The indexer still holds the bytes that the client has not read.
      expect(world.indexer.requests.inHand).toBe(1);
      const received = await buffer(sending);
      const reply = await world.ask(INFO);
      expect(received.length).toBeGreaterThan(LARGE);
      expect(reply.digest).toBe(hash('sha256', truth));
    },
  );
});

describe('bodies of clients', () => {
  const unfinished = (bytes: number, headers = `Content-Length: ${bytes}`) =>
    `POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`;

  it('take a bounded amount of memory: a body beyond that is refused, and requests without one are served', async () => {
    await start({ overrides: { passThrough: { maxBodySize: MIB, maxReading: 2 * MIB } } });
    const stalled = [await open(unfinished(MIB)), await open(unfinished(0, 'Transfer-Encoding: chunked'))];
    await untilNoticed();
    expect(await world.ask(MESSAGE, { method: 'POST', body: '{}' })).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
    });
    expect((await world.ask(INFO)).status).toBe(200);
    for (const socket of stalled) socket.destroy();
    await expect
      .poll(async () => (await world.ask(MESSAGE, { method: 'POST', body: '{"boc":"AA"}' })).status)
      .toBe(200);
  });

  it('must arrive within the deadline of a whole request', async () => {
    await start({ overrides: { http: { headerTimeout: 200 } } });
    const socket = await open(unfinished(10));
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 408 /);
    expect(arrived()).toHaveLength(0);
  });
});

describe('a path that fails', () => {
  it('is refused by its circuit breaker with any query, and no other path is', async () => {
    await start({ overrides: { breaker: { openDuration: 60_000, longestOpenDuration: 60_000 } } });
    world.indexer.faults.inject(failed(500), { operation: 'masterchainInfo' });
    const ask = (time: number) => world.ask(`${INFO}?time=${time}`);
    for (let time = 0; time < 20; time++) expect((await ask(time)).status).toBe(500);
    for (let time = 20; time < 30; time++) expect((await ask(time)).status).toBe(503);
    expect((await world.ask(MESSAGE, { method: 'POST', body: '{"boc":"AA"}' })).status).toBe(200);
    expect((await world.ask(newestBlock(world))).status).toBe(200);
    expect(arrived()).toHaveLength(22);
  });
});

describe('calls of the SDKs', () => {
  beforeEach(() => start());

  it('masterchainInfo, as a client of fetch asks for it', async () => {
    const answer = await fetch(`${world.proxy.url}${INFO}`, {
      headers: { Accept: 'application/json', 'X-API-Key': 'k' },
    });
    const { last } = JSON.parse(await answer.text());
    expect(last.seqno).toBe(world.indexer.chain.headSeqno);
    expect(arrived()).toMatchObject([{ target: INFO, headers: { 'x-api-key': 'k' } }]);
  });

  it('message, as a wallet sends its transfer', async () => {
    const body = JSON.stringify({ boc: randomBytes(300).toString('base64') });
    const answer = await fetch(`${world.proxy.url}${MESSAGE}`, {
      method: 'POST',
      headers: { ...JSON_BODY, Origin: 'https://wallet.example' },
      body,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    const { message_hash: messageHash } = JSON.parse(await answer.text());
    expect(arrived()).toMatchObject([{ method: 'POST', body: Buffer.from(body) }]);
    const pending = await world.ask(`/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(messageHash)}`);
    expect(pending).toMatchObject({ status: 200, cache: { fwd: 'miss' } });
  });

  it('transactionsByMasterchainBlock, page after page on one connection', async () => {
    const seqno = world.indexer.chain.headSeqno;
    for (const offset of [0, 1, 2]) {
      const target = `/api/v3/transactionsByMasterchainBlock?seqno=${seqno}&limit=1&offset=${offset}&sort=asc`;
      const answer = await fetch(world.proxy.url + target);
      expect(await answer.text()).toBe((await world.askIndexer(target)).text);
    }
  });
});
