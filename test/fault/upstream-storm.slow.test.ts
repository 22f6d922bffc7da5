import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Fault, failed, garbage, rateLimited, redirect, refusedKey } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { send } from '../support/http-client.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const STORM_MS = 20_000;
const CLIENTS = 40;
const MAX_CONCURRENCY = 4;
const DEADLINE_MS = 1000;
const EXPECTED = [200, 404, 500, 502, 503, 504];

const FAULTS: readonly Fault[] = [
  failed(500),
  failed(503, 'text'),
  rateLimited('json', '1'),
  refusedKey(401),
  garbage('html'),
  redirect('http://127.0.0.1:1/'),
  { kind: 'hang' },
  { kind: 'reset' },
  { kind: 'cut', framing: 'content-length' },
  { kind: 'cut', framing: 'chunked' },
  { kind: 'huge', bytes: 2 * 1024 * 1024 },
  { kind: 'slow', chunkBytes: 200, pauseMs: 20 },
];

/** What one client sees until the end of the storm; some of its requests it leaves. */
async function client(proxy: RunningProxy, indexer: Indexer, random: SeededRandom, endsAt: number) {
  const seen: { status: number; tookMs: number }[] = [];
  while (performance.now() < endsAt) {
    const seqno = indexer.chain.headSeqno - random.int(0, 20);
    const askedAt = performance.now();
    const sent = send(proxy.url, `/api/v3/masterchainBlockShards?seqno=${seqno}&offset=${random.int(0, 3)}`);
    if (random.int(0, 9) === 0) setTimeout(() => sent.leave(), random.int(0, 100));
    await sent.answer.then(
      ({ status }) => void seen.push({ status, tookMs: performance.now() - askedAt }),
      () => {},
    );
    // As wallets do: a failure is tried again in a moment.
    await delay(random.int(5, 50));
  }
  return seen;
}

it('in a storm of faults no client waits past its deadline and the limit holds, and afterwards all recovers by itself', async () => {
  const indexer = await startIndexer();
  await using proxy = await startProxy({
    upstreamUrl: indexer.url,
    env: { UPSTREAM_TIMEOUT: `${DEADLINE_MS}ms`, UPSTREAM_MAX_CONCURRENCY: String(MAX_CONCURRENCY) },
    overrides: { upstream: { maxBodySize: 1024 * 1024 }, admission: { maxQueue: 20 } },
    random: Math.random,
  });
  const endsAt = performance.now() + STORM_MS;
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    client(proxy, indexer, new SeededRandom('storm', number), endsAt),
  );
  const weather = new SeededRandom('weather');
  let mostInFlight = 0;
  let mostQueued = 0;
  while (performance.now() < endsAt) {
    const fault = indexer.faults.inject(weather.pick(FAULTS), { times: weather.int(1, 10) });
    indexer.faults.latencyMs = weather.int(0, 30);
    await delay(weather.int(20, 200));
    fault.remove();
    mostInFlight = Math.max(mostInFlight, await proxy.metric('toncache_upstream_in_flight'));
    mostQueued = Math.max(mostQueued, await proxy.metric('toncache_upstream_queued'));
  }
  const seen = (await Promise.all(clients)).flat();
  indexer.faults.clear();
  indexer.faults.latencyMs = 0;

  expect(seen.length).toBeGreaterThan(CLIENTS);
  expect(seen.filter(({ status }) => !EXPECTED.includes(status))).toEqual([]);
  expect(Math.max(...seen.map(({ tookMs }) => tookMs))).toBeLessThan(10 * DEADLINE_MS);
  expect(seen.some(({ status }) => status === 200)).toBe(true);
  expect(mostInFlight).toBeLessThanOrEqual(MAX_CONCURRENCY);
  expect(mostQueued).toBeLessThanOrEqual(20);
  // A query that was given up still counts for the moment in which its connection ends.
  expect(indexer.requests.maxInHand).toBeLessThanOrEqual(2 * MAX_CONCURRENCY);
  expect(proxy.log.filter(({ msg }) => msg.includes('should not happen'))).toEqual([]);

  await expect.poll(() => proxy.metric('toncache_upstream_in_flight')).toBe(0);
  await expect.poll(() => indexer.requests.inHand).toBe(0);
  const statusOf = async (seqno: number) => (await proxy.ask(`/api/v3/masterchainBlockShards?seqno=${seqno}`)).status;
  await expect.poll(() => statusOf(indexer.chain.headSeqno)).toBe(200);
  for (let back = 21; back < 40; back++) expect(await statusOf(indexer.chain.headSeqno - back)).toBe(200);
  await indexer.close();
});
