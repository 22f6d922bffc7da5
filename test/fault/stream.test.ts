import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { World } from '../e2e/world.ts';
import {
  accountOf,
  byAccount,
  send,
  streamingWorld,
  tracesIn,
  untilConnected,
  untilEvents,
  untilListed,
  watch,
} from '../support/streaming-world.ts';
import { pollThrough } from './poll-through.ts';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe('no answer is older than its window, and no request fails, while the stream', () => {
  test.each<[string, (step: number) => void]>([
    ['works', () => {}],
    [
      'goes away and comes back',
      (step) => {
        world.indexer.streaming.faults.refusesConnections = step > 20 && step < 60;
        if (step === 21) world.indexer.streaming.cut();
      },
    ],
    [
      'stalls, and then sends everything at once',
      (step) => {
        world.indexer.streaming.faults.stalled = step > 20 && step < 70;
      },
    ],
    [
      'loses half of the events, and sends others twice',
      () => {
        Object.assign(world.indexer.streaming.faults, { lostShare: 0.5, duplicatedShare: 0.5 });
      },
    ],
  ])('%s', async (_, meddle) => {
    world = await streamingWorld();
    await pollThrough(world, meddle);
    expect(await world.proxy.metric('toncache_request_failures_total')).toBe(0);
  });
});

test('empty answers lose their longer lifetime when the connection is lost', async () => {
  world = await streamingWorld();
  const account = accountOf(world);
  await watch(world, account);
  world.advance(1000);
  expect((await world.ask(byAccount(account))).cache).toMatchObject({ hit: true });
  world.indexer.streaming.faults.refusesConnections = true;
  world.indexer.streaming.cut();
  await untilConnected(world, 0);
  const before = world.forwarded.length;
  world.advance(10);
  await world.ask(byAccount(account));
  expect(world.forwarded.length).toBe(before + 1);
  world.advance(300);
  await world.ask(byAccount(account));
  expect(world.forwarded.length).toBe(before + 2);
  expect(world.proxy.log.filter(({ msg }) => msg.includes('no connection to the stream'))).toHaveLength(1);
});

test('after a cut the stream is connected again, and polled keys are watched', async () => {
  world = await streamingWorld();
  const account = accountOf(world);
  await watch(world, account);
  world.indexer.streaming.cut();
  await untilConnected(world, 0);
  await untilConnected(world);
  await watch(world, account);
  const trace = send(world);
  world.advanceTo(trace.emulatedAt);
  await untilListed(world, byAccount(account), [trace.id]);
  expect(world.now).toBe(trace.emulatedAt);
});

test('traces without an event are shown within 2 s, and counted', async () => {
  world = await streamingWorld();
  const accounts = [0, 1, 2].map((place) => accountOf(world, place));
  for (const account of accounts) await watch(world, account);
  for (const account of accounts) await world.ask(byAccount(account));
  world.indexer.streaming.faults.lostShare = 1;
  world.advance(1000);
  for (const account of accounts) expect((await world.ask(byAccount(account))).cache).toMatchObject({ hit: true });
  const traces = [0, 1, 2].map((place) => send(world, place));
  world.advance(1000);
  for (const [place, account] of accounts.entries()) {
    expect(tracesIn(await world.ask(byAccount(account)))).toEqual([traces[place]?.id]);
  }
  await expect.poll(() => world.proxy.metric('toncache_stream_missed_events_total')).toBe(3);
});

test('a flood of events causes no flood of requests to the indexer', async () => {
  world = await streamingWorld();
  const account = accountOf(world);
  await watch(world, account);
  const before = world.forwarded.length;
  world.advance(100);
  world.indexer.streaming.flood(account, 2000);
  await untilEvents(world, 2000);
  expect(tracesIn(await world.ask(byAccount(account)))).toEqual([]);
  // A refresh, and the load that the client waited for.
  expect(world.forwarded.length - before).toBeLessThanOrEqual(2);
});

test('invalid frames are ignored, and reported once', async () => {
  world = await streamingWorld();
  for (let time = 0; time < 3; time++) world.indexer.streaming.sayToAll('{"type":');
  await expect.poll(() => world.proxy.metric('toncache_stream_invalid_messages_total')).toBe(3);
  expect(world.proxy.log.filter(({ msg }) => msg.includes('cannot be read'))).toHaveLength(1);
  await watch(world, accountOf(world));
});

/** The messages of an operation that the stream's server received. */
const messages = (operation: string) =>
  world.indexer.streaming.messages.filter((text) => JSON.parse(text).operation === operation);

/** Starts polls of `count` accounts, one every 10 ms. */
async function pollNew(count: number): Promise<void> {
  for (let place = 0; place < count; place++) {
    const target = byAccount(accountOf(world, place));
    await Promise.all([world.ask(target), world.ask(target), sleep(10)]);
  }
}

test('no other subscription is sent while one is unanswered', async () => {
  world = await streamingWorld();
  world.indexer.streaming.faults.answersSubscriptions = false;
  await pollNew(50);
  expect(messages('subscribe')).toHaveLength(1);
});

test('a refused subscription is not sent again immediately, whatever is polled', async () => {
  world = await streamingWorld();
  world.indexer.streaming.faults.refusedTypes.add('actions');
  await pollNew(50);
  expect(messages('subscribe')).toHaveLength(1);
});

test('a server that answers and then closes is reconnected to at growing intervals', async () => {
  world = await streamingWorld();
  const startedAt = performance.now();
  const cuts = setInterval(() => world.indexer.streaming.cut(), 20);
  await expect.poll(() => messages('ping').length).toBe(4);
  clearInterval(cuts);
  // Waits of 250, 500 and 1000 ms, each shortened by up to half.
  expect(performance.now() - startedAt).toBeGreaterThan(875);
});

test('errors of the server are counted, and one is logged', async () => {
  world = await streamingWorld();
  for (let n = 0; n < 500; n++) world.indexer.streaming.sayToAll(JSON.stringify({ error: `error ${n}` }));
  await expect.poll(() => world.proxy.metric('toncache_stream_errors_total')).toBe(500);
  expect(world.proxy.log.filter(({ msg }) => msg.includes('refused'))).toHaveLength(1);
});
