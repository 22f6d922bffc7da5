import { expect, it } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { freePort } from '../support/free-port.ts';
import { exchange } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { targetOf } from './questions.ts';

/** By chance all of this many connections reach one of two processes once in 2 ** 39 runs. */
const CONNECTIONS = 40;

it('two processes with REUSE_PORT=on share a port, and when one ends, the other serves all requests', async () => {
  const indexer = await startIndexer();
  const port = String(await freePort());
  const settings = { UPSTREAM_URL: indexer.url, PORT: port, REUSE_PORT: 'on' };
  await using first = await ProxyProcess.start(settings);
  await using second = await ProxyProcess.start(settings);
  const target = targetOf('masterchainBlockShards', { seqno: indexer.chain.headSeqno - 5 });
  const get = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  for (let i = 0; i < CONNECTIONS; i++) expect(await exchange(first.url, get)).toMatch(/^HTTP\/1\.1 200 /);
  const counts = await Promise.all([first, second].map((process) => process.metric('requests')));
  expect(Math.min(...counts)).toBeGreaterThan(0);
  expect(counts.reduce((sum, count) => sum + count)).toBe(CONNECTIONS);

  first.signal('SIGTERM');
  await first.ended;
  for (let i = 0; i < CONNECTIONS; i++) expect(await exchange(second.url, get)).toMatch(/^HTTP\/1\.1 200 /);
  await indexer.close();
});

it('a process without REUSE_PORT exits with an error if another one has its port', async () => {
  const indexer = await startIndexer();
  await using first = await ProxyProcess.start({ UPSTREAM_URL: indexer.url });
  const second = new ProxyProcess({ UPSTREAM_URL: indexer.url, PORT: new URL(first.url).port });
  expect((await second.ended).code).toBe(1);
  await indexer.close();
});
