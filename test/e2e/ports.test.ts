import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HEADERS_OF_PAGES, mayBeSent } from '../support/headers-of-pages.ts';
import { childrenOfSettled, newestBlock, nothingPending } from './questions.ts';
import { ANY_WORLD, WORLDS, World } from './world.ts';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe.each(WORLDS)('the public port in front of indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });

  it('treats the three paths alike in any case, with or without a trailing slash', async () => {
    for (const target of [newestBlock(world), childrenOfSettled(world), nothingPending()]) {
      const before = world.forwarded.length;
      const [path = '', query = ''] = target.split('?');
      const spellings = [path, `${path}/`, path.toLowerCase(), path.toUpperCase(), `${path.toUpperCase()}/`];
      const first = await world.ask(target);
      for (const spelling of spellings) {
        expect(await world.ask(`${spelling}?${query}`)).toMatchObject({ status: 200, digest: first.digest });
      }
      expect(world.forwarded).toHaveLength(before + 1);
      expect(world.forwarded.at(-1)?.target).toMatch(path);
    }
  });

  it('answers HEAD with the headers of GET and no body, from the same entry', async () => {
    const target = newestBlock(world);
    const missed = await world.ask(target, { method: 'HEAD' });
    expect(missed).toMatchObject({ status: 200, text: '', cache: { fwd: 'miss', stored: true } });
    const got = await world.ask(target);
    expect(got.cache).toMatchObject({ hit: true, detail: 'memory' });
    const head = await world.ask(target, { method: 'HEAD' });
    expect(head.text).toBe('');
    expect({ ...head.headers, date: '' }).toEqual({ ...got.headers, date: '' });
    expect(head.headers['content-length']).toBe(String(got.bytes.length));
    expect(world.forwarded).toHaveLength(1);
    expect(world.forwarded[0]?.method).toBe('GET');
  });
});

describe('the public port', () => {
  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });

  it('answers the preflight of a browser wallet from any origin', async () => {
    for (const target of [newestBlock(world), childrenOfSettled(world), nothingPending(), '/API/v3/pendingtraces/']) {
      const { status, headers, text, cache } = await world.ask(target, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://wallet.example',
          'Access-Control-Request-Method': 'GET',
          'Access-Control-Request-Headers': 'x-api-key,x-actions-version',
        },
      });
      expect([200, 204]).toContain(status);
      expect(text).toBe('');
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(listed(headers['access-control-allow-headers'])).toEqual(['*', 'authorization']);
      expect(listed(headers['access-control-allow-methods'])).toEqual(['get', 'head', 'options']);
      expect(cache).not.toHaveProperty('hit');
    }
    expect(world.forwarded).toEqual([]);
  });

  it.each(Object.entries(HEADERS_OF_PAGES))('lets a page send the headers of %s', async (_, names) => {
    for (const target of [newestBlock(world), nothingPending()]) {
      const { status, headers } = await world.ask(target, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://wallet.example',
          'Access-Control-Request-Method': 'GET',
          'Access-Control-Request-Headers': names.toSorted().join(),
        },
      });
      expect(status).toBe(204);
      const allowed = listed(headers['access-control-allow-headers']);
      expect(names.filter((name) => !mayBeSent(name, allowed))).toEqual([]);
      const sent = Object.fromEntries(names.map((name) => [name, 'x']));
      const reply = await world.ask(target, { headers: { Origin: 'https://wallet.example', ...sent } });
      expect(reply).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': '*' } });
    }
  });

  it('exposes its headers to browsers, on answers and on errors', async () => {
    const asked = [
      world.ask(newestBlock(world), { headers: { Origin: 'https://wallet.example' } }),
      world.ask('/api/v3/pendingTraces'),
      world.ask('/api/v3/unheardOf'),
      world.ask('/api/v3/pendingTraces', { method: 'POST' }),
    ];
    for (const { headers } of await Promise.all(asked)) {
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
      expect(listed(headers['access-control-expose-headers'])).toEqual(
        [
          ...['age', 'cache-status', 'etag', 'ratelimit', 'ratelimit-policy', 'retry-after'],
          ...['x-api-version', 'x-request-id'],
        ].sort(),
      );
    }
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'])('answers %s with 405 and Allow', async (method) => {
    const { status, headers, text } = await world.ask(newestBlock(world), { method });
    expect(status).toBe(405);
    expect(listed(headers['allow'])).toEqual(['get', 'head', 'options']);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['cache-control']).toBe('no-store');
    expect(JSON.parse(text)).toEqual({ error: expect.stringMatching(/GET/) });
    expect(world.forwarded).toEqual([]);
  });

  it.each([
    ...['/', '/api', '//api/v3/pendingTraces', '/x/api/v3/pendingTraces', '/apis/v3/x'].map(
      (path) => [path, 404, /nothing is served/] as const,
    ),
    ...['/metrics', '/healthz/', '/readyz/x', '/HEALTHZ', '*'].map((path) => [path, 404, /nothing is served/] as const),
    // A 404 within the API would mean that nothing is there.
    ...[
      ...['/api/v3', '/api/v3/', '/api/v3/masterchainInfo', '/api/v3/pendingTraces/x'],
      ...['/api/emulate/v1/emulateTrace', '/api/streaming/v2/sse', '/api/'],
    ].map((path) => [path, 501, /^\S+ is not served here: PASSTHROUGH does not allow it$/] as const),
    ...['/api/v2', '/api/v2/pendingTraces', '/api/v2/jsonRPC', '/API/V2/x'].map(
      (path) => [path, 501, /is not served here: clients of \/api\/v2 are only passed through/] as const,
    ),
    ...['/api/v3/pendingTraces//', '/api/v3//pendingTraces', '/api/v3/./pendingTraces'].map(
      (path) => [path, 501, /pendingTraces.*PASSTHROUGH/] as const,
    ),
  ])('answers %s with %i in JSON', async (target, expected, says) => {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const { status, headers, text } = await world.ask(target, { method });
      expect(status).toBe(expected);
      expect(headers['content-type']).toBe('application/json');
      expect(headers['cache-control']).toBe('no-store');
      if (method !== 'HEAD') expect(JSON.parse(text)).toEqual({ error: expect.stringMatching(says) });
    }
    expect(world.forwarded).toEqual([]);
  });

  it('accepts a target in absolute form (RFC 9112 3.2.2)', async () => {
    const target = newestBlock(world);
    const wire = await world.proxy.exchange(
      `GET http://api.example${target} HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n`,
    );
    expect(wire).toMatch(/^HTTP\/1\.1 200 /);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true });
  });

  it('writes no body for HEAD and 304, so that the connection stays usable', async () => {
    const target = newestBlock(world);
    const { headers } = await world.ask(target);
    const wire = await world.proxy.exchange(
      [
        `HEAD ${target} HTTP/1.1\r\nHost: x\r\n\r\n`,
        `GET ${target} HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${headers['etag']}\r\n\r\n`,
        'HEAD /nowhere HTTP/1.1\r\nHost: x\r\n\r\n',
        'HEAD /api/v3/pendingTraces HTTP/1.1\r\nHost: x\r\n\r\n',
        'OPTIONS /api/v3/pendingTraces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      ].join(''),
    );
    const heads = wire.split('\r\n\r\n');
    expect(heads.pop()).toBe('');
    expect(heads.map((head) => /^HTTP\/1\.1 (\d+)/.exec(head)?.[1])).toEqual(['200', '304', '404', '422', '204']);
  });
});

function listed(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim().toLowerCase())
    .sort();
}
