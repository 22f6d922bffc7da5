import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { nothingPending } from '../e2e/questions.ts';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

/** What Node gives a process in the documented container of 706 MiB: half of it for the old generation. */
const NODE_OPTIONS = '--max-old-space-size=353 --max-semi-space-size=16';

/** So many connections, each with 2 requests for one key whose heads hold 60 KB in 90 fields. */
const CONNECTIONS = 3000;
const fields = Array.from({ length: 90 }, (_, index) => `X-${index}: ${'x'.repeat(660)}\r\n`).join('');
const pipelined = Buffer.from(
  `GET /api/v3/masterchainBlockShards?seqno=77 HTTP/1.1\r\nHost: x\r\n${fields}\r\n`.repeat(2),
);

it('clients whose waiting requests fill the heap get 503, the process lives, and serves misses afterwards', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'toncache-memory-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'settings.json');
  await writeFile(file, JSON.stringify({ http: { maxWaiting: 100_000, fastLane: false, maxHeaderSize: '64KiB' } }));
  const indexer = await startIndexer();
  onTestFinished(() => indexer.close());
  await using proxy = await ProxyProcess.start({ UPSTREAM_URL: indexer.url, CONFIG_FILE: file, NODE_OPTIONS });
  const gate = indexer.hold();
  let unavailable = 0;
  let isAlive = true;
  void proxy.ended.then(() => {
    isAlive = false;
  });
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(Number(new URL(proxy.url).port), '127.0.0.1'));
  for (const socket of sockets) {
    socket.on('error', () => {}).setEncoding('latin1');
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
