import { expect, it, onTestFinished } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { freePort } from '../support/free-port.ts';
import { startProxy } from '../support/start-proxy.ts';
import { unknownTransaction } from './questions.ts';

it.each([
  ['one indexer', 1],
  ['two indexers, one of which comes', 2],
])('an instance without requests finds that its indexer is back, and is no longer FAILING: %s', async (_, count) => {
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const upstreamUrl = ports.map((port) => `http://127.0.0.1:${port}`).join();
  let passedMs = 0;
  await using proxy = await startProxy({ upstreamUrl, monotonic: () => performance.now() + passedMs });
  const told = async () => {
    passedMs += 5000;
    const { level, says } = JSON.parse((await proxy.askAdmin('/status.json')).text);
    return `${level}: ${says.replace(/^.*?: /, '')}`;
  };
  expect((await proxy.ask(unknownTransaction())).status).toBe(502);
  await expect.poll(told).toMatch(/^FAILING: no request can be answered: .*ECONNREFUSED/);
  const indexer = await startIndexer({ port: ports[0] ?? 0 });
  onTestFinished(() => indexer.close());
  await expect.poll(told, { timeout: 10_000 }).not.toMatch(/^FAILING/);
  // All of them were head polls.
  expect(indexer.requests.count('masterchainInfo')).toBeGreaterThan(0);
  expect(indexer.requests.count('adjacentTransactions')).toBe(0);
});
