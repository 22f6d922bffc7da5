import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readFields, readHead, readSpelling } from '../../src/http/fast/request-head.ts';
import { listen } from '../../src/http/listen.ts';
import { OperationsInUse } from '../../src/ton/operations.ts';
import { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { someRequest } from './byte-streams.ts';
import {
  compareLanes,
  isInPieces,
  type Lanes,
  plainRequestsIn,
  problemOf,
  requestsIn,
  streamOf,
} from './compare-lanes.ts';
import { MAX_HEAD_BYTES, startEchoServer } from './echo-server.ts';
import { exchangeBytes, readAnswers } from './exchange-bytes.ts';
import { MemorySocket } from './memory-socket.ts';

const SEED = Date.now();
const STREAMS = 20_000;
const HEADS = 1_000_000;
const OVER_SOCKETS = 5000;
const AT_ONCE = 100;

let lanes: Lanes;

beforeAll(() => {
  lanes = { fast: startEchoServer({ fastLane: true }), node: startEchoServer({ fastLane: false }) };
});

afterAll(async () => {
  await Promise.all([lanes.fast.drain(0), lanes.node.drain(0)]);
});

it(`the fast lane answers ${STREAMS} streams as Node does (seed ${SEED})`, async () => {
  for (let first = 0; first < STREAMS; first += AT_ONCE) {
    const seeds = Array.from({ length: AT_ONCE }, (_, i) => `${SEED}/${first + i}`);
    await Promise.all(seeds.map((seed) => compareLanes(lanes, streamOf(seed))));
  }
});

it(`of ${HEADS} heads the fast lane accepts only those that Node's parser reads in the same way (seed ${SEED})`, async () => {
  const random = new SeededRandom(SEED);
  // The requests of one connection as Node's parser reads them, in order.
  const parsed: string[] = [];
  const server = createServer({ maxHeaderSize: MAX_HEAD_BYTES }, ({ method, url, httpVersion, headers }, response) => {
    const { host, connection, 'x-request-id': id, 'if-none-match': tag } = headers;
    parsed.push(`${method} ${url} ${httpVersion} ${host !== undefined} ${connection?.toLowerCase()} ${id} ${tag}`);
    response.end();
  });
  let socket = await connected(server);
  let taken = 0;
  for (let count = 0; count < HEADS; count++) {
    const bytes = someRequest(random, random.pick([0.01, 0.03, 0.1]));
    const head = readHead(bytes, 0, MAX_HEAD_BYTES);
    if (typeof head === 'string') continue;
    const fields = readFields(head.fields);
    if (fields === undefined || readSpelling(head.spelling, new OperationsInUse()) === undefined) continue;
    taken++;
    socket.push(Buffer.from(bytes.slice(0, head.end), 'latin1'));
    const { 'x-request-id': id, 'if-none-match': tag } = fields.headers;
    const connection = /^connection:/im.test(head.fields) ? 'keep-alive' : undefined;
    const expected = `GET /api/v3/${head.spelling} 1.1 true ${connection} ${id} ${tag}`;
    if (parsed.length !== 1 || parsed[0] !== expected || socket.isClosed) {
      expect.fail(`${JSON.stringify(bytes)}\n${expected}\n${parsed.join('\n')}`);
    }
    parsed.length = 0;
    if (taken % AT_ONCE > 0) continue;
    socket.destroy();
    socket = await connected(server);
  }
  // Most of the changed heads are still valid heads.
  expect(taken).toBeGreaterThan(HEADS / 10);
});

/** A connection whose received bytes are collected. */
async function connected(server: Server): Promise<MemorySocket> {
  const socket = new MemorySocket();
  server.emit('connection', socket);
  await new Promise((resolve) => void setImmediate(resolve));
  return socket;
}

it(`the fast lane answers ${OVER_SOCKETS} streams over real connections as Node does (seed ${SEED})`, async () => {
  const url = await listen(lanes.fast.server, '127.0.0.1', 0);
  const last = 'GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  for (let i = 0; i < OVER_SOCKETS; i++) {
    const stream = streamOf(`${SEED}/socket/${i}`);
    const reads = [...stream.reads, last];
    const bytes = reads.join('');
    const paced = await exchangeBytes(lanes.node, { reads: requestsIn(bytes), isPaced: true, ends: false });
    // The last request may be the body of the one before it.
    if (!paced.isClosed) continue;
    const { answers, isReset } = await exchangeOver(url, reads);
    // When a connection is reset, the system drops what the client has not read.
    const least = isReset || isInPieces(stream.reads) ? 0 : plainRequestsIn(stream.reads.join(''));
    const found = problemOf({ answers, isClosed: true }, paced, least, false);
    if (found !== undefined) expect.fail(`${found}\n${JSON.stringify([reads, answers, paced.answers]).slice(0, 4000)}`);
  }
});

/** Sends, and resolves when the connection has ended. */
async function exchangeOver(url: string, reads: readonly string[]): Promise<{ answers: string[]; isReset: boolean }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay(true);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let [text, isReset] = ['', false];
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  // A connection that is closed with unread bytes is reset.
  socket.on('error', () => {
    isReset = true;
  });
  socket.on('close', resolve);
  for (const read of reads) {
    socket.write(read, 'latin1');
    await new Promise((sent) => void setImmediate(sent));
  }
  await closed;
  return { answers: readAnswers(text), isReset };
}
