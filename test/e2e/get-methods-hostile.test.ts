import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectTo } from '../support/http-client.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const RUN = '/api/v3/runGetMethod';
const ADDRESS = `0:${'AB'.repeat(32)}`;
const RESULT = '{"gas_used":1,"exit_code":0,"stack":[]}';

interface Received {
  readonly method: string;
  readonly type: string | undefined;
  readonly coding: string | undefined;
  readonly body: Buffer;
}

let received: Received[];
/** The answer of the indexer to each get-method. */
let answer: { status: number; body: string };
let upstream: Server;
let proxy: RunningProxy;

async function take(request: IncomingMessage): Promise<void> {
  const { method = '', headers } = request;
  const { 'content-type': type, 'content-encoding': coding } = headers;
  received.push({ method, type, coding, body: await buffer(request) });
}

beforeEach(async () => {
  received = [];
  answer = { status: 200, body: RESULT };
  upstream = createServer((request, response) => {
    if (request.url !== RUN) response.writeHead(404).end('{"error":"none"}');
    else
      take(request).then(
        () => response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(answer.body),
        () => response.destroy(),
      );
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  upstream.closeAllConnections();
  upstream.close();
});

async function start(env: Readonly<Record<string, string>>) {
  const { port } = upstream.address() as AddressInfo;
  proxy = await startProxy({ upstreamUrl: `http://127.0.0.1:${port}`, env });
}

const head = (lines: readonly string[]) =>
  `POST ${RUN} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

/** Sends a body byte for byte, and returns the status and the body of the answer. */
async function post(body: Buffer | string, headers: readonly string[] = ['Content-Type: application/json']) {
  const bytes = Buffer.from(body);
  const socket = connectTo(proxy.url);
  socket.write(head([...headers, `Content-Length: ${bytes.length}`]));
  socket.write(bytes);
  return readAnswer(await text(socket));
}

function readAnswer(whole: string) {
  const [start = '', ...rest] = whole.split('\r\n\r\n');
  const coded = rest.join('\r\n\r\n');
  const body = /transfer-encoding: chunked/i.test(start)
    ? coded
        .split('\r\n')
        .filter((_, n) => n % 2 === 1)
        .join('')
    : coded;
  return { status: Number(start.split(' ')[1]), head: start, body };
}

const form = (more: object = {}) => JSON.stringify({ address: ADDRESS, method: 'seqno', stack: [], ...more });
const isOperation = async () => (await proxy.metric('upstreamRequests', { operation: 'runGetMethod' })) > 0;

const OTHER_BODIES: readonly (readonly [string, Buffer | string])[] = [
  ['no body', ''],
  ['half of a body', form().slice(0, 40)],
  ['two bodies', form() + form()],
  ['a list', '[]'],
  ['null', 'null'],
  ['a text', '"seqno"'],
  ['a number', '1'],
  ['deep nesting', '['.repeat(4000)],
  ['a nested argument', form({ stack: [{ type: 'cell', value: [[[['x']]]] }] })],
  ['`__proto__` as a member', `{"__proto__":{"method":"seqno"},"address":"${ADDRESS}","stack":[]}`],
  ['`__proto__` in addition', `{"__proto__":1,${form().slice(1)}`],
  ['`__proto__` in an argument', form({ stack: [] }).replace('[]', '[{"type":"num","__proto__":{"value":"1"}}]')],
  ['an unknown member of an argument', form({ stack: [{ type: 'num', value: '1', name: 'x' }] })],
  ['a number above all', form().replace('[]', '[{"type":"num","value":1e999}]')],
  ['a number of 30 digits', form().replace('[]', `[{"type":"num","value":${'9'.repeat(30)}}]`)],
  ['a fraction', form().replace('[]', '[{"type":"num","value":0.5}]')],
  ['a truth value', form({ stack: [{ type: 'num', value: true }] })],
  ['an argument without a value', form({ stack: [{ type: 'num' }] })],
  ['an unknown type', form({ stack: [{ type: 'Num', value: '1' }] })],
  ['an invalid address', form({ address: 'EQ' })],
  ['an address as a list', form({ address: [ADDRESS] })],
  ['an address that is empty', form({ address: '' })],
  ['a number as method', form({ method: 85143 })],
  ['an empty method', form({ method: '' })],
  ['half a character', form().replace('seqno', '\\udfff')],
  ['bytes that are not UTF-8', Buffer.from(form().replace('seqno', 'seqn\xff'), 'latin1')],
  ['a byte order mark', `\ufeff${form()}`],
  ['4097 bytes', form() + ' '.repeat(4097 - form().length)],
  ['100 KB', form({ method: 'x'.repeat(100_000) })],
];

describe.each([
  ['joined', 'all,passthrough'],
  ['not joined', 'all'],
])('a request without the form, where the rest of the API is %s,', (_, operations) => {
  it.each(OTHER_BODIES)('is passed through byte for byte with %s', async (_name, body) => {
    await start({ CACHE_OPERATIONS: operations, PASSTHROUGH: 'on' });
    answer = { status: 422, body: '{"error":"is this a request?"}' };
    expect(await post(body)).toMatchObject(answer);
    expect(received).toEqual([
      { method: 'POST', type: 'application/json', coding: undefined, body: Buffer.from(body) },
    ]);
    expect(await isOperation()).toBe(false);
  });

  it.each([
    ['gzip', gzipSync(form()), ['Content-Type: application/json', 'Content-Encoding: gzip']],
    ['no type', form(), []],
    ['another type', form(), ['Content-Type: text/json']],
    ['a type that only begins so', form(), ['Content-Type: application/json-seq']],
    ['UTF-16', Buffer.from(form(), 'utf16le'), ['Content-Type: application/json; charset=utf-16']],
    ['two parameters', form(), ['Content-Type: application/json; charset=utf-8; x=y']],
  ])('is passed through byte for byte with %s', async (_name, body, headers) => {
    await start({ CACHE_OPERATIONS: operations, PASSTHROUGH: 'on' });
    expect(await post(body, headers)).toMatchObject({ status: 200, body: RESULT });
    expect(received.map((each) => each.body)).toEqual([Buffer.from(body)]);
    expect(await isOperation()).toBe(false);
  });
});

describe('a request with the form', () => {
  it.each([
    'get_💎',
    'with "quotes" and \\',
    'two\nlines',
    'nul \0',
    '__proto__',
    'constructor',
    'toString',
    '85143',
    ' seqno',
    '%2F..%2f?&=#',
    'x'.repeat(3000),
  ])('reaches the indexer unchanged with the method %j', async (method) => {
    await start({ CACHE_OPERATIONS: 'all', PASSTHROUGH: 'on' });
    expect(await post(form({ method }))).toMatchObject({ status: 200, body: RESULT });
    expect(received.map(({ body }) => JSON.parse(body.toString()))).toEqual([JSON.parse(form({ method }))]);
    expect(await isOperation()).toBe(true);
  });

  it('has the last of two members of one name, as the indexer reads it', async () => {
    await start({ CACHE_OPERATIONS: 'all', PASSTHROUGH: 'on' });
    await post(`{"method":"first",${form().slice(1)}`);
    expect(received.map(({ body }) => body.toString())).toEqual([form()]);
  });

  it.each([
    ['deep nesting', `{"exit_code":0,"stack":${'['.repeat(50_000)}${']'.repeat(50_000)}}`],
    ['a number of 20 digits', '{"exit_code":0,"stack":[{"type":"num","value":12345678901234567890}]}'],
    ['a number above all', '{"exit_code":0,"stack":[1e999]}'],
    ['`__proto__`', '{"exit_code":0,"stack":[],"__proto__":{"error":"x"}}'],
    ['an exit code of 256 bits', `{"exit_code":-13,"stack":null,"gas_used":${'9'.repeat(77)}}`],
  ])('gets the result of the indexer byte for byte with %s', async (_, body) => {
    await start({ CACHE_OPERATIONS: 'all', PASSTHROUGH: 'on' });
    answer = { status: 200, body };
    for (let n = 0; n < 3; n++) {
      const { status, body: given } = await post(form());
      expect(status).toBe(200);
      expect(given === body).toBe(true);
    }
    expect(received).toHaveLength(3);
  });

  it.each([
    ['no exit code', '{"stack":[]}'],
    ['a text as exit code', '{"exit_code":"0","stack":[]}'],
    ['another shape', '[]'],
    ['half of it', RESULT.slice(0, 10)],
  ])('gets 502 for a result with %s', async (_, body) => {
    await start({ CACHE_OPERATIONS: 'all', PASSTHROUGH: 'on' });
    answer = { status: 200, body };
    expect((await post(form())).status).toBe(502);
  });
});

describe('a body in chunks', () => {
  const chunk = (part: string) => `${part.length.toString(16)}\r\n${part}\r\n`;
  const HEAD = head(['Content-Type: application/json', 'Transfer-Encoding: chunked']);

  async function inChunks(body: string, size: number) {
    const socket = connectTo(proxy.url);
    socket.write(HEAD);
    for (let at = 0; at < body.length; at += size) socket.write(chunk(body.slice(at, at + size)));
    socket.write(chunk(''));
    return readAnswer(await text(socket));
  }

  it('has the form, if it is short', async () => {
    await start({ CACHE_OPERATIONS: 'all,passthrough', PASSTHROUGH: 'on' });
    expect(await inChunks(form(), 1)).toMatchObject({ status: 200, body: RESULT });
    expect(received.map(({ body }) => body.toString())).toEqual([form()]);
    expect(await isOperation()).toBe(true);
  });

  it('is passed through if it is longer than 4 KB, and 413 if it is longer than any may be', async () => {
    await start({ CACHE_OPERATIONS: 'all,passthrough', PASSTHROUGH: 'on' });
    const long = form({ method: 'x'.repeat(5000) });
    expect(await inChunks(long, 1000)).toMatchObject({ status: 200, body: RESULT });
    expect(received.map(({ body }) => body.toString())).toEqual([long]);
    expect(await isOperation()).toBe(false);
    expect((await inChunks('x'.repeat(2 ** 20 + 1), 2 ** 16)).status).toBe(413);
  });

  it('is refused if it is long where nothing is passed through', async () => {
    await start({ CACHE_OPERATIONS: 'runGetMethod' });
    expect((await inChunks(form({ method: 'x'.repeat(5000) }), 1000)).status).toBe(501);
    expect(received).toEqual([]);
  });

  it('costs nobody an answer while it stalls, and reaches no indexer', async () => {
    await start({ CACHE_OPERATIONS: 'all,passthrough', PASSTHROUGH: 'on', UPSTREAM_MAX_CONCURRENCY: '2' });
    const stalled = Array.from({ length: 100 }, () => {
      const { hostname, port } = new URL(proxy.url);
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.write(HEAD + chunk(form().slice(0, 20)));
      return socket;
    });
    await proxy.untilTakenIn();
    expect(await post(form())).toMatchObject({ status: 200, body: RESULT });
    expect(await post(form({ method: '' }))).toMatchObject({ status: 200, body: RESULT });
    for (const socket of stalled) socket.destroy();
    await expect.poll(() => proxy.metric('requestsInFlight')).toBe(0);
    expect(received).toHaveLength(2);
    expect(await post(form())).toMatchObject({ status: 200 });
  });
});
