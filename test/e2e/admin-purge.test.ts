import { afterEach, describe, expect, it } from 'vitest';
import { type Answered, type Asking, exchange } from '../support/http-client.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const TOKEN = 'correct-horse-battery-staple';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const ALL = JSON.stringify({ all: true });

let proxy: RunningProxy;

async function start(env: Readonly<Record<string, string>> = {}, requestTimeout = 10_000): Promise<void> {
  // No program listens on port 1: a purge needs no indexer.
  proxy = await startProxy({ upstreamUrl: 'http://127.0.0.1:1', env, overrides: { http: { requestTimeout } } });
}

afterEach(() => proxy.close());

function post(headers: Asking['headers'] = JSON_TYPE, body = ALL): Promise<Answered> {
  return proxy.askAdmin('/purge', { method: 'POST', headers, body });
}

/** Sends these lines of a head and a body unchanged: for requests that an HTTP client would not send. */
function raw(head: readonly string[], body: string, target = '/purge'): Promise<string> {
  const lines = [`POST ${target} HTTP/1.1`, 'Connection: close', 'Content-Type: application/json', ...head];
  return exchange(proxy.adminUrl, `${lines.join('\r\n')}\r\n\r\n${body}`);
}

const asHost = (host: string, ...more: readonly string[]) =>
  raw([`Host: ${host}`, `Content-Length: ${ALL.length}`, ...more], ALL);
const purges = () => proxy.metric('purges');

/** The answer is an error in words, nothing was purged, and no page of another origin could read it. */
async function expectRefused({ status, headers, text }: Answered, expected: number): Promise<void> {
  expect([status, text]).toEqual([expected, expect.stringMatching(/^\{"error":".+"\}$/)]);
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  expect(await purges()).toBe(0);
}

describe('POST /purge on loopback', () => {
  it('purges, and reports the purged value, the time and the number of instances', async () => {
    await start();
    const before = Date.now();
    const { status, headers, text } = await post(JSON_TYPE, '{"seqno":"0062000000"}');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(JSON.parse(text)).toEqual({ purged: { seqno: 62_000_000 }, at: expect.any(Number), instances: 1 });
    expect(JSON.parse(text).at).toBeGreaterThanOrEqual(before);
    expect(await proxy.metric('purges', { selector: 'seqno' })).toBe(1);
  });

  it('accepts the content type with parameters', async () => {
    await start();
    expect((await post({ 'Content-Type': 'Application/JSON; charset=utf-8' })).status).toBe(200);
  });

  it.each([
    ['not JSON', '{', 400],
    ['nothing', '', 400],
    ['not an object', '[]', 422],
    ['an unknown field', '{"seqno":1,"force":true}', 422],
    ['two selectors', '{"seqno":1,"all":true}', 422],
    ['an invalid value', '{"hash":"xyz"}', 422],
    ['more than 4 KiB', `{"hash":"${'a'.repeat(5000)}"}`, 413],
  ])('refuses an invalid body: %s', async (_, body, status) => {
    await start();
    await expectRefused(await post(JSON_TYPE, body), status);
  });

  it('accepts a body of 4096 bytes and refuses a longer one, chunked or not', async () => {
    await start();
    const padded = (length: number) => ALL.padEnd(length, ' ');
    const chunked = (length: number) =>
      raw(
        ['Host: localhost', 'Transfer-Encoding: chunked'],
        `${length.toString(16)}\r\n${padded(length)}\r\n0\r\n\r\n`,
      );
    // The rest of such a body is not read.
    expect(await post(JSON_TYPE, padded(4097))).toMatchObject({ status: 413, headers: { connection: 'close' } });
    expect(await chunked(4097)).toMatch(/^HTTP\/1\.1 413 /);
    expect(await purges()).toBe(0);
    expect((await post(JSON_TYPE, padded(4096))).status).toBe(200);
    expect(await chunked(4096)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('answers 408 when a body does not arrive within the request timeout', async () => {
    await start({}, 200);
    expect(await raw(['Host: localhost', 'Content-Length: 9'], '{')).toMatch(/^HTTP\/1\.1 408 /);
    expect(await purges()).toBe(0);
  });

  it('refuses every other method with 405, preflights included', async () => {
    await start();
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      const headers = { Origin: 'http://evil.example', 'Access-Control-Request-Method': 'POST' };
      const answered = await proxy.askAdmin('/purge', { method, headers });
      expect([method, answered.status, answered.headers['allow']]).toEqual([method, 405, 'POST']);
      expect(Object.keys(answered.headers).join()).not.toMatch(/access-control/);
    }
  });
});

describe('a web page', () => {
  it.each([
    ['a form', { 'Content-Type': 'text/plain' }, 415],
    ['a form with fields', { 'Content-Type': 'application/x-www-form-urlencoded' }, 415],
    ['a request without a content type', {}, 415],
    ['text/plain with application/json as a parameter', { 'Content-Type': 'text/plain; application/json' }, 415],
    ['a page of another host', { ...JSON_TYPE, Origin: 'https://evil.example' }, 403],
    ['a page of another port', { ...JSON_TYPE, Origin: 'http://127.0.0.1:1' }, 403],
    ['a page with the origin null', { ...JSON_TYPE, Origin: 'null' }, 403],
    ['an invalid origin', { ...JSON_TYPE, Origin: 'file://127.0.0.1' }, 403],
    ['a page of another site', { ...JSON_TYPE, 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['a page of another port of this host', { ...JSON_TYPE, 'Sec-Fetch-Site': 'same-site' }, 403],
  ])('cannot purge: %s', async (_, headers, status) => {
    await start();
    await expectRefused(await post(headers), status);
  });

  it.each([
    'evil.example',
    'evil.example:9464',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '0x7f.1:9464',
    '127.1',
    '[::1',
    '[evil]:9464',
    'a@127.0.0.1',
    '127.0.0.1:x',
    '',
  ])('cannot purge by DNS rebinding, with the Host %j', async (host) => {
    await start();
    expect(await asHost(host)).toMatch(/^HTTP\/1\.1 (421|400) /);
    expect(await purges()).toBe(0);
  });

  it('cannot purge with a second Host header, or with a target on another host', async () => {
    await start();
    expect(await asHost('localhost', 'Host: evil.example')).toMatch(/^HTTP\/1\.1 (421|400) /);
    expect(await asHost('evil.example', 'Host: localhost')).toMatch(/^HTTP\/1\.1 (421|400) /);
    const elsewhere = await raw(['Host: localhost', 'Content-Length: 12'], ALL, 'http://evil.example/purge');
    expect(elsewhere).toMatch(/^HTTP\/1\.1 421 /);
    expect(await purges()).toBe(0);
  });

  it('of the admin port itself may purge', async () => {
    await start();
    const { host } = new URL(proxy.adminUrl);
    const headers = { ...JSON_TYPE, Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin' };
    expect((await post(headers)).status).toBe(200);
  });
});

describe('a host', () => {
  it.each(['127.0.0.1:9464', '10.0.0.7', '[::1]:9464', '[fd00::7]', 'localhost', 'LOCALHOST:9464'])(
    'that needs no DNS is accepted: %s',
    async (host) => {
      await start();
      expect(await asHost(host)).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  it('is accepted by a configured name in any letter case, and refused by any other name', async () => {
    await start({ ADMIN_ALLOWED_HOSTS: 'Toncache.internal, toncache-0' });
    for (const host of ['toncache.internal:9464', 'TONCACHE.INTERNAL', 'toncache-0']) {
      expect([host, await asHost(host, `Origin: http://${host}`)]).toEqual([
        host,
        expect.stringMatching(/^HTTP\/1\.1 200 /),
      ]);
    }
    expect(await asHost('toncache.internal.evil.example')).toMatch(/^HTTP\/1\.1 421 /);
    expect(await asHost('toncache.internal', 'Origin: http://toncache-0')).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe('a token', () => {
  it('is required when ADMIN_TOKEN is set, on loopback too', async () => {
    await start({ ADMIN_TOKEN: TOKEN });
    for (const authorization of [undefined, TOKEN, `Basic ${TOKEN}`, 'Bearer', `Bearer ${TOKEN}x`, 'Bearer x']) {
      const answered = await post(
        authorization === undefined ? JSON_TYPE : { ...JSON_TYPE, Authorization: authorization },
      );
      await expectRefused(answered, 401);
      expect(answered.headers['www-authenticate']).toBe('Bearer');
      expect(answered.text).not.toContain(TOKEN);
    }
    for (const scheme of ['Bearer', 'bearer']) {
      expect((await post({ ...JSON_TYPE, Authorization: `${scheme} ${TOKEN}` })).status).toBe(200);
    }
    expect(JSON.stringify(proxy.log)).not.toContain(TOKEN);
  });

  it('does not let web pages purge', async () => {
    await start({ ADMIN_TOKEN: TOKEN });
    const headers = { ...JSON_TYPE, Authorization: `Bearer ${TOKEN}` };
    await expectRefused(await post({ ...headers, Origin: 'https://evil.example' }), 403);
    expect(await asHost('evil.example', `Authorization: Bearer ${TOKEN}`)).toMatch(/^HTTP\/1\.1 421 /);
  });

  it('must be configured if other machines can reach the port', async () => {
    await start({ ADMIN_HOST: '0.0.0.0' });
    const answered = await post();
    await expectRefused(answered, 403);
    expect(answered.text).toMatch(/set ADMIN_TOKEN/);
  });

  it('is sufficient if other machines can reach the port', async () => {
    await start({ ADMIN_HOST: '0.0.0.0', ADMIN_TOKEN: TOKEN });
    expect((await post({ ...JSON_TYPE, Authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    expect((await post()).status).toBe(401);
    expect(await purges()).toBe(1);
  });

  it('is not required on any loopback address', async () => {
    await start({ ADMIN_HOST: '127.0.0.9' });
    expect((await post()).status).toBe(200);
  });
});
