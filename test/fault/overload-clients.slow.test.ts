import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { newestBlock, parentOfSettled } from '../e2e/questions.ts';
import { ask, connectTo } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startFaultyWorld } from './faulty-world.ts';

const MIB = 1024 * 1024;

/** The connections that a port of this process accepts from now on: its own end of each. */
function acceptedBy(url: string): { readonly count: number; readonly open: number } {
  const port = Number(new URL(url).port);
  const accepted: Socket[] = [];
  const onSocket = (message: unknown) => {
    if (typeof message !== 'object' || message === null || !('socket' in message)) return;
    if (message.socket instanceof Socket && message.socket.localPort === port) accepted.push(message.socket);
  };
  subscribe('net.server.socket', onSocket);
  onTestFinished(() => void unsubscribe('net.server.socket', onSocket));
  return {
    get count() {
      return accepted.length;
    },
    get open() {
      return accepted.filter((socket) => !socket.destroyed).length;
    },
  };
}

/** Connects this many clients that send this. */
function connectMany(url: string, count: number, bytes: string): Socket[] {
  const sockets = Array.from({ length: count }, () => connectTo(url));
  for (const socket of sockets) socket.write(bytes);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return sockets;
}

describe('clients that pipeline as much as they can', () => {
  const LIMIT_MIB = 400;
  const HEALTH_MS = 1000;
  const miss = 'GET /api/v3/masterchainBlockShards?seqno=77 HTTP/1.1\r\nHost: x\r\n\r\n';

  /** Looks at a process this many times: its largest RSS in MiB, and the longest time of `/healthz`. */
  async function watch(proxy: ProxyProcess, times: number): Promise<{ mostMib: number; slowestMs: number }> {
    let [mostMib, slowestMs] = [0, 0];
    for (let time = 0; time < times; time++) {
      const askedAt = performance.now();
      expect((await ask(proxy.adminUrl, '/healthz')).status).toBe(200);
      slowestMs = Math.max(slowestMs, performance.now() - askedAt);
      mostMib = Math.max(mostMib, (await proxy.metric('process_resident_memory_bytes')) / MIB);
      await new Promise((resolve) => void setTimeout(resolve, 100));
    }
    return { mostMib, slowestMs };
  }

  it.each([
    ['with the default heap', {}],
    ['with a heap of 300 MB', { NODE_OPTIONS: '--max-old-space-size=256' }],
  ])(
    'the process stays under 400 MiB with 60 000 misses of 50 clients, and answers all of them: %s',
    async (_, env) => {
      const indexer = await startIndexer();
      onTestFinished(() => indexer.close());
      await using proxy = await ProxyProcess.start({ UPSTREAM_URL: indexer.url, UPSTREAM_TIMEOUT: '60s', ...env });
      const gate = indexer.hold();
      let answers = 0;
      for (const socket of connectMany(proxy.url, 50, miss.repeat(1200))) {
        // Each answer has one of these; it may be cut by the end of a part.
        let rest = '';
        socket.setEncoding('latin1').on('data', (part: string) => {
          const pieces = (rest + part).split('"error"');
          answers += pieces.length - 1;
          rest = pieces.at(-1)?.slice(-6) ?? '';
        });
      }
      await gate.arrived(1);
      const waiting = await watch(proxy, 30);
      expect(await proxy.metric('requestsInFlight')).toBe(50);
      gate.release();
      const answering = await watch(proxy, 30);
      await expect.poll(() => answers, { timeout: 120_000 }).toBe(60_000);
      for (const { mostMib, slowestMs } of [waiting, answering]) {
        expect(Math.round(mostMib)).toBeLessThan(LIMIT_MIB);
        expect(slowestMs).toBeLessThan(10 * HEALTH_MS);
      }
    },
  );

  it('most of 1000 unanswered clients are cut when more than 16 MiB of their requests are kept', async () => {
    const indexer = await startIndexer();
    onTestFinished(() => indexer.close());
    await using proxy = await ProxyProcess.start({ UPSTREAM_URL: indexer.url, UPSTREAM_TIMEOUT: '60s' });
    indexer.hold();
    let cut = 0;
    for (const socket of connectMany(proxy.url, 1000, miss.repeat(1200))) socket.on('close', () => cut++);
    // A connection holds 64 KiB, or twice that if it was read once more.
    await expect.poll(() => cut, { timeout: 60_000 }).toBeGreaterThan(700);
    const { mostMib } = await watch(proxy, 10);
    expect(Math.round(mostMib)).toBeLessThan(LIMIT_MIB);
    expect(cut).toBeLessThan(1000 - 50);
  });
});

describe('clients that only hold their connections open', () => {
  it('500 that read nothing of their answers are cut, and other clients are served in the meantime', async () => {
    await using world = await startFaultyWorld({
      env: { UPSTREAM_TIMEOUT: '4s' },
      overrides: {
        http: { sendTimeout: 1000, drainTimeout: 100 },
        memory: { maxSize: 1024 * MIB },
        upstream: { maxBodySize: 32 * MIB },
      },
    });
    const large = parentOfSettled(world);
    // More than the system buffers for a connection.
    world.indexer.faults.inject({ kind: 'huge', bytes: 16 * MIB }, { times: 1 });
    expect((await world.ask(large)).cache['stored']).toBe(true);
    const accepted = acceptedBy(world.proxy.url);
    for (const socket of connectMany(world.proxy.url, 500, `GET ${large} HTTP/1.1\r\nHost: x\r\n\r\n`)) socket.pause();
    await expect.poll(() => accepted.count, { interval: 5 }).toBe(500);
    expect((await world.ask(newestBlock(world))).cache).toMatchObject({ fwd: 'miss' });
    for (let time = 0; time < 50; time++) expect((await world.ask(newestBlock(world))).cache['hit']).toBe(true);
    await expect.poll(() => accepted.open, { timeout: 60_000 }).toBe(0);
    // A client that does read is not cut.
    expect((await world.ask(large)).bytes).toHaveLength(16 * MIB);
  });
});
