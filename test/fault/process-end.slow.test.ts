import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { startIndexer } from '../../src/simulator/indexer.ts';
import { ask, exchange, send } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

const TARGET = '/api/v3/masterchainBlockShards?seqno=2147483647';

it('with default settings, a process ends within 10 s of the signal, whatever clients and indexer do', async () => {
  const indexer = await startIndexer();
  await using started = await ProxyProcess.start({ UPSTREAM_URL: indexer.url, UPSTREAM_TIMEOUT: '5min' });
  const { hostname, port } = new URL(started.url);
  const gate = indexer.hold();
  const silent = connect(Number(port), hostname).on('error', () => {});
  const half = connect(Number(port), hostname).on('error', () => {});
  half.write(`GET ${TARGET} HTTP/1.1\r\nHost:`);
  const inFlight = exchange(started.url, `GET ${TARGET} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const follower = send(started.url, TARGET);
  await gate.arrived(1);
  await ask(started.url, '/no/such/path');
  const signalledAt = performance.now();
  started.signal('SIGTERM');
  expect(await inFlight).toMatch(/^HTTP\/1\.1 503 (?:.|\s)*connection: close/i);
  expect((await follower.answer).status).toBe(503);
  expect(await started.ended).toEqual({ code: 0, signal: null });
  // The figure of the requirement itself: what kills the process after it has no patience either.
  expect(performance.now() - signalledAt).toBeLessThan(10_000);
  for (const socket of [silent, half]) socket.destroy();
  await indexer.close();
});
