import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Indexer, startIndexer } from '../../src/simulator/indexer.ts';
import { ask, exchange, send } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

const TARGET = '/api/v3/masterchainBlockShards?seqno=2147483647';
const REQUEST = `GET ${TARGET} HTTP/1.1\r\nHost: toncache\r\n\r\n`;
const DRAIN_MS = 300;
let indexer: Indexer;
let dir: string;

beforeEach(async () => {
  indexer = await startIndexer();
  dir = await mkdtemp(join(tmpdir(), 'toncache-process-'));
});

afterEach(async () => {
  await indexer.close();
  await rm(dir, { recursive: true });
});

const start = () => ProxyProcess.start({ UPSTREAM_URL: indexer.url, UPSTREAM_TIMEOUT: '60s' });

/** A process with this `http.drain` and this `http.shutdownDelay`. */
async function startWithDrain(drain: string, upstream: object = {}, shutdownDelay = '0ms'): Promise<ProxyProcess> {
  const file = join(dir, 'drain.json');
  await writeFile(file, JSON.stringify({ http: { drain, shutdownDelay }, upstream }));
  return ProxyProcess.start({ UPSTREAM_URL: indexer.url, UPSTREAM_TIMEOUT: '60s', CONFIG_FILE: file });
}

function open(origin: string): Socket {
  const { hostname, port } = new URL(origin);
  return connect(Number(port), hostname).on('error', () => {});
}

/** How a new connection fails, or that it does not. */
function refusal(origin: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = open(origin);
    socket.on('connect', () => {
      socket.destroy();
      resolve('connected');
    });
    socket.on('error', (error) => resolve('code' in error ? String(error.code) : 'failed'));
  });
}

describe('a signal to end', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    '(%s) lets requests in flight be answered, refuses new ones, and ends the process with status 0',
    async (signal) => {
      await using started = await start();
      const { url, adminUrl } = started;
      expect((await ask(adminUrl, '/readyz')).status).toBe(200);
      const gate = indexer.hold();
      const inFlight = exchange(url, REQUEST);
      await gate.arrived(1);

      started.signal(signal);
      await expect.poll(async () => (await ask(adminUrl, '/readyz')).status).toBe(503);
      await expect.poll(() => refusal(url)).toBe('ECONNREFUSED');
      expect((await ask(adminUrl, '/healthz')).status).toBe(200);
      gate.release();

      const answer = await inFlight;
      expect(answer).toMatch(/^HTTP\/1\.1 404 /);
      expect(answer).toMatch(/^connection: close\r$/im);
      expect(answer).toContain('{"error":"blocks not found"}');
      expect(await started.ended).toEqual({ code: 0, signal: null });
      expect(started.errors).toBe('');
      expect(started.log.every(({ level }) => level <= 30)).toBe(true);
    },
  );

  it('closes idle connections at once', async () => {
    await using started = await startWithDrain('5min');
    const idle = open(started.url);
    const said = text(idle);
    idle.write(REQUEST);
    await once(idle, 'readable');
    started.signal('SIGTERM');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(await said).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('closes connections at once on which nothing was ever requested', async () => {
    await using started = await startWithDrain('10s');
    const silent = open(started.url);
    await once(silent, 'connect');
    await ask(started.url, TARGET);
    started.signal('SIGTERM');
    await started.untilLogged('shutting down');
    const signalledAt = performance.now();
    expect(await started.ended).toEqual({ code: 0, signal: null });
    // Load balancers and browsers open connections in advance: there is no request in flight on them to wait for.
    expect(performance.now() - signalledAt).toBeLessThan(10_000);
    silent.destroy();
  });

  it('that comes a second time ends the process at once, whatever is in flight', async () => {
    await using started = await start();
    const gate = indexer.hold();
    const inFlight = send(started.url, TARGET);
    await gate.arrived(1);
    started.signal('SIGTERM');
    await started.untilLogged('shutting down');
    // A repeat within half a second is the same signal to the process, which comes twice by npm and a terminal.
    const repeating = setInterval(() => started.signal('SIGTERM'), 100);
    expect(await started.ended).toEqual({ code: 1, signal: null });
    clearInterval(repeating);
    await expect(inFlight.answer).rejects.toThrow();
    expect(gate.held).toBe(1);
  });
});

describe('a signal to end where http.shutdownDelay is set', () => {
  it('fails /readyz at once, still answers new connections, and ends the process at once at the second signal', async () => {
    await using started = await startWithDrain('5min', {}, '5min');
    const { url, adminUrl } = started;
    started.signal('SIGTERM');
    await expect.poll(async () => (await ask(adminUrl, '/readyz')).status, { interval: 5 }).toBe(503);
    expect((await ask(url, TARGET)).status).toBe(404);
    const repeating = setInterval(() => started.signal('SIGTERM'), 100);
    expect(await started.ended).toEqual({ code: 1, signal: null });
    clearInterval(repeating);
  });

  it('refuses new connections after the delay, and ends the process', async () => {
    await using started = await startWithDrain('5min', {}, '400ms');
    const gate = indexer.hold();
    const inFlight = exchange(started.url, REQUEST);
    await gate.arrived(1);
    const signalledAt = performance.now();
    started.signal('SIGTERM');
    await expect.poll(() => refusal(started.url), { interval: 5 }).toBe('ECONNREFUSED');
    expect(performance.now() - signalledAt).toBeGreaterThanOrEqual(400);
    gate.release();
    expect(await inFlight).toMatch(/^HTTP\/1\.1 404 /);
    expect(await started.ended).toEqual({ code: 0, signal: null });
  });
});

describe('after http.drain', () => {
  it('a request that the indexer does not answer gets 503', async () => {
    await using started = await startWithDrain(`${DRAIN_MS}ms`);
    const gate = indexer.hold();
    const inFlight = exchange(started.url, REQUEST);
    await gate.arrived(1);
    const signalledAt = performance.now();
    started.signal('SIGTERM');
    const answer = await inFlight;
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toMatch(/^connection: close\r$/im);
    expect(answer).toMatch(/^cache-control: no-store\r$/im);
    expect(answer).toMatch(/\{"error":".+"\}$/);
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - signalledAt).toBeLessThan(10 * (DRAIN_MS + 500));
  });

  it('a request that waits for a slot gets 503', async () => {
    await using started = await startWithDrain(`${DRAIN_MS}ms`, { maxConcurrency: 1 });
    const gate = indexer.hold();
    const first = send(started.url, TARGET);
    await gate.arrived(1);
    const queued = send(started.url, `${TARGET}&limit=7`);
    await expect.poll(async () => (await ask(started.adminUrl, '/metrics')).text).toMatch(/toncache_upstream_queued 1/);
    started.signal('SIGTERM');
    expect([(await first.answer).status, (await queued.answer).status]).toEqual([503, 503]);
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(gate.arrivals).toBe(1);
  });

  it('connections of clients that never finish their request or never read their answer are closed', async () => {
    await using started = await startWithDrain(`${DRAIN_MS}ms`, { maxBodySize: '32MiB' });
    const half = open(started.url);
    half.write(REQUEST.slice(0, 30));
    indexer.faults.inject({ kind: 'huge', bytes: 16 * 1024 * 1024 });
    const deaf = open(started.url);
    deaf.write(`GET /api/v3/masterchainBlockShards?seqno=${indexer.chain.headSeqno} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(deaf, 'readable');
    started.signal('SIGTERM');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    half.destroy();
    deaf.destroy();
  });
});
