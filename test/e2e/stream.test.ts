import { describe, expect, test, vi } from 'vitest';
import {
  accountOf,
  byAccount,
  byHash,
  send,
  streamingWorld,
  tracesIn,
  untilEvents,
  untilListed,
  untilSubscribed,
  watch,
} from '../support/streaming-world.ts';
import { ANY_WORLD, World } from './world.ts';

describe.each(['memory alone', 'memory and Redis'] as const)('with %s', (tiers) => {
  test('a polled account without traces is requested every 2 s instead of every 250 ms', async () => {
    await using world = await streamingWorld({ tiers });
    const account = accountOf(world);
    await watch(world, account);
    const before = world.forwarded.length;
    for (let time = 0; time < 19; time++) {
      world.advance(100);
      expect((await world.ask(byAccount(account))).cache).toMatchObject({ hit: true });
    }
    expect(world.forwarded.length).toBe(before);
    world.advance(100);
    await world.ask(byAccount(account));
    expect(world.forwarded.length).toBe(before + 1);
  });

  test('a change is seen after its event, not at the end of the lifetime', async () => {
    await using world = await streamingWorld({ tiers });
    const account = accountOf(world);
    await watch(world, account);
    const trace = send(world);
    world.advanceTo(trace.emulatedAt);
    await untilListed(world, byAccount(account), [trace.id]);
    expect(world.now).toBe(trace.emulatedAt);
  });
});

test('an empty answer that was requested before an event, and came after it, is not kept', async () => {
  await using world = await streamingWorld();
  const account = accountOf(world);
  await watch(world, account);
  world.advance(2000);
  world.indexer.faults.inject({ kind: 'slow', chunkBytes: 2 ** 20, pauseMs: 300 }, { times: 1 });
  const asked = world.forwarded.length;
  const early = world.ask(byAccount(account));
  await vi.waitFor(() => expect(world.forwarded.length).toBe(asked + 1));
  const trace = send(world);
  world.advanceTo(trace.emulatedAt);
  await untilEvents(world, 1);
  expect(tracesIn(await early)).toEqual([]);
  expect(tracesIn(await world.ask(byAccount(account)))).toEqual([trace.id]);
});

test('the refresh after an event is sent after all waiting misses, including later ones', async () => {
  await using world = await streamingWorld({ proxy: { overrides: { upstream: { maxConcurrency: 1 } } } });
  const [polled = '', first = '', second = ''] = [0, 1, 2].map((place) => accountOf(world, place));
  await watch(world, polled);
  world.advance(100);
  const gate = world.indexer.hold();
  const asked = [world.ask(byAccount(first))];
  await gate.arrived(1);
  world.indexer.streaming.flood(polled, 1);
  await untilEvents(world, 1);
  asked.push(world.ask(byAccount(second)));
  await world.proxy.ask('/no/such/path');
  gate.release(1);
  await gate.arrived(2);
  expect(decodeURIComponent(world.forwarded.at(-1)?.target ?? '')).toContain(second);
  gate.release();
  await Promise.all(asked);
});

test('a trace that is polled by its hash is seen to be confirmed after the event', async () => {
  await using world = await streamingWorld({ chain: { messagesPerBlock: 0, delayedShare: 0, blockMs: 4000 } });
  const trace = send(world);
  const target = byHash(trace.externalHash);
  const confirmedAt = Math.min(...trace.transactions.map((transaction) => transaction.confirmedAt));
  world.advanceTo(trace.emulatedAt + 100);
  await world.ask(target);
  world.advance(1);
  await world.ask(target);
  await untilSubscribed(world, [trace.externalHash]);
  world.advanceTo(confirmedAt - 100);
  await world.untilFresh(target);
  world.advanceTo(confirmedAt);
  const truth = (await world.askIndexer(target)).text;
  await expect.poll(async () => (await world.ask(target)).text, { interval: 2 }).toBe(truth);
  expect(world.now).toBe(confirmedAt);
});

test('polling accounts with nothing pending costs at most a fifth of the requests that it costs without a stream', async () => {
  const count = async (streams: boolean) => {
    const chain = { messagesPerBlock: 0, delayedShare: 0 };
    await using world = streams ? await streamingWorld() : await World.start({ ...ANY_WORLD, chain });
    const accounts = [0, 1, 2, 3, 4].map((place) => accountOf(world, place));
    if (streams) for (const account of accounts) await watch(world, account);
    const before = world.forwarded.length;
    for (let step = 0; step < 100; step++, world.advance(100)) {
      for (const account of accounts) await world.ask(byAccount(account));
    }
    return world.forwarded.length - before;
  };
  const [without, withStream] = [await count(false), await count(true)];
  expect(without).toBeGreaterThan(150);
  expect(withStream).toBeLessThanOrEqual(without / 5);
});

test('a busy account that is polled under 30 keys is refreshed at most once per poll of a key, not per event', async () => {
  await using world = await streamingWorld();
  const account = accountOf(world);
  const keys = Array.from({ length: 30 }, (_, n) => `${byAccount(account)}&supported_action_types=type_${n}`);
  await watch(world, account);
  for (let poll = 0; poll < 2; poll++, world.advance(1)) for (const key of keys) await world.ask(key);
  await untilSubscribed(world, [account]);
  const before = world.forwarded.length;
  for (let event = 1; event <= 5; event++) {
    world.advance(1000);
    world.indexer.streaming.flood(account, 1);
    await untilEvents(world, event);
  }
  expect(world.forwarded.length - before).toBe(keys.length + 1);
});

/** Redis counts in real time: it keeps stale entries long enough to be read on a busy machine. */
const KEPT_IN_REDIS = {
  rows: { empty: { lifetime: 250, staleWhileRevalidate: 0, staleIfError: 60_000 } },
};

test('entries in Redis live as long as without a stream, because other instances do not know of the watch', async () => {
  await using world = await streamingWorld({ tiers: 'memory and Redis', proxy: { overrides: KEPT_IN_REDIS } });
  const other = await world.addProxy({ overrides: KEPT_IN_REDIS });
  const account = accountOf(world);
  await watch(world, account);
  await world.proxy.untilRedisHasAll();
  const before = world.forwarded.length;
  expect((await world.ask(byAccount(account), {}, other)).cache).toMatchObject({ hit: true, detail: 'redis' });
  world.advance(300);
  expect((await world.ask(byAccount(account))).cache).toMatchObject({ hit: true, detail: 'memory' });
  expect(world.forwarded.length).toBe(before);
  expect((await world.ask(byAccount(account), {}, other)).cache).toMatchObject({ fwd: 'stale' });
  expect(world.forwarded.length).toBe(before + 1);
});

test('an entry from before an event is not taken from Redis after it', async () => {
  await using world = await streamingWorld({ tiers: 'memory and Redis', proxy: { overrides: KEPT_IN_REDIS } });
  const other = await world.addProxy({ overrides: KEPT_IN_REDIS });
  const account = accountOf(world);
  await watch(world, account);
  const trace = send(world);
  world.advanceTo(trace.emulatedAt - 1);
  // This one stores an entry in Redis that is still fresh when the event comes.
  await world.ask(byAccount(account), {}, other);
  await world.proxy.untilRedisHasAll();
  world.advanceTo(trace.emulatedAt);
  await untilListed(world, byAccount(account), [trace.id]);
  expect(world.now).toBe(trace.emulatedAt);
});

test('the metrics and the log show the events of the stream', async () => {
  await using world = await streamingWorld();
  const account = accountOf(world);
  await watch(world, account);
  const trace = send(world);
  world.advanceTo(trace.emulatedAt);
  await untilListed(world, byAccount(account), [trace.id]);
  expect(await world.proxy.metric('toncache_stream_watched_keys')).toBe(1);
  expect(await world.proxy.metric('toncache_stream_subscribed_addresses')).toBeGreaterThanOrEqual(1);
  expect(await world.proxy.metric('toncache_stream_events_total')).toBe(1);
  expect(world.proxy.log.map(({ msg }) => msg)).toContain('connected to the stream');
});

test('without STREAM_URL there are no metrics of the stream, and toncache does not connect to it', async () => {
  await using world = await World.start(ANY_WORLD);
  expect((await world.proxy.askAdmin('/metrics')).text).not.toContain('toncache_stream');
  expect(world.indexer.streaming.connections).toBe(0);
});

test('STREAM_API_KEY is sent to the stream in a header', async () => {
  await using world = await World.start(ANY_WORLD);
  world.indexer.streaming.faults.apiKey = 'secret';
  const proxy = await world.addProxy({ streams: true, env: { STREAM_API_KEY: 'secret' } });
  await expect.poll(() => proxy.metric('toncache_stream_connected')).toBe(1);
});
