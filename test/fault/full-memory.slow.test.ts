import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

/** As many as the head of a request has room for: a key of 20 KB. */
const HASHES = 350;
const CLIENTS = 16;
/** Far more than it takes on a busy machine. */
const GUARD_MS = 280_000;

/** Sends so many requests with random hashes, and counts the answers by status. */
async function askWithRandomHashes(url: string, count: number): Promise<ReadonlyMap<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const statuses = new Map<number, number>();
  let left = count;
  const client = async () => {
    while (left-- > 0) {
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

async function start(heapMib: number, config: object = {}): Promise<ProxyProcess> {
  const upstream = createServer(
    { maxHeaderSize: 64 * 1024 },
    (_, response) => void response.end('{"traces":[]}'),
  ).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  onTestFinished(() => void upstream.close());
  const file = join(tmpdir(), `toncache-${process.pid}-${randomBytes(4).toString('hex')}.json`);
  await writeFile(file, JSON.stringify(config));
  const proxy = await ProxyProcess.start(
    {
      UPSTREAM_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
      MEMORY_MAX_SIZE: '512MiB',
      NODE_OPTIONS: `--max-old-space-size=${heapMib}`,
      CONFIG_FILE: file,
    },
    GUARD_MS,
  );
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

test('a process whose memory is full of expired entries answers misses again', async () => {
  const empty = { lifetime: '1s', staleIfError: '5s' };
  const proxy = await start(481, { lifetimes: { empty }, admission: { maxMemory: 0.2 } });
  const statuses = await askWithRandomHashes(proxy.url, 4000);
  expect(statuses.get(503)).toBeGreaterThan(0);
  const miss = () => ask(proxy.url, `/api/v3/pendingTraces?ext_msg_hash=${randomBytes(32).toString('base64url')}`);
  await expect.poll(async () => (await miss()).status, { timeout: 20_000, interval: 250 }).toBe(200);
  expect([...(await askWithRandomHashes(proxy.url, 100))]).toEqual([[200, 100]]);
});
