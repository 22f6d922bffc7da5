import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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

/** Everything that has come to the indexer; nobody but the proxy asks it here. */
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

describe('what is passed through when nobody has asked for it', () => {
  beforeEach(() => start({ env: { PASSTHROUGH: 'off' } }));

  it('is nothing: 404, and preflight allows no POST', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      expect(await world.ask(INFO, { method })).toMatchObject({ status: 404 });
    }
    const { headers } = await world.ask('/api/v3/pendingTraces', { method: 'OPTIONS' });
    expect(headers['access-control-allow-methods']).not.toMatch(/POST/);
    expect(headers['access-control-allow-headers']).not.toMatch(/content-type/i);
    expect(arrived()).toEqual([]);
  });
});

describe('what is passed through', () => {
  beforeEach(() => start());

  it('is answered with what the indexer says, and is never stored', async () => {
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

  it('is answered as the indexer answers when that is a refusal', async () => {
    expect(await world.ask('/api/v3/noSuchThing')).toMatchObject({
      status: 404,
      text: '{"error":"Cannot find this path"}',
    });
    expect(await world.ask(MESSAGE)).toMatchObject({ status: 405 });
    expect(await world.ask('/api/v3/transactionsByMasterchainBlock?limit=x')).toMatchObject({ status: 422 });
    expect(arrived()).toHaveLength(3);
  });

  it.each(['GET', 'HEAD'])('goes byte for byte: %s', async (method) => {
    for (const target of [
      '/api/v3/transactionsByMasterchainBlock?seqno=1&limit=256&offset=0&sort=asc',
      "/api/v3/%41b-._~!$&'()*+,;=:@/c/?a=%2F%00&b[]=+&b[]=%20&&=&?#".slice(0, -1),
      '/api/v3/?api_key=of-the-client',
    ]) {
      await world.ask(target, { method });
      expect(arrived().at(-1)).toMatchObject({ method, target });
    }
  });

  it('goes to the configured indexer whatever host a request names', async () => {
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
  ])('is refused where it could be read in two ways: %s', async (target) => {
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
  ])('does not hold another path: %s is 404', async (target) => {
    expect(statuses(await world.proxy.exchange(head(`GET ${target}`)))).toEqual(['404']);
    expect(arrived()).toEqual([]);
  });

  it('is told to browsers: preflight allows POST and Content-Type', async () => {
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

  it.each(['DELETE', 'PUT', 'PATCH', 'TRACE', 'PROPFIND'])('is not asked for by %s: 405 with Allow', async (method) => {
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

  it('leaves cached operations to the cache: POST is not passed on for them', async () => {
    for (const target of ['/api/v3/pendingTraces', '/API/v3/masterchainblockshards/', '/api/v3/adjacentTransactions']) {
      expect(await world.ask(target, { method: 'POST', body: '{}' })).toMatchObject({ status: 405 });
    }
    expect(arrived()).toEqual([]);
  });
});

describe('bodies of requests that are passed through', () => {
  beforeEach(() => start());

  it.each([0, 1, 65_536, MIB])('go byte for byte: %d bytes', async (bytes) => {
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

  it('are not taken above 1 MiB by Content-Length: 413, and the connection is used on or closed', async () => {
    const body = 'x'.repeat(MIB + 1);
    const received = await world.proxy.exchange(
      [`POST ${MESSAGE} HTTP/1.1`, 'Host: x', `Content-Length: ${body.length}`, '', body].join('\r\n') +
        head(`GET ${INFO}`),
    );
    expect(['413', '413,200']).toContain(statuses(received).join());
    // The simulated indexer has the same bound: this one is ours.
    expect(received).toMatch(/detail=body-too-large/);
    expect(arrived().map(({ method }) => method)).not.toContain('POST');
  });

  it('are not taken above 1 MiB in chunks: 413, and the connection is used on or closed', async () => {
    const chunk = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`;
    const received = await world.proxy.exchange(
      [`POST ${MESSAGE} HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked', '', ''].join('\r\n') +
        `${chunk.repeat(17)}0\r\n\r\n${head(`GET ${INFO}`)}`,
    );
    expect(['413', '413,200']).toContain(statuses(received).join());
    // The simulated indexer has the same bound: this one is ours.
    expect(received).toMatch(/detail=body-too-large/);
    expect(arrived().map(({ method }) => method)).not.toContain('POST');
  });

  it('are refused before they come when they say that they are too large', async () => {
    const socket = await open(
      [`POST ${MESSAGE} HTTP/1.1`, 'Host: x', `Content-Length: ${MIB + 1}`, '', ''].join('\r\n'),
    );
    const [chunk] = await once(socket, 'data');
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it('that break off are no bug, and nothing is sent', async () => {
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

  it('are sent on only when they are whole', async () => {
    const socket = await open(
      `POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 14\r\n\r\n{"boc":`,
    );
    await untilNoticed();
    expect(arrived()).toEqual([]);
    socket.write('"AAAA"}');
    expect(statuses((await buffer(socket)).toString())).toEqual(['200']);
    expect(arrived()).toMatchObject([{ body: Buffer.from('{"boc":"AAAA"}') }]);
  });

  it('of GET and HEAD stay here, and what follows on the connection is a request of its own', async () => {
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

describe('requests that two servers could cut in two ways', () => {
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
  ])('are answered 400 and go nowhere: %s', async (_, bytes) => {
    const received = await world.proxy.exchange(bytes);
    expect(statuses(received)).toEqual(['400']);
    expect(arrived()).toEqual([]);
    expect(world.proxy.log.filter(({ level }) => level >= 50)).toEqual([]);
  });
});

describe('headers', () => {
  it("of the client go along, its key too, but not the connection's and no cookies", async () => {
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

  it('that any client may send never look like an indexer that cannot be reached', async () => {
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

  it("of the indexer come back, but not the connection's, no cookies, and none that are ours to say", async () => {
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
  ])('of the indexer that are odd get an answer and leave no connection behind: %s', async (_, status, header) => {
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

  it('of clients go only where they are passed through, ours only where it is cached', async () => {
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
    'of clients do not reach a cached operation under another spelling of its path: %s',
    async (path) => {
      await start();
      const query = nothingPending().split('?')[1] ?? '';
      await world.ask(`${path}?${query}`, { headers: { 'X-Api-Key': 'of-the-client' } });
      expect(keys()).not.toContain('of-the-client');
    },
  );

  it('of ours go along with PASSTHROUGH_SHARED_KEY=on for those who bring none', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
    await world.ask(INFO, { headers: { 'X-Api-Key': 'of-the-client' } });
    await world.ask(INFO);
    await world.ask(MESSAGE, { method: 'POST', body: '{}' });
    expect(keys()).toEqual(['of-the-client', OURS, OURS]);
  });

  it('never come back in an answer, a log or a metric', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
    world.indexer.faults.inject({ kind: 'reset' });
    const replies = [
      await world.ask(`${INFO}?api_key=in-the-query`, { headers: { 'X-Api-Key': 'of-the-client' } }),
      await world.ask(INFO),
    ];
    const said = JSON.stringify([replies, world.proxy.log, (await world.proxy.askAdmin('/metrics')).text]);
    for (const secret of [OURS, 'of-the-client', 'in-the-query']) expect(said).not.toContain(secret);
  });

  it('of a client that are used up stop nobody else', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS } });
    world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainInfo' });
    expect(await world.ask(INFO, { headers: { 'X-Api-Key': 'of-the-client' } })).toMatchObject({ status: 429 });
    expect(await world.ask(newestBlock(world))).toMatchObject({ status: 200 });
  });

  it.each(['api_key=of-the-client', 'limit=1&api%5Fkey=of-the-client'])(
    'of a client in the query count like the header: %s',
    async (query) => {
      await start({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
      world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainInfo' });
      expect((await world.ask(`${INFO}?${query}`)).status).toBe(429);
      expect(keys()).toEqual([undefined]);
      expect((await world.ask(newestBlock(world))).status).toBe(200);
    },
  );

  it('of nobody, on a shared address that is used up, stop nothing that goes with ours', async () => {
    await start({ env: { UPSTREAM_API_KEY: OURS } });
    world.indexer.faults.inject(rateLimited('text', '60'), { operation: 'masterchainInfo' });
    expect(await world.ask(INFO)).toMatchObject({ status: 429 });
    expect(await world.ask(newestBlock(world))).toMatchObject({ status: 200 });
  });
});

describe('an indexer that fails what is passed through', () => {
  it.each(['GET', 'POST'])('is asked exactly once: %s and a reset', async (method) => {
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
    'and cuts its answer short, %s: the client is not told that it is whole',
    async (framing) => {
      await start();
      world.indexer.faults.inject({ kind: 'cut', framing });
      await expect(world.ask(INFO)).rejects.toThrow();
      expect(await world.proxy.metric('toncache_upstream_in_flight')).toBe(0);
      expect(arrived()).toHaveLength(1);
    },
  );

  it('by not being there is answered 502', async () => {
    await start();
    await world.indexer.close();
    expect(await world.ask(INFO)).toMatchObject({ status: 502, headers: { 'cache-control': 'no-store' } });
    expect(await world.ask(MESSAGE, { method: 'POST', body: '{}' })).toMatchObject({ status: 502 });
  });

  it('by silence is answered 504', async () => {
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
    'is passed on as it is: %s',
    async (_, fault, status) => {
      await start();
      world.indexer.faults.inject(fault);
      expect(await world.ask(INFO)).toMatchObject({ status, text: fault.body, cache: { fwd: 'bypass' } });
      expect(arrived()).toHaveLength(1);
    },
  );
});

describe('the bound on what the indexer has in hand', () => {
  const LARGE = 32 * MIB;
  /** Clients wait as long as they like, and the slot of a request that was given up stays taken. */
  const admission = { patience: 60_000, holdAfterTimeout: 60_000 };
  const most = (maxConcurrency: number) => ({ admission, passThrough: { maxConcurrency } });
  const waiting = async (count: number) =>
    vi.waitFor(async () => expect(await world.proxy.metric('toncache_upstream_queued')).toBe(count), { interval: 5 });

  it('holds for what is passed through by itself, and 503 with Retry-After is for those beyond the queue', async () => {
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

  it('is not passed by clients that leave: their queries go on', async () => {
    await start({ overrides: most(2) });
    world.indexer.hold();
    for (let client = 0; client < 6; client++) {
      const before = arrived().length;
      const sent = await world.proxy.sendIn(INFO);
      await vi.waitFor(async () => {
        expect(arrived().length - before + (await world.proxy.metric('toncache_upstream_queued'))).toBeGreaterThan(0);
      });
      sent.leave();
      await sent.answer.catch(() => {});
      await untilNoticed();
    }
    expect(world.indexer.requests.inHand).toBeLessThanOrEqual(2);
  });

  it('is not used up by clients that do not read what they asked for', async () => {
    await start({ overrides: most(1) });
    world.indexer.faults.inject({ kind: 'huge', bytes: LARGE }, { times: 2 });
    const sockets = [await open(head(`GET ${INFO}`)), await open(head(`GET ${INFO}`))];
    for (const socket of sockets) await once(socket, 'readable');
    expect((await world.ask(INFO)).status).toBe(200);
    expect((await world.ask(newestBlock(world))).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('is another than the bound on answers on their way to clients', async () => {
    await start({ overrides: { passThrough: { maxTransfers: 2 } } });
    world.indexer.faults.inject({ kind: 'huge', bytes: LARGE }, { times: 2 });
    const sockets = [await open(head(`GET ${INFO}`)), await open(head(`GET ${INFO}`))];
    for (const socket of sockets) await once(socket, 'readable');
    expect(await world.ask(INFO)).toMatchObject({ status: 503 });
    expect((await world.ask(newestBlock(world))).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await world.ask(INFO)).status).toBe(200);
  });

  it('is not used up by clients that take their time to send a body', async () => {
    await start({ overrides: most(1) });
    const socket = await open(`POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{`);
    expect((await world.ask(INFO)).status).toBe(200);
    socket.write('}');
    await buffer(socket);
    expect(arrived()).toHaveLength(2);
    expect(await world.proxy.metric('toncache_upstream_in_flight')).toBe(0);
  });

  it('has its slot back when the client leaves in the queue, or in the middle of an answer', async () => {
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
    await vi.waitFor(async () => expect(await world.proxy.metric('toncache_upstream_in_flight')).toBe(0));
    await vi.waitFor(() => expect(world.indexer.requests.inHand).toBe(0));
  });

  it('and a client that leaves before the answer ends the request to the indexer', async () => {
    await start();
    world.indexer.faults.inject({ kind: 'hang' }, { times: 1 });
    const sent = send(world.proxy.url, INFO);
    await world.indexer.requests.arrived(1);
    sent.leave();
    await vi.waitFor(() => expect(world.indexer.requests.inHand).toBe(0));
    expect(world.proxy.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it.each(['content-length', 'chunked'] as const)(
    'large answers come whole, %s, and wait where they are for a client that reads slowly',
    async (framing) => {
      await start();
      world.indexer.faults.inject({ kind: 'huge', bytes: LARGE, framing });
      const truth = (await world.askIndexer(INFO)).bytes;
      const sending = await open(head(`GET ${INFO}`));
      sending.pause();
      await world.indexer.requests.arrived(2);
      for (let time = 0; time < 20; time++) await world.proxy.ask('/no/such/path');
      // The indexer still has what nobody has taken.
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

  it('take a bounded amount of memory: a body that would take more is refused, and what has none goes on', async () => {
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

  it('have the deadline of a whole request', async () => {
    await start({ overrides: { http: { headerTimeout: 200 } } });
    const socket = await open(unfinished(10));
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 408 /);
    expect(arrived()).toHaveLength(0);
  });
});

describe('a path that fails', () => {
  it('is refused by its circuit breaker whatever its query, and no other path with it', async () => {
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
