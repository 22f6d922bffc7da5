import { describe, expect, it, onTestFinished } from 'vitest';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { failed } from '../../src/tools/simulator/faults.ts';
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
  await expect.poll(told).toMatch(/^FAILING: nothing can be answered\. .*ECONNREFUSED/);
  const indexer = await startIndexer({ port: ports[0] ?? 0 });
  onTestFinished(() => indexer.close());
  await expect.poll(told).not.toMatch(/^FAILING/);
  // All of them were head polls.
  expect(indexer.requests.count('masterchainInfo')).toBeGreaterThan(0);
  expect(indexer.requests.count('adjacentTransactions')).toBe(0);
});

it('a head poll that failed is sent again while responses show the newest block: then the page is as usual', async () => {
  let passedMs = 0;
  const now = () => Date.now() + passedMs;
  const indexer = await startIndexer({ port: 0, chain: new Chain({ startAt: Date.now() - 60_000 }), now });
  onTestFinished(() => indexer.close());
  const clocks = { now, wall: now, monotonic: () => performance.now() + passedMs };
  const overrides = { breaker: { minimumThroughput: 2, openDuration: 20_000 } };
  await using proxy = await startProxy({ upstreamUrl: indexer.url, overrides, ...clocks });
  const polls = () => indexer.requests.count('masterchainInfo');
  // Each response shows the newest block, so requests poll the head once, at first.
  const told = async () => {
    passedMs += 2000;
    await proxy.ask(`/api/v3/masterchainBlockShards?seqno=${indexer.chain.clock.seqnoBy(now())}`);
    return JSON.parse((await proxy.askAdmin('/status.json')).text).conditions.map(({ name }: { name: string }) => name);
  };
  await expect.poll(() => told().then(polls)).toBe(1);
  const broken = (['masterchainInfo', 'adjacentTransactions'] as const).map((operation) =>
    indexer.faults.inject(failed(502), { operation }),
  );
  for (let time = 0; time < 4; time++) await proxy.ask(unknownTransaction());
  // An open circuit breaker is a reason for a poll.
  await expect.poll(told).toContain('silent');
  for (const fault of broken) fault.remove();
  await expect.poll(async () => (await proxy.ask(unknownTransaction())).status + (await told()).join()).toBe('404');
});

describe('after an outage that opened all circuit breakers', () => {
  const OPEN_FOR_AN_HOUR = { breaker: { minimumThroughput: 2, openDuration: 3_600_000 } };

  /** A proxy whose indexer is away, and that has found out; `passedMs` of its time pass with each look. */
  async function start(count: number) {
    const ports = await Promise.all(Array.from({ length: count }, freePort));
    const upstreamUrl = ports.map((port) => `http://127.0.0.1:${port}`).join();
    let now = 0;
    const env = { PASSTHROUGH: 'on' };
    const proxy = await startProxy({ upstreamUrl, env, overrides: OPEN_FOR_AN_HOUR, monotonic: () => now });
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const look = async (ms: number) => {
      now += ms;
      return JSON.parse((await proxy.askAdmin('/status.json')).text);
    };
    const breakers = async (state: 'Open' | 'HalfOpen') => Number(await proxy.metric(`breakers${state}`));
    for (let time = 0; time < 4 * count; time++) await proxy.ask(unknownTransaction());
    const all = await breakers('Open');
    expect(all).toBe(3 * count);
    await look(1000);
    await look(120_000);
    const repair = async () => {
      const indexers = await Promise.all(ports.map((port) => startIndexer({ port })));
      for (const indexer of indexers) onTestFinished(() => indexer.close());
      return indexers;
    };
    return { proxy, look, breakers, all, repair };
  }

  it.each([1, 2])('a head poll makes them half-open without a request, and the page is as usual: %i', async (count) => {
    const { look, breakers, all, repair } = await start(count);
    expect((await look(1000)).level).not.toBe('OK');
    const indexers = await repair();
    await expect.poll(async () => [(await look(5000)).level, await breakers('HalfOpen')]).toEqual(['OK', all]);
    expect(await breakers('Open')).toBe(0);
    for (const { requests } of indexers) expect(requests.count('adjacentTransactions')).toBe(0);
  });

  it('so does a passed-through request, and the first miss closes its own', async () => {
    const { proxy, breakers, all, repair } = await start(1);
    await repair();
    await proxy.ask('/api/v3/nft/items');
    await expect.poll(() => breakers('HalfOpen')).toBe(all);
    const explained = JSON.parse(
      (await proxy.askAdmin(`/explain?target=${encodeURIComponent(unknownTransaction())}`)).text,
    );
    expect(explained.indexers).toMatchObject([{ isTrial: true }]);
    expect((await proxy.ask(unknownTransaction())).status).toBe(404);
    expect([await breakers('HalfOpen'), await breakers('Open')]).toEqual([all - 1, 0]);
  });
});
