import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USER_AGENT } from '../../src/version.ts';
import { connectTo, send } from '../support/http-client.ts';
import { asksForHead, headAt } from '../support/json-upstream.ts';
import type { Overrides } from '../support/start-proxy.ts';
import { startPassThrough } from './pass-through-world.ts';
import { head } from './raw-requests.ts';
import type { World } from './world.ts';

const PATIENCE = { interval: 2 };
const PAGE = '/api/v3/nft/collections?limit=10';
const RUN = '/api/v3/runGetMethod';
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** The requests that arrived at the test's indexer, except the proxy's head polls. */
interface Arrived {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  /** The lines of its head, with names in lower case. */
  readonly lines: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

type Answer = (arrived: Arrived, response: ServerResponse) => void;

/** Answers in JSON with the number of earlier requests. */
const counting: Answer = (_, response) => {
  response.writeHead(200, JSON_TYPE).end(JSON.stringify({ count: arrived.length }));
};

let arrived: Arrived[] = [];
let answer: Answer = counting;
let waiting: (() => void)[] | undefined;

/** From now on answers wait until the returned function is called. */
function gate(): () => void {
  const before: (() => void)[] = [];
  waiting = before;
  return () => {
    waiting = undefined;
    for (const go of before) go();
  };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url: target = '', headers } = request;
  if (asksForHead(`${method} ${target} `)) {
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(headAt(Date.now()).body));
    return;
  }
  const { rawHeaders } = request;
  const lines = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ''] as const] : [],
  );
  const one = { method, target, headers, lines, body: await text(request) };
  arrived.push(one);
  const go = () => answer(one, response);
  if (waiting === undefined) go();
  else waiting.push(go);
}

const server = createServer((request, response) => void serve(request, response));

let world: World;

async function start(env: Record<string, string> = {}, overrides: Overrides = {}): Promise<World> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  const upstreamUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  world = await startPassThrough({
    upstreamUrl,
    stopsTime: true,
    env: { CACHE_OPERATIONS: 'passthrough', ...env },
    overrides: { coalescing: { collapseWindow: 60_000, failureTtl: 250 }, ...overrides },
  });
  return world;
}

beforeEach(() => {
  arrived = [];
  answer = counting;
  waiting = undefined;
});
afterEach(async () => {
  await world[Symbol.asyncDispose]();
  server.closeAllConnections();
});

const post = (body: string, headers = {}) => ({ method: 'POST', body, headers: { ...JSON_TYPE, ...headers } });
const many = (count: number) => Array.from({ length: count }, (_, n) => n);
const countOf = (result: string) => world.proxy.metric('collapsible', { result });

/** Sends this many equal requests while the first one is under way, and returns all answers. */
async function herd(count: number, target = PAGE, asking: Parameters<World['proxy']['sendIn']>[1] = {}) {
  const open = gate();
  const before = arrived.length;
  const first = await world.proxy.sendIn(target, asking);
  await expect.poll(() => arrived.length, PATIENCE).toBe(before + 1);
  const others = many(count - 1).map(() => send(world.proxy.url, target, asking));
  await Promise.all(others.map(({ sent }) => sent));
  await world.proxy.untilTakenIn();
  open();
  return Promise.all([first, ...others].map((sent) => sent.answer));
}

describe('equal requests for the rest of the API', () => {
  it('of 300 clients are sent to the indexer once, and once more 400 ms later', async () => {
    await start();
    const answers = await herd(300);
    expect(new Set(answers.map(({ status, text: body }) => `${status} ${body}`))).toEqual(new Set(['200 {"count":1}']));
    const kept = await world.ask(PAGE);
    expect(kept).toMatchObject({ text: '{"count":1}', cache: { hit: true, detail: 'memory' } });
    expect(kept.headers['content-length']).toBe('11');
    world.advance(399);
    expect(await world.ask(PAGE)).toMatchObject({ cache: { hit: true } });
    world.advance(1);
    expect(await world.ask(PAGE)).toMatchObject({ text: '{"count":2}', cache: { fwd: 'miss', stored: true } });
    expect(arrived).toHaveLength(2);
    expect([await countOf('miss'), await countOf('collapsed'), await countOf('hit')]).toEqual([2, 299, 2]);
    const requests = (outcome: string) => world.proxy.metric('requests', { operation: 'passthrough', outcome });
    expect([await requests('miss'), await requests('collapsed'), await requests('hit-memory')]).toEqual([2, 299, 2]);
  });

  it.each(['actions?account=x', 'pendingActions?account=x', 'PendingTransactions/?account=x'])(
    'are joined and not kept for a list from which rows move to another: %s',
    async (list) => {
      await start();
      const texts = (await herd(3, `/api/v3/${list}`)).map(({ text: got }) => got);
      expect(texts).toEqual(['{"count":1}', '{"count":1}', '{"count":1}']);
      expect(await world.ask(`/api/v3/${list}`)).toMatchObject({ text: '{"count":2}', cache: { fwd: 'miss' } });
    },
  );

  it('are equal whatever the order of their header lines', async () => {
    await start();
    const [one, other] = [{ 'X-No-Metadata': 'true' }, { 'X-No-Address-Book': 'true' }];
    await world.ask(PAGE, { headers: { ...one, ...other } });
    expect(await world.ask(PAGE, { headers: { ...other, ...one } })).toMatchObject({ cache: { hit: true } });
    expect(arrived).toHaveLength(1);
  });

  it('get an answer without a body and without Content-Length', async () => {
    await start();
    answer = (_, response) => response.writeHead(204, JSON_TYPE).end();
    const { status, headers } = await world.ask(PAGE);
    expect([status, headers['content-length']]).toEqual([204, undefined]);
  });

  it.each([404, 429, 500])('are sent once even if the answer is %i, which is not kept', async (status) => {
    await start();
    answer = (_, response) => response.writeHead(status, JSON_TYPE).end('{"error":"x"}');
    const answers = await herd(300);
    expect(new Set(answers.map((each) => each.status))).toEqual(new Set([status]));
    expect(answers.at(-1)).toMatchObject({ text: '{"error":"x"}' });
    expect(arrived).toHaveLength(1);
    // A 429 pauses only this path.
    expect(await world.ask(PAGE)).toMatchObject({ status });
    answer = counting;
    expect(await world.ask('/api/v3/nft/items')).toMatchObject({ status: 200 });
  });

  it.each([
    ['gzip, deflate, br, zstd', 'gzip'],
    ['gzip;q=0.1, br', 'gzip'],
    ['x-gzip', 'gzip'],
    ['*', 'gzip'],
    ['br', 'identity'],
    ['gzip;q=0, br', 'identity'],
    [['deflate', 'gzip'], 'gzip'],
    [undefined, 'identity'],
  ])('with Accept-Encoding %j are sent with %j', async (accepted, sent) => {
    await start();
    for (const [target, asking] of [
      [`${PAGE}&b=%20&a[]=1`, {}],
      [RUN, post('{}')],
    ] as const) {
      const headers = { ...('headers' in asking && asking.headers), ...(accepted && { 'Accept-Encoding': accepted }) };
      await world.ask(target, { ...asking, headers });
      const { lines = [], target: asked } = arrived.at(-1) ?? {};
      expect([asked, lines.filter(([name]) => name === 'accept-encoding')]).toEqual([
        target,
        [['accept-encoding', sent]],
      ]);
    }
  });

  it('are sent with the headers that they share, and with the trace and the id of the first one', async () => {
    await start();
    const shared = { 'X-Actions-Version': 'v1', 'X-No-Metadata': ['1', 'x'], 'Content-Encoding': 'identity' };
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const others = ['Accept', 'Accept-Language', 'User-Agent', 'Origin', 'X-Any', 'X-Forwarded-For', 'CF-Ray'];
    const own = Object.fromEntries(
      ['X-Api-Key', 'Cookie', ...others].map((name) => [name, name === 'X-Api-Key' ? ' ' : 'x']),
    );
    await world.ask(PAGE, { headers: { ...own, ...shared, traceparent, 'X-Request-Id': 'first' } });
    const names = arrived[0]?.lines.map(([name]) => name).filter((name) => !['host', 'connection'].includes(name));
    expect(names?.toSorted()).toEqual(
      ['accept-encoding', 'content-encoding', 'traceparent', 'x-actions-version']
        .concat(['user-agent', 'x-no-metadata', 'x-no-metadata', 'x-request-id'])
        .toSorted(),
    );
    expect(arrived[0]?.headers).toMatchObject({ traceparent, 'x-request-id': 'first', 'user-agent': USER_AGENT });
    expect(await world.ask(PAGE, { headers: shared })).toMatchObject({ cache: { hit: true } });
  });

  it.each([
    ['the order of the query', '/api/v3/x?a=1&b=2', {}, '/api/v3/x?b=2&a=1', {}],
    ['the spelling of the path', '/api/v3/x', {}, '/api/v3/X', {}],
    ['a header that operations read', PAGE, {}, PAGE, { 'X-Actions-Version': 'v1' }],
    [
      'such a header, named in Connection',
      PAGE,
      { 'X-No-Metadata': '1' },
      PAGE,
      { 'X-No-Metadata': '1', Connection: 'x-no-metadata' },
    ],
    ['gzip', PAGE, {}, PAGE, { 'Accept-Encoding': 'gzip' }],
  ])('are distinguished by %s', async (_, one, itsHeaders, other, otherHeaders) => {
    await start();
    await world.ask(one, { headers: itsHeaders });
    await world.ask(other, { headers: otherHeaders });
    expect(arrived).toHaveLength(2);
    expect(await world.ask(one, { headers: { ...itsHeaders, 'User-Agent': 'x', Origin: 'y' } })).toMatchObject({
      cache: { hit: true },
    });
  });

  it('get gzip only if the client accepts it', async () => {
    await start();
    answer = ({ headers }, response) => {
      const isPacked = headers['accept-encoding']?.includes('gzip') === true;
      const body = Buffer.from('{"a":1}');
      response.writeHead(200, isPacked ? { ...JSON_TYPE, 'Content-Encoding': 'gzip' } : JSON_TYPE);
      response.end(isPacked ? gzipSync(body) : body);
    };
    const packing = { headers: { 'Accept-Encoding': 'gzip, br' } };
    await world.ask(PAGE, packing);
    const packed = await world.ask(PAGE, { headers: { 'Accept-Encoding': 'gzip' } });
    expect(packed).toMatchObject({ headers: { 'content-encoding': 'gzip' }, cache: { hit: true } });
    expect(gunzipSync(packed.bytes).toString()).toBe('{"a":1}');
    expect(await world.ask(PAGE)).toMatchObject({ text: '{"a":1}' });
    expect(arrived).toHaveLength(2);
  });

  it.each<[what: string, target: string, headers: Record<string, string | string[]>]>([
    ['a key of their own', PAGE, { 'X-Api-Key': 'mine' }],
    ['a key in the query', `${PAGE}&api_key=mine`, {}],
    ['Authorization', PAGE, { Authorization: 'Bearer x' }],
    ['a condition', PAGE, { 'If-None-Match': '"x"' }],
    ['a range', PAGE, { Range: 'bytes=0-1' }],
    ...['Api-Key', 'apikey', 'X-ApiKey', 'X_Api_Key'].map((name): [string, string, Record<string, string[]>] => [
      `a key in the header ${name}`,
      PAGE,
      { [name]: ['', 'mine'] },
    ]),
    ['a key in the query, after a semicolon', `${PAGE};API-KEY=mine`, {}],
    ['another prefix', '/api/v2/x', {}],
  ])('are each sent to the indexer: %s', async (_, target, headers) => {
    await start({ CACHE_OPERATIONS: 'blocks,passthrough', PASSTHROUGH_PREFIXES: '/api/v3/,/api/v2/' });
    for (let time = 0; time < 3; time++) {
      expect(await world.ask(target, { headers })).toMatchObject({
        status: 200,
        cache: { fwd: 'bypass' },
      });
    }
    expect(arrived).toHaveLength(3);
    expect(arrived[2]?.target).toBe(target);
  });

  it.each([
    ['that is not in use', '/api/v3/traces?account=x&limit=20'],
    ['that is in use, in a form that is not cached', '/api/v3/blocks?start_lt=1'],
    ['with a slash at its end', '/api/v3/Blocks/?start_lt=1'],
    ['under another name', '/api/v3/account?address=x&use_v2=true'],
    ['with an encoded letter', '/api/v3/tr%61ces?account=x'],
  ])('for the path of an operation %s are joined during the first one, and not kept', async (_, target) => {
    await start({ CACHE_OPERATIONS: 'blocks,passthrough' });
    const answers = await herd(50, target);
    expect(new Set(answers.map((each) => each.text))).toEqual(new Set(['{"count":1}']));
    expect(arrived).toMatchObject([{ target }]);
    expect(await countOf('collapsed')).toBe(49);
    expect(await world.ask(target)).toMatchObject({ text: '{"count":2}', cache: { fwd: 'miss' } });
    expect((await world.ask(target)).cache).not.toHaveProperty('stored');
  });

  it.each([
    ['_=1', '_=2'],
    ['_', '_=%zz'],
    ['_=1', 'api_key='],
    ['_=1&api_key=&_', 'api_key='],
  ])('are equal with %s and with %s, which are sent as they came', async (one, other) => {
    await start();
    const targets = ['/api/v3/x?', '/api/v3/x?a=1&'].flatMap((target) => [target + one, target + other]);
    for (const target of targets) await world.ask(target);
    expect(arrived.map(({ target }) => target)).toEqual([targets[0], targets[2]]);
    expect(await world.ask('/api/v3/x')).toMatchObject({ text: '{"count":1}', cache: { hit: true } });
    expect(await world.ask(`/api/v3/x?${one}&a=1&${other}`)).toMatchObject({ text: '{"count":2}' });
  });

  it.each(['__=1', '_[]=1', '%5F=1', 'a_=1', 'api_key', 'API_KEY=', 'apikey=', '_=1;b=2', 'a=1;&_=1'])(
    'are distinguished by %s',
    async (piece) => {
      await start();
      await world.ask(PAGE);
      expect(await world.ask(`${PAGE}&${piece}`)).toMatchObject({ text: '{"count":2}' });
    },
  );

  it.each(['passthrough', ''])('are sent with each line of a header, with CACHE_OPERATIONS=%s', async (operations) => {
    await start({ CACHE_OPERATIONS: operations });
    await world.ask(PAGE, { headers: { 'X-No-Metadata': ['true', 'true'] } });
    expect(arrived[0]?.lines.filter(([name]) => name === 'x-no-metadata')).toEqual([
      ['x-no-metadata', 'true'],
      ['x-no-metadata', 'true'],
    ]);
    for (const line of ['true', 'true, true']) await world.ask(PAGE, { headers: { 'X-No-Metadata': line } });
    expect(arrived).toHaveLength(3);
  });

  it('never share an answer between a key of the client and the key of toncache', async () => {
    await start({ UPSTREAM_API_KEY: 'ours', PASSTHROUGH_SHARED_KEY: 'on' });
    answer = ({ headers }, response) => response.writeHead(200, JSON_TYPE).end(JSON.stringify(headers['x-api-key']));
    expect(await world.ask(PAGE, { headers: { 'X-Api-Key': 'mine' } })).toMatchObject({ text: '"mine"' });
    expect(await world.ask(PAGE)).toMatchObject({ text: '"ours"' });
    expect(await world.ask(PAGE, { headers: { 'X-Api-Key': 'mine' } })).toMatchObject({ text: '"mine"' });
    expect(await world.ask(PAGE)).toMatchObject({ text: '"ours"', cache: { hit: true } });
  });

  it.each([
    ['not JSON', { 'Content-Type': 'text/html' }, '<html>'],
    ['without a content type', {}, '{"a":1}'],
    ['too large by its Content-Length', { ...JSON_TYPE, 'Content-Length': '200000' }, `"${'x'.repeat(199_998)}"`],
    ['too large by its bytes', JSON_TYPE, `"${'x'.repeat(199_998)}"`],
  ])('are each sent to the indexer if the answer is %s', async (_, headers, body) => {
    await start({}, { upstream: { maxBodySize: 100_000, timeout: 60_000 } as never });
    answer = (_asked, response) => {
      response.writeHead(200, headers);
      response.write(body.slice(0, 150_000));
      response.end(body.slice(150_000));
    };
    const answers = await herd(5);
    expect(answers.every((each) => each.status === 200 && each.text === body)).toBe(true);
    expect(arrived).toHaveLength(5);
    await world.ask(PAGE);
    expect(arrived).toHaveLength(6);
    await expect.poll(() => world.proxy.metric('upstreamInFlight'), PATIENCE).toBe(0);
  });

  it('all get 502 if the indexer fails, and the next one is sent again', async () => {
    await start();
    answer = (_, response) => void response.socket?.destroy();
    const answers = await herd(10);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]));
    answer = (_, response) =>
      response.writeHead(200, { ...JSON_TYPE, 'Content-Length': '9' }).write('{', () => response.destroy());
    expect(await world.ask(PAGE)).toMatchObject({ status: 502 });
    answer = counting;
    expect(await world.ask(PAGE)).toMatchObject({ status: 200 });
    expect(arrived).toHaveLength(3);
  });

  it('that the indexer answers with 500 or 429 do not stop requests for other paths', async () => {
    await start();
    answer = ({ target }, response) => response.writeHead(target.includes('bad') ? 500 : 200, JSON_TYPE).end('{}');
    for (const n of many(30)) expect(await world.ask(`/api/v3/bad?n=${n}`)).toMatchObject({ status: 500 });
    for (const target of [PAGE, '/api/v3/nft/items', '/api/v3/bad/x']) {
      expect((await world.ask(target)).status).toBe(target.includes('bad') ? 500 : 200);
    }
    answer = ({ target }, response) => {
      response.writeHead(target.includes('limited') ? 429 : 200, { ...JSON_TYPE, 'Retry-After': '60' }).end('{}');
    };
    for (const n of many(30)) await world.ask(`/api/v3/limited/${n}`);
    expect(await world.ask('/api/v3/limited/0')).toMatchObject({ status: 429 });
    expect(await world.ask('/api/v3/wallet?x=1')).toMatchObject({ status: 200 });
  });

  it('get the answer of the one load after the first client has disconnected', async () => {
    await start();
    const open = gate();
    const first = await world.proxy.sendIn(PAGE);
    await expect.poll(() => arrived.length, PATIENCE).toBe(1);
    const second = await world.proxy.sendIn(PAGE);
    first.leave();
    await world.proxy.untilTakenIn();
    open();
    expect(await second.answer).toMatchObject({ text: '{"count":1}' });
    expect(arrived).toHaveLength(1);
  });

  it('are sent again after the first client has disconnected, if its answer is not JSON', async () => {
    await start();
    answer = (_, response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end('text');
    const open = gate();
    const first = await world.proxy.sendIn(PAGE);
    await expect.poll(() => arrived.length, PATIENCE).toBe(1);
    const second = await world.proxy.sendIn(PAGE);
    first.leave();
    await world.proxy.untilTakenIn();
    open();
    expect(await second.answer).toMatchObject({ text: 'text' });
    expect(arrived).toHaveLength(2);
    await expect.poll(() => world.proxy.metric('upstreamInFlight'), PATIENCE).toBe(0);
  });

  it.each(['text/plain', 'application/json'])(
    'are cancelled at the indexer when their client disconnects in the middle of the answer (%s)',
    async (type) => {
      await start({}, { upstream: { maxBodySize: 100_000, timeout: 60_000 } as never });
      let isBroken = false;
      answer = (_, response) => {
        response.on('close', () => (isBroken = !response.writableFinished));
        response.writeHead(200, { 'Content-Type': type }).write('x'.repeat(150_000));
      };
      const socket = connectTo(world.proxy.url);
      socket.write(head(`GET ${PAGE}`));
      await once(socket, 'readable');
      socket.destroy();
      await expect.poll(() => isBroken, PATIENCE).toBe(true);
      expect(world.proxy.log.filter(({ level }) => level >= 40)).toEqual([]);
    },
  );

  it('sent after a purge get no answer that was requested before it', async () => {
    await start({ ADMIN_TOKEN: 'token' });
    const purge = () =>
      world.proxy.askAdmin('/purge', {
        method: 'POST',
        headers: { ...JSON_TYPE, Authorization: 'Bearer token' },
        body: '{"seqno":7}',
      });
    await world.ask(PAGE);
    expect(await purge()).toMatchObject({ status: 200 });
    expect(await world.ask(PAGE)).toMatchObject({ text: '{"count":2}' });
    world.advance(400);
    const open = gate();
    const before = await world.proxy.sendIn(PAGE);
    await expect.poll(() => arrived.length, PATIENCE).toBe(3);
    await purge();
    const after = await world.proxy.sendIn(PAGE);
    await expect.poll(() => arrived.length, PATIENCE).toBe(4);
    open();
    await Promise.all([before.answer, after.answer]);
    expect(await world.ask(PAGE)).toMatchObject({ cache: { hit: true } });
    expect(arrived).toHaveLength(4);
  });

  it('keep their answers in at most a tenth of the memory', async () => {
    await start({ MEMORY_MAX_SIZE: '1MiB' });
    answer = (_, response) => response.writeHead(200, JSON_TYPE).end(JSON.stringify('x'.repeat(30_000)));
    for (const n of many(5)) await world.ask(`/api/v3/x?n=${n}`);
    expect(await world.ask('/api/v3/x?n=4')).toMatchObject({ cache: { hit: true } });
    expect(await world.ask('/api/v3/x?n=0')).toMatchObject({ cache: { fwd: 'miss' } });
  });

  it('count as one request in the limit of a client', async () => {
    await start({}, { clients: { missesPerSecond: 1 } });
    expect((await herd(20)).map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await world.ask(PAGE)).toMatchObject({ status: 200, cache: { hit: true } });
    for (const n of many(9)) expect(await world.ask(`/api/v3/other?n=${n}`)).toMatchObject({ status: 200 });
    expect(await world.ask('/api/v3/other?n=9')).toMatchObject({ status: 429 });
  });

  it('are each sent to the indexer if CACHE_OPERATIONS does not name passthrough', async () => {
    await start({ CACHE_OPERATIONS: 'all' });
    await world.ask(PAGE);
    expect(await world.ask(PAGE)).toMatchObject({ cache: { fwd: 'bypass' } });
    expect(arrived).toHaveLength(2);
  });
});

describe('POST runGetMethod', () => {
  it('is joined separately for each body, and not kept', async () => {
    await start();
    const body = '{"address":"x","method":"seqno","stack":[]}';
    const answers = await herd(300, RUN, post(body));
    expect(new Set(answers.map((each) => each.text))).toEqual(new Set(['{"count":1}']));
    expect(arrived).toMatchObject([{ method: 'POST', target: RUN, body }]);
    for (const [target, other] of [
      [RUN, post(body)],
      [RUN, post(`${body} `)],
      [RUN, post(body, { 'Content-Type': 'text/plain' })],
      [`${RUN}/`, post(body)],
    ] as const) {
      const next = { text: `{"count":${arrived.length + 1}}`, cache: { fwd: 'miss' } };
      const got = await world.ask(target, other);
      expect(got).toMatchObject(next);
      expect(got.cache).not.toHaveProperty('stored');
    }
    expect(await countOf('hit')).toBe(0);
  });

  it('is joined only with a load that was sent within the last 100 ms', async () => {
    await start();
    const body = post('{"address":"x","method":"get_wallet_data","stack":[]}');
    const open = gate();
    const first = await world.proxy.sendIn(RUN, body);
    await expect.poll(() => arrived.length, PATIENCE).toBe(1);
    world.advance(99);
    const joined = await world.proxy.sendIn(RUN, body);
    expect(arrived).toHaveLength(1);
    world.advance(1);
    const later = await world.proxy.sendIn(RUN, body);
    await expect.poll(() => arrived.length, PATIENCE).toBe(2);
    const last = await world.proxy.sendIn(RUN, body);
    open();
    const texts = await Promise.all([first, joined, later, last].map(async ({ answer: got }) => (await got).text));
    expect(arrived).toHaveLength(2);
    expect(texts[0]).toBe(texts[1]);
    expect(texts[2]).toBe(texts[3]);
    expect([await countOf('miss'), await countOf('collapsed')]).toEqual([2, 2]);
  });

  it.each([
    [4096, 1],
    [4097, 3],
  ])('with a body of %i bytes is sent %i times for 3 clients', async (bytes, times) => {
    await start();
    const body = 'x'.repeat(bytes);
    await herd(3, RUN, post(body));
    await herd(3, `${RUN}?chunked`, post(body, { 'Transfer-Encoding': 'chunked' }));
    expect(arrived.map((each) => each.body.length)).toEqual(Array.from({ length: 2 * times }, () => bytes));
  });

  it('does not stop requests for other paths when the indexer answers 500', async () => {
    await start();
    answer = ({ method }, response) => response.writeHead(method === 'POST' ? 500 : 200, JSON_TYPE).end('{}');
    for (const n of many(30)) expect(await world.ask(RUN, post(`${n}`))).toMatchObject({ status: 500 });
    expect(await world.ask(PAGE)).toMatchObject({ status: 200 });
  });
});

describe.each(['message', 'estimateFee', 'emulate', 'emulateTrace'])('POST %s', (name) => {
  it('is sent 300 times for 300 clients', async () => {
    await start();
    const target = `/api/v3/${name}`;
    await Promise.all(many(300).map(() => world.ask(target, post('{"boc":"AA"}'))));
    expect(arrived).toHaveLength(300);
  });
});
