import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { nothingPending } from '../e2e/questions.ts';
import { connectTo } from '../support/http-client.ts';
import { PATIENT_TIMEOUT } from '../support/patience.ts';
import { startProxy } from '../support/start-proxy.ts';
import { startFaultyWorld } from './faulty-world.ts';

const SHORTEST = 100;
/** The time for which an idle connection is kept longer than announced. */
const KEEP_ALIVE_BUFFER = 1000;
const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
const head = (target: string) => get(target).replace('GET', 'HEAD');
const PART_OF_HEAD = get(nothingPending()).replace('\r\n\r\n', '\r\nX-Part: ');
const PART_OF_BODY = 'POST /api/v3/message HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{';
const REFUSED = /^HTTP\/1\.1 408 Request Timeout\r\n.*Connection: close\r\n\r\n\{"error":"[^"]+"\}$/s;

interface Client {
  readonly trickles: boolean;
  readonly socket: Socket;
  /** Resolves with the time for which it was open, in milliseconds. */
  readonly ended: Promise<number>;
  text(): string;
}

/** A client that sends this, and then occasional bytes if it trickles. */
function connectClient(url: string, { sends, trickles = false }: { sends: string; trickles?: boolean }): Client {
  const startedAt = performance.now();
  const socket = connectTo(url).setEncoding('latin1');
  let text = '';
  socket.on('data', (part: string) => (text += part));
  socket.write(sends, 'latin1');
  const timer = setInterval(() => trickles && socket.write('x'), SHORTEST);
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  socket.on('close', () => {
    clearInterval(timer);
    resolve(performance.now() - startedAt);
  });
  return { trickles, socket, ended, text: () => text };
}

it('an answer that is passed through is cut when it pauses for UPSTREAM_TIMEOUT', async () => {
  // Far longer than the beginning of its answer takes.
  const UPSTREAM_TIMEOUT_MS = 3000;
  // The end of its answer never comes.
  const indexer = createServer((_, response) => void response.write('{"accounts":')).listen(0, '127.0.0.1');
  onTestFinished(() => indexer.close().closeAllConnections());
  await once(indexer, 'listening');
  await using proxy = await startProxy({
    upstreamUrl: `http://127.0.0.1:${(indexer.address() as AddressInfo).port}`,
    env: { UPSTREAM_TIMEOUT: `${UPSTREAM_TIMEOUT_MS}ms`, PASSTHROUGH: 'on' },
    overrides: { http: { drainTimeout: SHORTEST } },
  });
  const { ended, text } = connectClient(proxy.url, { sends: get('/api/v3/accountStates') });
  expect(await ended).toBeGreaterThan(UPSTREAM_TIMEOUT_MS);
  expect(text()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\{"accounts":\r\n$/s);
});

it.concurrent.each([true, false])(
  'idle connections and those with an incomplete request are cut before a waiting request is answered (http.fastLane: %j)',
  async (fastLane) => {
    await using world = await startFaultyWorld({
      env: { UPSTREAM_TIMEOUT: PATIENT_TIMEOUT, PASSTHROUGH: 'on' },
      overrides: {
        http: {
          fastLane,
          requestTimeout: SHORTEST,
          keepAliveTimeout: SHORTEST,
          sendTimeout: SHORTEST,
          drainTimeout: SHORTEST,
        },
      },
    });
    const gate = world.indexer.hold();
    const connectAll = (of: Readonly<Record<string, Parameters<typeof connectClient>[1]>>) =>
      Object.entries(of).map(([name, sending]) => ({ name, ...connectClient(world.proxy.url, sending) }));
    const waiting = connectAll({
      operation: { sends: get(nothingPending()) },
      'operation by Node': { sends: head(nothingPending()) },
      'passed through': { sends: get('/api/v3/masterchainInfo') },
    });
    const half = connectAll({
      nothing: { sends: '' },
      'part of a head': { sends: PART_OF_HEAD },
      'head byte by byte': { sends: PART_OF_HEAD, trickles: true },
      'part of a body': { sends: PART_OF_BODY },
      'body byte by byte': { sends: PART_OF_BODY, trickles: true },
    });
    const idle = connectAll({
      'after an answer': { sends: get('/api/v3/pendingTraces?nothing') },
      'after an answer by Node': { sends: get('/') },
    });
    for (const { ended } of half) expect(await ended).toBeGreaterThan(SHORTEST);
    for (const { ended } of idle) expect(await ended).toBeGreaterThan(SHORTEST + KEEP_ALIVE_BUFFER);
    // The system drops the refusal of a client whose next byte meets a closed connection.
    for (const { name, text } of half.filter(({ trickles }) => !trickles)) {
      expect([name, text()]).toEqual([name, expect.stringMatching(REFUSED)]);
    }
    expect(waiting.map(({ socket, text }) => [socket.readableEnded, text()])).toEqual(Array(3).fill([false, '']));
    gate.release();
    await Promise.all(waiting.map(({ ended }) => ended));
    for (const { name, text } of waiting)
      expect([name, text()]).toEqual([name, expect.stringMatching(/^HTTP\/1\.1 200 /)]);
  },
);
