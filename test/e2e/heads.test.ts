import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestBlock } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

const refused = (code: string) => world.proxy.metric('requestsRefused', { code });
const fields = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: y\r\n`).join('');

/** The answer to bytes after which the connection ends, as a browser sees it. */
async function refusalOf(bytes: string) {
  const wire = await world.proxy.exchange(bytes);
  const [head = '', body = ''] = wire.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(lines.map((text) => text.toLowerCase().split(': ', 2)));
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(body.length),
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'x-request-id': expect.any(String),
    connection: 'close',
  });
  expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
  return { status: Number(line.split(' ')[1]), cacheStatus: headers['cache-status'] };
}

describe.each([true, false])('a request head, fast lane %s', (fastLane) => {
  beforeEach(async () => {
    world = await World.start({ ...ANY_WORLD, proxy: { overrides: { http: { fastLane } } } });
  });

  it('of up to 100 fields is read; one with more is refused with 431, and no later bytes are read', async () => {
    const target = newestBlock(world);
    await world.ask(target);
    const get = (count: number) => `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields(count)}\r\n`;
    expect(await world.proxy.exchange(get(98))).toMatch(/^HTTP\/1\.1 200 /);
    for (const count of [99, 200, 940]) {
      expect(await refusalOf(get(count) + get(0))).toEqual({
        status: 431,
        cacheStatus: 'toncache; detail=head-too-large',
      });
    }
    expect(await refused('head-too-large')).toBe(3);
  });

  it('with 1400 hashes is refused with 431, as JSON that web pages can read', async () => {
    const hashes = Array.from({ length: 1400 }, (_, i) => `ext_msg_hash=${i.toString(16).padStart(64, '0')}`);
    const target = `/api/v3/pendingTraces?${hashes.join('&')}`;
    const { status, headers, text } = await world.ask(target);
    expect(status).toBe(431);
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(JSON.parse(text)).toEqual({ error: expect.stringContaining('http.maxHeaderSize') });
    expect(await refused('head-too-large')).toBe(1);
  });

  it('with the 1024 raw addresses that the indexer takes is no larger than accepted', async () => {
    const accounts = Array.from({ length: 1024 }, (_, i) => `account=0%3A${i.toString(16).padStart(64, '0')}`);
    expect((await world.ask(`/api/v3/pendingTraces?${accounts.join('&')}`)).status).not.toBe(431);
  });

  it('that is malformed or has no Host is refused with 400', async () => {
    const malformed = { status: 400, cacheStatus: 'toncache; detail=bad-request' };
    expect(await refusalOf('GET / HTTP/1.1\nHost: x\r\n\r\n')).toEqual(malformed);
    expect(await refusalOf(`GET ${newestBlock(world)} HTTP/1.1\r\nX : y\r\n\r\n`)).toEqual(malformed);
    expect(await refusalOf(`GET ${newestBlock(world)} HTTP/1.1\r\n\r\n`)).toEqual(malformed);
    expect(await refused('bad-request')).toBe(3);
  });

  it('that begins an HTTP/2 connection is refused with 505', async () => {
    const refusal = { status: 505, cacheStatus: 'toncache; detail=unsupported-version' };
    expect(await refusalOf('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).toEqual(refusal);
    expect(await refused('unsupported-version')).toBe(1);
  });
});
