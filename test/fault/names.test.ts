import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeResolver } from '../support/fake-resolver.ts';
import { someParent } from '../support/fleet.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { WebSocketClient } from '../support/stream-clients.ts';

const HERE = ['127.0.0.1'];

/** Longer than addresses are used without a look-up. */
const LONG_MS = 11_000;

let passedMs: number;
let resolver: FakeResolver;

beforeEach(() => {
  passedMs = 0;
  resolver = new FakeResolver({ 'a.test': HERE, 'b.test': HERE, 'redis.test': HERE });
});

/** An indexer that closes each connection, so that each request needs a new one. */
const startIndexer = () =>
  startScriptedUpstream(answeringJson(() => ({ ...children('a'), headers: ['Connection: close'] })));

const start = (upstreamUrl: string, env: Readonly<Record<string, string>> = {}) =>
  startProxy({
    upstreamUrl,
    env: { NETWORK: 'mainnet', ...env },
    askResolver: resolver.ask,
    monotonic: () => performance.now() + passedMs,
  });

const urlOf = (host: string, { port }: ScriptedUpstream) => `http://${host}:${port}`;

/** The statuses of ten misses, one after the other, with enough time between them for a look-up of each name. */
async function tenMisses(proxy: RunningProxy): Promise<number[]> {
  const statuses = [];
  for (let time = 0; time < 10; time++) {
    passedMs += LONG_MS;
    statuses.push((await proxy.ask(someParent())).status);
  }
  return statuses;
}

const ALL_ANSWERED = Array(10).fill(200);

describe('if the resolver does not answer for the name', () => {
  it.each(['after the first miss', 'from the start'])(
    'of one of two indexers (%s), the other one answers every miss',
    async (when) => {
      await using a = await startIndexer();
      await using b = await startIndexer();
      if (when === 'from the start') resolver.say('b.test', 'silent');
      await using proxy = await start(`${urlOf('a.test', a)},${urlOf('b.test', b)}`);
      await proxy.ask(someParent());
      resolver.say('b.test', 'silent');
      expect(await tenMisses(proxy)).toEqual(ALL_ANSWERED);
    },
  );

  it('of Redis, the indexer answers every miss, and the name is looked up once', async () => {
    await using a = await startIndexer();
    resolver.say('redis.test', 'silent');
    await using proxy = await start(urlOf('a.test', a), { REDIS_URL: 'redis://redis.test' });
    expect(await tenMisses(proxy)).toEqual(ALL_ANSWERED);
    expect(resolver.asked.filter((host) => host === 'redis.test')).toHaveLength(1);
  });

  it('of the server of streams, the indexer answers every miss', async () => {
    await using a = await startIndexer();
    resolver.say('b.test', 'silent');
    await using proxy = await start(urlOf('a.test', a), { PASSTHROUGH: 'on', STREAM_URL: 'ws://b.test:8085' });
    const opening = WebSocketClient.open(proxy.url);
    opening.catch(() => {});
    await expect.poll(() => resolver.asked).toContain('b.test');
    expect(await tenMisses(proxy)).toEqual(ALL_ANSWERED);
    expect(resolver.asked.filter((host) => host === 'b.test')).toHaveLength(1);
  });

  it('of the only indexer, its last good address is used', async () => {
    await using a = await startIndexer();
    await using proxy = await start(urlOf('a.test', a));
    await proxy.ask(someParent());
    resolver.say('a.test', 'silent');
    expect(await tenMisses(proxy)).toEqual(ALL_ANSWERED);
  });
});

describe('a name whose address changes while the connections to it are in use', () => {
  const answering = answeringJson(() => children('a'));
  const target = (operation: string) => `/api/v3/${operation}?hash=${encodeURIComponent(someParent())}`;

  afterEach(() => void vi.useRealTimers());

  it.each([
    ['of misses', () => someParent()],
    ['of passed-through requests', () => target('nftItems')],
  ])('is followed by all connections %s within 70 s', async (_, next) => {
    await using old = await startScriptedUpstream(answering);
    await using moved = await startScriptedUpstream(answering, '127.0.0.2', old.port);
    // Only the date is not the system's: undici measures the age of connections by it.
    vi.useFakeTimers({ toFake: ['Date'] });
    const startedAt = Date.now();
    await using proxy = await start(urlOf('a.test', old), { PASSTHROUGH: 'on' });
    const asked = () => [old.asked.length, moved.asked.length] as const;
    /** Uses several connections a second later. */
    const use = async () => {
      passedMs += 1000;
      vi.setSystemTime(startedAt + passedMs);
      const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await proxy.ask(next())).status));
      expect(statuses).toEqual(Array(8).fill(200));
    };
    await use();
    resolver.say('a.test', ['127.0.0.2']);
    for (let second = 0; second < 70; second++) await use();
    const [oldAt70, movedAt70] = asked();
    expect(movedAt70).toBeGreaterThan(0);
    for (let second = 0; second < 10; second++) await use();
    expect(asked()).toEqual([oldAt70, movedAt70 + 80]);
    await expect.poll(() => old.open).toBe(0);
  });
});

it('concurrent misses wait for one look-up', async () => {
  await using a = await startIndexer();
  await using proxy = await start(urlOf('a.test', a));
  const replies = await Promise.all(Array.from({ length: 60 }, () => proxy.ask(someParent())));
  expect(replies.map(({ status }) => status)).toEqual(Array(60).fill(200));
  expect(resolver.asked).toEqual(['a.test']);
});
