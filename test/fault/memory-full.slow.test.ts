import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { nothingPending } from '../e2e/questions.ts';
import { ask, connectTo } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

/** As many as fit into the head of a request: a key of 20 KB. */
const HASHES = 350;
const CLIENTS = 16;
/** Far more than it needs on a busy machine. */
const GUARD_MS = 280_000;

/** Sends this many requests with random hashes, and counts the answers by status. */
async function askWithRandomHashes(url: string, count: number): Promise<ReadonlyMap<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const statuses = new Map<number, number>();
  let remaining = count;
  const client = async () => {
    while (remaining-- > 0) {
      const hashes = Array.from({ length: HASHES }, () => randomBytes(32).toString('base64url'));
      const status = await statusOf(agent, `${url}/api/v3/pendingTraces?ext_msg_hash=${hashes.join(',')}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  agent.destroy();
  return statuses;
}

function statusOf(agent: Agent, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent }, (response) => {
      void buffer(response).then(() => resolve(response.statusCode ?? 0), reject);
    });
    sent.on('error', reject).end();
  });
}

async function startProxy(environment: Readonly<Record<string, string>>, settings: object): Promise<ProxyProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'toncache-memory-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'settings.json');
  await writeFile(file, JSON.stringify(settings));
  const proxy = await ProxyProcess.start({ ...environment, CONFIG_FILE: file }, GUARD_MS);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

test('a process whose memory is full of expired entries answers misses again', async () => {
  const options = { maxHeaderSize: 64 * 1024 };
  const upstream = createServer(options, (_, response) => void response.end('{"traces":[]}')).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  onTestFinished(() => void upstream.close());
  const UPSTREAM_URL = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const proxy = await startProxy(
    { UPSTREAM_URL, MEMORY_MAX_SIZE: '512MiB', NODE_OPTIONS: '--max-old-space-size=481' },
    { admission: { maxMemoryShare: 0.2 } },
  );
  const statuses = await askWithRandomHashes(proxy.url, 4000);
  expect(statuses.get(503)).toBeGreaterThan(0);
  const miss = () => ask(proxy.url, `/api/v3/pendingTraces?ext_msg_hash=${randomBytes(32).toString('base64url')}`);
  await expect.poll(async () => (await miss()).status, { timeout: 20_000, interval: 250 }).toBe(200);
  expect([...(await askWithRandomHashes(proxy.url, 100))]).toEqual([[200, 100]]);
});

/** Node's limit for a process in the documented container of 706 MiB: half of it for the old generation. */
const NODE_OPTIONS = '--max-old-space-size=353 --max-semi-space-size=32';

/** This many connections, each with 2 requests for one key whose heads contain 60 KB in 90 fields. */
const CONNECTIONS = 3000;
const fields = Array.from({ length: 90 }, (_, index) => `X-${index}: ${'x'.repeat(660)}\r\n`).join('');
const pipelined = Buffer.from(
  `GET /api/v3/masterchainBlockShards?seqno=77 HTTP/1.1\r\nHost: x\r\n${fields}\r\n`.repeat(2),
);

test('clients whose waiting requests fill the heap get 503, the process lives, and serves misses afterwards', async () => {
  const indexer = await startIndexer();
  onTestFinished(() => indexer.close());
  const http = { fastLane: false, maxHeaderSize: '64KiB' };
  const proxy = await startProxy({ UPSTREAM_URL: indexer.url, NODE_OPTIONS }, { http });
  const gate = indexer.hold();
  let unavailable = 0;
  let isAlive = true;
  void proxy.ended.then(() => {
    isAlive = false;
  });
  const sockets = Array.from({ length: CONNECTIONS }, () => connectTo(proxy.url));
  for (const socket of sockets) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      unavailable += text.split('HTTP/1.1 503').length - 1;
    });
    socket.write(pipelined);
  }
  await expect.poll(() => unavailable > 100 || !isAlive, { timeout: 60_000, interval: 100 }).toBe(true);
  expect([isAlive, proxy.errors]).toEqual([true, '']);
  for (const socket of sockets) socket.destroy();
  gate.release();
  const isServed = async () => (await ask(proxy.url, nothingPending())).status;
  await expect.poll(isServed, { timeout: 20_000, interval: 500 }).toBe(200);
});
