import { expect, it } from 'vitest';
import { type IndexerProcess, launchIndexer } from '../support/indexer-process.ts';
import { startProxy } from '../support/start-proxy.ts';

const COUNT = 3;
const HISTORY_MS = 60_000;

function startReplica(startAt: number, port = 0): Promise<IndexerProcess> {
  return launchIndexer({ chain: { startAt }, port, faults: { latencyMs: 5 } });
}

it('no request fails while three indexers are restarted one after the other', async () => {
  const startAt = Date.now() - HISTORY_MS;
  await using stack = new AsyncDisposableStack();
  const starting = Array.from({ length: COUNT }, () => startReplica(startAt));
  const replicas = await Promise.all(starting);
  for (const replica of replicas) stack.use(replica);
  const upstreamUrl = replicas.map(({ url }) => url).join();
  const proxy = stack.use(await startProxy({ upstreamUrl, random: Math.random }));

  let isOver = false;
  let asked = 0;
  const seqno = 62_000_000 + 10;
  const client = async () => {
    const said: number[] = [];
    while (!isOver) {
      const target = `/api/v3/masterchainBlockShards?seqno=${seqno + (asked % 100)}&limit=${100 + (asked++ % 900)}`;
      said.push((await proxy.ask(target)).status);
    }
    return said;
  };
  const clients = Array.from({ length: 5 }, client);
  for (const replica of replicas) {
    await replica[Symbol.asyncDispose]();
    stack.use(await startReplica(startAt, replica.port));
    const before = asked;
    while (asked < before + 50) await new Promise(setImmediate);
  }
  isOver = true;
  const said = (await Promise.all(clients)).flat();
  expect(said.length).toBeGreaterThan(150);
  expect([...new Set(said)]).toEqual([200]);
  for (const { port } of replicas) {
    const indexer = `127.0.0.1:${port}`;
    expect(await proxy.metric('upstreamRequests', { upstream: indexer, result: '200' })).toBeGreaterThan(0);
  }
});
