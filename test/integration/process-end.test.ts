import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Asking, ask, connectTo, exchange, send } from '../support/http-client.ts';
import { warningsIn } from '../support/warnings.ts';
import { DRAIN_MS, ProcessWorld, REQUEST, refusal, TARGET } from './process-world.ts';

let world: ProcessWorld;

beforeEach(async () => {
  world = await ProcessWorld.start();
});

afterEach(() => world[Symbol.asyncDispose]());

describe('a signal to end', () => {
  it('lets requests in flight be answered, refuses new connections, and ends the process with status 0', async () => {
    await using started = await world.startWithDrain('5min');
    const { url, adminUrl } = started;
    expect((await ask(adminUrl, '/readyz')).status).toBe(200);
    const gate = world.indexer.hold('adjacentTransactions');
    const inFlight = exchange(url, REQUEST);
    await gate.arrived(1);

    started.signal('SIGTERM');
    // A second one immediately after it is the same signal: npm repeats the terminal's.
    started.signal('SIGINT');
    await expect.poll(async () => (await ask(adminUrl, '/readyz')).status).toBe(503);
    await expect.poll(() => refusal(url)).toBe('ECONNREFUSED');
    expect((await ask(adminUrl, '/healthz')).status).toBe(200);
    gate.release();

    const answer = await inFlight;
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).toMatch(/^connection: close\r$/im);
    expect(answer).toContain('{"error":"adjacent transactions not found"}');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(started.errors).toBe('');
    expect(warningsIn(started.log)).toEqual([]);
  });

  it.each([
    ['in the fast lane', ''],
    ["in Node's lane", 'TE: trailers\r\n'],
  ])('still answers the first request of an open connection when the port is closed: %s', async (_, header) => {
    await using started = await world.startProcess();
    const socket = connectTo(started.url);
    await once(socket, 'connect');
    const answer = buffer(socket);
    // It is seen before the signal comes.
    await ask(started.url, '/no/such/path');
    started.signal('SIGTERM');
    while ((await refusal(started.url)) !== 'ECONNREFUSED');
    socket.write(REQUEST.replace('\r\n\r\n', `\r\n${header}\r\n`));
    expect((await answer).toString()).toMatch(/^HTTP\/1\.1 404 (?:.|\s)*connection: close/i);
    expect(await started.ended).toEqual({ code: 0, signal: null });
  });

  it('lets every answer announce the end of its connection while new connections are accepted', async () => {
    const config = world.file('draining.json');
    await writeFile(config, JSON.stringify({ http: { shutdownDelay: '1min' }, passThrough: { enabled: true } }));
    await using started = await world.startProcess({ CONFIG_FILE: config });
    const hit = `/api/v3/masterchainBlockShards?seqno=${world.indexer.chain.headSeqno - 10}`;
    const { headers } = await ask(started.url, hit);
    expect(headers.connection).not.toBe('close');
    const announced = async (target: string, asking: Asking = {}) => {
      const { status, headers } = await ask(started.url, target, asking);
      return [status, headers.connection];
    };
    const gate = world.indexer.hold('masterchainInfo');
    const passedBefore = announced('/api/v3/masterchainInfo');
    await gate.arrived(1);
    started.signal('SIGTERM');
    await started.untilLogged('shutting down');
    gate.release();
    expect(await passedBefore).toEqual([200, 'close']);
    expect(await announced(hit)).toEqual([200, 'close']);
    expect(await announced(hit, { headers: { TE: 'trailers' } })).toEqual([200, 'close']);
    expect(await announced(hit, { method: 'HEAD' })).toEqual([200, 'close']);
    expect(await announced(hit, { headers: { 'If-None-Match': headers.etag ?? '' } })).toEqual([304, 'close']);
    expect(await announced(TARGET)).toEqual([404, 'close']);
    expect(await announced(`${TARGET}0`)).toEqual([422, 'close']);
    expect(await announced('/api/v3/masterchainInfo')).toEqual([200, 'close']);
    expect(await announced('/no/such/path')).toEqual([404, 'close']);
    expect(await announced(hit, { method: 'OPTIONS' })).toEqual([204, 'close']);
    expect(await announced('/readyz')).toEqual([503, 'close']);
  });

  it.each(['SIGHUP', 'SIGQUIT', 'SIGALRM'] as const)('may be %s', async (signal) => {
    await using started = await world.startProcess();
    const gate = world.indexer.hold('adjacentTransactions');
    const inFlight = exchange(started.url, REQUEST);
    await gate.arrived(1);
    started.signal(signal);
    expect(await started.untilLogged('shutting down')).toMatchObject({ signal });
    gate.release();
    expect(await inFlight).toMatch(/^HTTP\/1\.1 404 (?:.|\s)*connection: close/i);
    expect(await started.ended).toEqual({ code: 0, signal: null });
  });

  it.each([
    ['in the fast lane', {}],
    ["in Node's lane", { TE: 'trailers' }],
  ])('loses no request of clients in a closed loop: %s', async (_, headers) => {
    await using started = await world.startProcess();
    const hit = `${started.url}/api/v3/masterchainBlockShards?seqno=${world.indexer.chain.headSeqno - 10}`;
    let answers = 0;
    const askUntilTheLast = async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (;;) {
        const [answer] = (await once(get(hit, { agent, headers }), 'response')) as [IncomingMessage];
        await once(answer.resume(), 'end');
        answers++;
        expect(answer.statusCode).toBe(200);
        if (answer.headers.connection === 'close') return;
      }
    };
    const clients = Array.from({ length: 10 }, askUntilTheLast);
    await expect.poll(() => answers).toBeGreaterThan(100);
    started.signal('SIGTERM');
    await Promise.all(clients);
    expect(await started.ended).toEqual({ code: 0, signal: null });
  });

  it('that comes a second time ends the process immediately, even with requests in flight', async () => {
    await using started = await world.startProcess();
    const gate = world.indexer.hold('adjacentTransactions');
    const inFlight = send(started.url, `/api/v3/adjacentTransactions?hash=${'00'.repeat(32)}`);
    await gate.arrived(1);
    started.signal('SIGTERM');
    await started.untilLogged('shutting down');
    // A repeat within half a second is the same signal to the process, because npm and a terminal both send it.
    const repeating = setInterval(() => started.signal('SIGTERM'), 100);
    expect(await started.ended).toEqual({ code: 1, signal: null });
    clearInterval(repeating);
    await expect(inFlight.answer).rejects.toThrow();
    expect(gate.waiting).toBe(1);
  });
});

it.each(['SIGUSR1', 'SIGUSR2'] as const)(
  '%s is logged, opens no debugger and does not end the process',
  async (signal) => {
    await using started = await world.startProcess();
    started.signal(signal);
    expect(await started.untilLogged('signal ignored')).toMatchObject({ level: 30, signal });
    expect((await ask(started.url, TARGET)).status).toBe(404);
    started.signal('SIGTERM');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    // A debugger, and one that finds its port in use, reports it here.
    expect(started.errors).toBe('');
  },
);

describe('a signal to end if http.shutdownDelay is set', () => {
  it('fails /readyz immediately, still answers new connections, and ends the process immediately at the second signal', async () => {
    await using started = await world.startWithDrain('5min', {}, '5min');
    const { url, adminUrl } = started;
    started.signal('SIGTERM');
    await expect.poll(async () => (await ask(adminUrl, '/readyz')).status, { interval: 5 }).toBe(503);
    expect((await ask(url, TARGET)).status).toBe(404);
    expect((await ask(url, '/readyz')).status).toBe(503);
    expect((await ask(url, '/healthz')).status).toBe(200);
    const repeating = setInterval(() => started.signal('SIGTERM'), 100);
    expect(await started.ended).toEqual({ code: 1, signal: null });
    clearInterval(repeating);
  });
});

describe('after http.drainTimeout', () => {
  it.each([
    ['in the fast lane', REQUEST],
    ["in Node's lane", REQUEST.replace('\r\n\r\n', '\r\nTE: trailers\r\n\r\n')],
  ])('a request that the indexer does not answer gets 503: %s', async (_, request) => {
    await using started = await world.startWithDrain(`${DRAIN_MS}ms`);
    const gate = world.indexer.hold('adjacentTransactions');
    const inFlight = exchange(started.url, request);
    await gate.arrived(1);
    started.signal('SIGTERM');
    const answer = await inFlight;
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toMatch(/^connection: close\r$/im);
    expect(answer).toMatch(/^cache-control: no-store\r$/im);
    expect(answer).toMatch(/\{"error":".+"\}$/);
    expect(await started.ended).toEqual({ code: 0, signal: null });
  });

  it('connections of clients that never finish their request or never read their answer are closed', async () => {
    await using started = await world.startWithDrain(`${DRAIN_MS}ms`, { maxBodySize: '32MiB' });
    const half = connectTo(started.url);
    half.write(REQUEST.slice(0, 30));
    world.indexer.faults.inject({ kind: 'huge', bytes: 16 * 1024 * 1024 });
    const deaf = connectTo(started.url);
    deaf.write(`GET /api/v3/masterchainBlockShards?seqno=${world.indexer.chain.headSeqno} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(deaf, 'readable');
    started.signal('SIGTERM');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    half.destroy();
    deaf.destroy();
  });
});
