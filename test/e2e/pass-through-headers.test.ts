import { describe, expect, it } from 'vitest';
import { rateLimited } from '../../src/tools/simulator/faults.ts';
import { USER_AGENT } from '../../src/version.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';
import { arrivedAt, startPassThrough } from './pass-through-world.ts';
import { newestBlock, nothingPending } from './questions.ts';
import { head, INFO, MESSAGE, statuses } from './raw-requests.ts';
import type { World } from './world.ts';

describe('headers', () => {
  it('of the client are sent, including its key, only if they are about the form of request and answer', async () => {
    await using world = await startPassThrough();
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
          'X-Of-A-Gateway: 1',
          'X-Forwarded-For: 192.0.2.1',
          'X-Actions-Version: v1',
          'User-Agent: wallet',
        ],
        ...['Accept: application/json; \xe9\xff', 'Accept-Encoding: gzip', 'X-Request-Id: abc', '', ''],
      ].join('\r\n'),
    );
    expect(statuses(received)).toEqual(['200']);
    const { headers = {} } = arrivedAt(world)[0] ?? {};
    expect(headers).toMatchObject({
      host: new URL(world.indexer.url).host,
      'x-api-key': 'of-the-client',
      'x-actions-version': 'v1',
      'user-agent': USER_AGENT,
      accept: 'application/json; \xe9\xff',
      'accept-encoding': 'gzip',
    });
    const others = ['accept-encoding', 'connection', 'x-request-id'];
    expect(Object.keys(headers).toSorted()).toEqual(
      ['accept', 'host', 'user-agent', 'x-actions-version', 'x-api-key', ...others].toSorted(),
    );
    expect(headers['connection']).toBe('keep-alive');
  });

  it('of a client, however odd, never make its request fail', async () => {
    await using world = await startPassThrough();
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

  it('of the indexer are returned if they are listed, and neither connection headers, cookies nor others', async () => {
    await using world = await startPassThrough();
    world.indexer.faults.inject({
      kind: 'answer',
      status: 201,
      body: '{"a":1}',
      headers: {
        'Set-Cookie': 'a=b',
        Connection: 'keep-alive, X-Named',
        'X-Named': '1',
        'Keep-Alive': 'timeout=1',
        'Proxy-Authenticate': 'Basic',
        'Access-Control-Allow-Origin': 'https://evil.example',
        'X-API-Version': '1',
        'X-Other': '1',
        'Cache-Status': 'other; hit',
        'X-Request-Id': 'theirs',
        'Cache-Control': 'private',
        'Content-Disposition': '\xe9',
      },
    });
    const { status, headers, text } = await world.ask(INFO, { headers: { 'X-Request-Id': 'ours' } });
    expect([status, text]).toEqual([201, '{"a":1}']);
    expect(headers).toMatchObject({
      'x-api-version': '1',
      'cache-control': 'private',
      'x-request-id': 'ours',
      'access-control-allow-origin': '*',
    });
    expect(headers['cache-status']).toBe('toncache; fwd=bypass; fwd-status=201');
    // Its own, not the indexer's.
    expect(headers['keep-alive']).toBe('timeout=65');
    for (const name of ['set-cookie', 'x-named', 'x-other', 'proxy-authenticate']) {
      expect(headers).not.toHaveProperty(name);
    }
  });

  it.each([
    ['a control byte', '200 OK', 'ETag: a\x01b'],
    ['text in UTF-8', '200 OK', 'ETag: \xe2\x82\xac'],
    ['bytes that are not text', '200 OK', 'ETag: \xff\xfe'],
    ['a status below 100', '042 Odd', 'X-Odd: 1'],
    ['a switch of protocols', '101 Switching Protocols', 'Upgrade: x'],
  ])(
    'of the indexer that are odd still lead to an answer, and connections do not pile up: %s',
    async (_, status, header) => {
      await using _world = await startPassThrough();
      await using upstream = await startScriptedUpstream(
        (socket) => void socket.write(`HTTP/1.1 ${status}\r\n${header}\r\nContent-Length: 2\r\n\r\n{}`, 'latin1'),
      );
      await using proxy = await startProxy({ upstreamUrl: upstream.url, env: { PASSTHROUGH: 'on' } });
      for (let asked = 0; asked < 3; asked++) expect([200, 502]).toContain((await proxy.ask(INFO)).status);
      expect(await proxy.metric('upstreamInFlight')).toBe(0);
      expect(upstream.open).toBeLessThanOrEqual(1);
    },
  );
});

describe('keys', () => {
  const OURS = 'of-the-proxy';
  const keysIn = (world: World) => arrivedAt(world).map(({ headers }) => headers['x-api-key']);

  it('of clients are sent only with passed-through requests, and ours only with cached operations', async () => {
    await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS } });
    const headers = { 'X-Api-Key': 'of-the-client' };
    await world.ask(newestBlock(world), { headers });
    await world.ask(nothingPending(), { headers });
    await world.ask(INFO, { headers });
    await world.ask(INFO);
    await world.ask(MESSAGE, { method: 'POST', headers: { 'X-Api-Key': '' }, body: '{}' });
    expect(keysIn(world)).toEqual([OURS, OURS, 'of-the-client', undefined, '']);
  });

  it.each(['/api/v3/pending%54races', '/api/v3/%70endingTraces/'])(
    'of clients are not sent to a cached operation under another spelling of its path: %s',
    async (path) => {
      await using world = await startPassThrough();
      const query = nothingPending().split('?')[1] ?? '';
      await world.ask(`${path}?${query}`, { headers: { 'X-Api-Key': 'of-the-client' } });
      expect(keysIn(world)).not.toContain('of-the-client');
    },
  );

  it('of toncache are sent with PASSTHROUGH_SHARED_KEY=on for clients without one', async () => {
    await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
    await world.ask(INFO, { headers: { 'X-Api-Key': 'of-the-client' } });
    await world.ask(INFO);
    await world.ask(MESSAGE, { method: 'POST', body: '{}' });
    expect(keysIn(world)).toEqual(['of-the-client', OURS, OURS]);
  });

  it('never appear in an answer, a log or a metric', async () => {
    await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
    world.indexer.faults.inject({ kind: 'reset' });
    const replies = [
      await world.ask(`${INFO}?api_key=in-the-query`, { headers: { 'X-Api-Key': 'of-the-client' } }),
      await world.ask(INFO),
    ];
    const said = JSON.stringify([replies, world.proxy.log, (await world.proxy.askAdmin('/metrics')).text]);
    for (const secret of [OURS, 'of-the-client', 'in-the-query']) expect(said).not.toContain(secret);
  });

  it('of one client that are rate-limited do not stop requests of others', async () => {
    await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS } });
    world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainInfo' });
    expect(await world.ask(INFO, { headers: { 'X-Api-Key': 'of-the-client' } })).toMatchObject({ status: 429 });
    expect(await world.ask(newestBlock(world))).toMatchObject({ status: 200 });
  });

  it.each(['api_key=of-the-client', 'limit=1&api%5Fkey=of-the-client'])(
    'of a client in the query count like those in headers: %s',
    async (query) => {
      await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
      world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainInfo' });
      expect((await world.ask(`${INFO}?${query}`)).status).toBe(429);
      expect(keysIn(world)).toEqual([undefined]);
      expect((await world.ask(newestBlock(world))).status).toBe(200);
    },
  );

  it('of toncache still work when requests without a key are rate-limited', async () => {
    await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS } });
    world.indexer.faults.inject(rateLimited('text', '60'), { operation: 'masterchainInfo' });
    expect(await world.ask(INFO)).toMatchObject({ status: 429 });
    expect(await world.ask(newestBlock(world))).toMatchObject({ status: 200 });
  });
});
