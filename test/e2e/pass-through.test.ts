import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { arrivedAt, startPassThrough } from './pass-through-world.ts';
import { head, INFO, MESSAGE, statuses } from './raw-requests.ts';
import type { World } from './world.ts';

describe('pass-through when it is not configured', () => {
  it('is off: other paths get 501, and preflight allows no POST', async () => {
    await using world = await startPassThrough({ env: { PASSTHROUGH: 'off' } });
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      expect(await world.ask(INFO, { method })).toMatchObject({ status: 501 });
    }
    const { headers } = await world.ask('/api/v3/pendingTraces', { method: 'OPTIONS' });
    expect(headers['access-control-allow-methods']).not.toMatch(/POST/);
    expect(arrivedAt(world)).toEqual([]);
  });
});

describe('a request that is passed through', () => {
  let world: World;
  beforeEach(async () => {
    world = await startPassThrough();
  });
  afterEach(() => world[Symbol.asyncDispose]());

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
    expect(arrivedAt(world)).toHaveLength(3);
  });

  it('gets the refusal of the indexer', async () => {
    expect(await world.ask('/api/v3/noSuchThing')).toMatchObject({
      status: 404,
      text: '{"error":"Cannot find this path"}',
    });
    expect(await world.ask(MESSAGE)).toMatchObject({ status: 405 });
    expect(await world.ask('/api/v3/transactionsByMasterchainBlock?limit=x')).toMatchObject({ status: 422 });
    expect(arrivedAt(world)).toHaveLength(3);
  });

  it.each(['GET', 'HEAD'])('is sent byte for byte: %s', async (method) => {
    for (const target of [
      '/api/v3/transactionsByMasterchainBlock?seqno=1&limit=256&offset=0&sort=asc',
      "/api/v3/%41b-._~!$&'()*+,;=:@/c/?a=%2F%00&b[]=+&b[]=%20&&=&?#".slice(0, -1),
      '/api/v3/?api_key=of-the-client',
    ]) {
      await world.ask(target, { method });
      expect(arrivedAt(world).at(-1)).toMatchObject({ method, target });
    }
  });

  it('is sent to the configured indexer with any Host', async () => {
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
    expect(arrivedAt(world)).toMatchObject([{ target: INFO, headers: { host: new URL(world.indexer.url).host } }]);
  });

  it('is refused when servers could read its path differently', async () => {
    // All forms are in the table of `test/unit/http/passable-target.test.ts`.
    const targets = ['/api/v3/%2e%2e/x', '/api/v3//x', '/api/v3/x%2fy', '/api/v3/x\\y', 'http://h/api/v3/../x'];
    for (const target of [...targets, '/api/v3/x?\\']) {
      for (const method of ['GET', 'HEAD', 'POST']) {
        const received = await world.proxy.exchange(
          head(`${method} ${target}`, ...(method === 'POST' ? ['Content-Length: 0'] : [])),
        );
        expect([target, ...statuses(received)]).toEqual([target, '400']);
      }
    }
    expect(arrivedAt(world)).toEqual([]);
  });

  it.each([
    '//evil.example/api/v3/x',
    'http://evil.example//evil.example/api/v3/x',
    '/x/../api/v3/y',
    '*',
    '/%61pi/v3/x',
  ])('gets 404 unless its path is under /api/: %s', async (target) => {
    expect(statuses(await world.proxy.exchange(head(`GET ${target}`)))).toEqual(['404']);
    expect(arrivedAt(world)).toEqual([]);
  });

  it('is allowed to browsers: preflight allows POST and all headers', async () => {
    const { status, headers } = await world.ask(MESSAGE, {
      method: 'OPTIONS',
      headers: { Origin: 'https://wallet.example', 'Access-Control-Request-Method': 'POST' },
    });
    expect(status).toBe(204);
    expect(headers['access-control-allow-methods']).toMatch(/\bPOST\b/);
    expect(headers['access-control-allow-headers']).toBe('*, Authorization');
    expect(arrivedAt(world)).toEqual([]);
  });

  it.each(['DELETE', 'PUT', 'PATCH', 'TRACE', 'PROPFIND'])(
    'gets 405 with Allow if its method is %s',
    async (method) => {
      const { status, headers } = await world.ask(INFO, { method });
      expect(status).toBe(405);
      expect(headers['allow']?.split(/, */).sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST']);
      expect(arrivedAt(world)).toEqual([]);
    },
  );

  it.each([
    ["of Java's client", ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AA']],
    [
      'of h2c whose Connection does not name HTTP2-Settings',
      ['Connection: Upgrade', 'Upgrade: h2c', 'HTTP2-Settings: AA'],
    ],
    ["of Apache's client", ['Connection: Upgrade', 'Upgrade: TLS/1.2']],
    ['of several protocols', ['Connection: Upgrade', 'Upgrade: HTTP/2.0, SHTTP/1.3']],
  ])('is answered, and its offer of another protocol is dropped: %s', async (_, offer) => {
    const offering = (line: string, ...more: string[]) =>
      [`${line} HTTP/1.1`, 'Host: x', ...offer, ...more, '', ''].join('\r\n');
    const requests = [
      // The connection is kept.
      offering(`GET ${INFO}`) + head(`HEAD ${INFO}`, ...offer),
      `${offering(`POST ${MESSAGE}`, 'Content-Length: 2', 'Connection: close')}{}`,
      `${offering(`POST ${MESSAGE}`, 'Transfer-Encoding: chunked', 'Connection: close')}2\r\n{}\r\n0\r\n\r\n`,
    ];
    const received: string[] = [];
    for (const request of requests) received.push(...statuses(await world.proxy.exchange(request)));
    expect(received).toEqual(['200', '200', '200', '200']);
    expect(arrivedAt(world).map(({ method, body }) => [method, String(body)])).toEqual([
      ['GET', ''],
      ['HEAD', ''],
      ['POST', '{}'],
      ['POST', '{}'],
    ]);
    for (const { headers } of arrivedAt(world)) {
      for (const name of ['upgrade', 'http2-settings']) expect(headers).not.toHaveProperty(name);
    }
  });

  it('switches no protocols and opens no tunnels', async () => {
    for (const protocol of ['websocket', 'WebSocket', 'h2c, websocket']) {
      const upgrade = [
        'Connection: Upgrade',
        `Upgrade: ${protocol}`,
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
        'Sec-WebSocket-Version: 13',
      ];
      const switched = await world.proxy.exchange(head(`GET ${INFO}`, ...upgrade));
      expect(statuses(switched)).toEqual(['400']);
    }
    for (const target of ['127.0.0.1:1', new URL(world.indexer.url).host, INFO]) {
      expect(await world.proxy.exchange(head(`CONNECT ${target}`))).not.toMatch(/^HTTP\/1\.1 [12]/);
    }
    expect(arrivedAt(world)).toEqual([]);
  });

  it('is never a POST to a cached operation: that gets 405', async () => {
    for (const target of ['/api/v3/pendingTraces', '/API/v3/masterchainblockshards/', '/api/v3/adjacentTransactions']) {
      expect(await world.ask(target, { method: 'POST', body: '{}' })).toMatchObject({ status: 405 });
    }
    expect(arrivedAt(world)).toEqual([]);
  });
});

/** Requests of clients with one base URL: walletkit, the SDKs of API v2. */
const ELSEWHERE = [
  ['POST', '/api/emulate/v1/emulateTrace'],
  ['POST', '/api/v2/jsonRPC'],
  ['GET', '/api/v2/getAddressInformation?address=EQ'],
  ['HEAD', '/api/v2/getMasterchainInfo'],
  ['GET', '/api/v3'],
] as const;

describe('an API path that no prefix covers', () => {
  const V2 = 'clients of /api/v2 are only passed through, and PASSTHROUGH_PREFIXES does not allow it';
  it.each([
    [
      'PASSTHROUGH=on',
      { PASSTHROUGH: 'on' },
      'PASSTHROUGH_PREFIXES does not allow it',
      /below \/api\/v3\/ are served.*PASSTHROUGH_PREFIXES \(passThrough\.prefixes\)/,
    ],
    [
      'PASSTHROUGH=off',
      { PASSTHROUGH: 'off' },
      'PASSTHROUGH does not allow it',
      /PASSTHROUGH=on.*PASSTHROUGH_PREFIXES \(passThrough\.prefixes\)/,
    ],
  ])('gets 501 with its path, and is explained with the settings, with %s', async (_, env, why, explanation) => {
    await using world = await startPassThrough({ env });
    for (const [method, target] of ELSEWHERE) {
      const { status, text, cache } = await world.ask(target, { method, ...(method === 'POST' && { body: '{}' }) });
      expect([target, status, cache]).toEqual([target, 501, { detail: 'not-served' }]);
      const [path = ''] = target.split('?');
      const isV2 = path.startsWith('/api/v2/');
      if (method !== 'HEAD')
        expect(JSON.parse(text)).toEqual({ error: `${path} is not served here: ${isV2 ? V2 : why}` });
      const explained = await world.proxy.askAdmin(`/explain?target=${encodeURIComponent(target)}`);
      expect(explained.status).toBe(501);
      expect(explained.text).toMatch(isV2 ? /@ton\/ton.*PASSTHROUGH_PREFIXES=\/api\/v3\/,\/api\/v2\// : explanation);
    }
    expect(arrivedAt(world)).toEqual([]);
  });

  it('is shown in full up to 100 characters, and logged once a minute without its long parts', async () => {
    await using world = await startPassThrough({ env: { PASSTHROUGH: 'off' }, stopsTime: true });
    const lines = () => world.proxy.log.filter(({ msg }) => msg.startsWith('clients request a path'));
    const long = `/api/v3/x/${'f'.repeat(200)}`;
    for (let times = 0; times < 2; times++) {
      const answer = await world.proxy.exchange(head('GET /api/v3/a"b'));
      expect(answer).toContain('\r\n\r\n{"error":"a\\"b is not served here: PASSTHROUGH does not allow it"}');
      expect(JSON.parse((await world.ask(long)).text).error).toMatch(/^x\/f{98}\.\.\. is not served here: /);
    }
    expect(lines()).toMatchObject([
      { level: 30 },
      { path: '/api/v3/x/…', why: expect.stringContaining('PASSTHROUGH=on') },
    ]);
    world.advance(60_000);
    await world.ask(long);
    expect(lines()).toHaveLength(3);
  });

  it('is logged for 20 paths a minute at most', async () => {
    await using world = await startPassThrough({ env: { PASSTHROUGH: 'off' }, stopsTime: true });
    const lines = () => world.proxy.log.filter(({ msg }) => msg.startsWith('clients request a path'));
    for (let n = 0; n < 30; n++) await world.ask(`/api/v3/path${n}`);
    expect(lines()).toHaveLength(20);
    world.advance(60_000);
    await world.ask('/api/v3/path29');
    expect(lines()).toHaveLength(21);
  });

  it('gets 501 below /api/v3/ too, if the prefixes do not name that', async () => {
    await using world = await startPassThrough({
      env: { PASSTHROUGH_PREFIXES: '/api/v2/', CACHE_OPERATIONS: 'blocks' },
    });
    expect(await world.ask(INFO)).toMatchObject({ status: 501 });
    expect(arrivedAt(world)).toEqual([]);
    // A request for an operation in use without a cached form is passed through, as its text states.
    expect((await world.ask('/api/v3/blocks?workchain=0&limit=1')).cache).toMatchObject({ fwd: 'bypass' });
  });
});

describe('passThrough.prefixes', () => {
  let world: World;
  beforeEach(async () => {
    world = await startPassThrough({ env: { PASSTHROUGH_PREFIXES: '/api/', CACHE_OPERATIONS: 'blocks' } });
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('passes on paths that begin with one of them, byte for byte, in any case', async () => {
    const targets = [...ELSEWHERE, ['GET', '/API/V2/x/?a=%2F'], ['GET', '/api/%76%32/x']] as const;
    for (const [method, target] of targets) {
      const body = method === 'POST' ? '{"boc":"x"}' : '';
      const { cache } = await world.ask(target, { method, ...(body !== '' && { body }) });
      expect(cache).toMatchObject({ fwd: 'bypass' });
      const arrived = arrivedAt(world).at(-1);
      expect([arrived?.method, arrived?.target, String(arrived?.body ?? '')]).toEqual([method, target, body]);
    }
  });

  it('applies the rules of /api/v3/: methods, bodies, ambiguous paths, preflights', async () => {
    expect(await world.ask('/api/v2/x', { method: 'DELETE' })).toMatchObject({ status: 405 });
    const tooLarge = { method: 'POST', body: 'x'.repeat(2 ** 20 + 1) };
    expect(await world.ask('/api/v2/sendBoc', tooLarge)).toMatchObject({ status: 413 });
    const { status, headers } = await world.ask('/api/v2/sendBoc', { method: 'OPTIONS' });
    expect([status, headers['access-control-allow-methods']]).toEqual([204, 'GET, HEAD, OPTIONS, POST']);
    for (const target of ['/api/v2/../v3/message', '/api//v2/x', '/api/v2%2fx', '/api/v2/x\\y', '/api/..;/x']) {
      expect(statuses(await world.proxy.exchange(head(`GET ${target}`)))).toEqual(['400']);
    }
    expect(arrivedAt(world)).toEqual([]);
  });

  it('never passes on the path of a cached operation, however it is spelled', async () => {
    const names = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'];
    for (const name of names) {
      for (const path of [`/api/v3/${name}`, `/API/V3/${name.toUpperCase()}/`]) {
        expect(await world.ask(path, { method: 'POST', body: '{}' })).toMatchObject({ status: 405 });
        expect(await world.ask(path)).toMatchObject({ status: 422 });
      }
      const hidden = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
      for (const path of [`/api/v3/${hidden}`, `/api/%763/${name}`, `/api/v3/${name};x=1`, `/api/x/../v3/${name}`]) {
        for (const method of ['GET', 'HEAD', 'POST']) {
          const lengths = method === 'POST' ? ['Content-Length: 0'] : [];
          const answer = await world.proxy.exchange(head(`${method} ${path}?hash=AA`, ...lengths));
          expect([path, ...statuses(answer)]).toEqual([path, '400']);
        }
      }
    }
    expect(arrivedAt(world)).toEqual([]);
  });
});
