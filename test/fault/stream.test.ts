import { afterEach, describe, expect, test, vi } from 'vitest';
import type { World } from '../e2e/world.ts';
import {
  accountOf,
  byAccount,
  send,
  streamingWorld,
  tracesIn,
  untilConnected,
  untilListed,
  watch,
} from '../support/streaming-world.ts';
import { pollThrough } from './poll-through.ts';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe('answers stay within their windows, and none fails, while the stream', () => {
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
      'stalls, and then says all at once',
      (step) => {
        world.indexer.streaming.faults.stalled = step > 20 && step < 70;
      },
    ],
    [
      'loses half of the events, and sends others twice or late',
      () => {
        Object.assign(world.indexer.streaming.faults, { lostShare: 0.5, duplicatedShare: 0.5, reorderedShare: 0.3 });
      },
    ],
  ])('%s', async (_, meddle) => {
    world = await streamingWorld();
    await pollThrough(world, meddle);
    expect(await world.proxy.metric('toncache_request_failures_total')).toBe(0);
  });
});

test('a lost connection ends the longer life of what was stretched', async () => {
  world = await streamingWorld();
  const account = accountOf(world);
  await watch(world, account);
  world.advance(1000);
  expect((await world.ask(byAccount(account))).cache).toMatchObject({ hit: true });
  world.indexer.streaming.faults.refusesConnections = true;
  world.indexer.streaming.cut();
  await untilConnected(world, 0);
  const before = world.forwarded.length;
  await world.ask(byAccount(account));
  expect(world.forwarded.length).toBe(before + 1);
  expect(world.proxy.log.filter(({ msg }) => msg.includes('no connection to the stream'))).toHaveLength(1);
});

test('after a cut it is connected to again, and watches what is polled', async () => {
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

test('three changes without an event end stretching, and events are still heeded', async () => {
  world = await streamingWorld();
  const accounts = [0, 1, 2, 3].map((place) => accountOf(world, place));
  for (const account of accounts) await watch(world, account);
  for (const account of accounts) await world.ask(byAccount(account));
  world.indexer.streaming.faults.lostShare = 1;
  world.advance(1000);
  for (const account of accounts) expect((await world.ask(byAccount(account))).cache).toMatchObject({ hit: true });
  for (const place of [0, 1, 2]) send(world, place);
  // The stretched answers end while the traces are pending.
  world.advance(700);
  for (const account of accounts) await world.ask(byAccount(account));
  await vi.waitFor(async () => expect(await world.proxy.metric('toncache_stream_stretching')).toBe(0), {
    timeout: 20_000,
    interval: 10,
  });
  expect(await world.proxy.metric('toncache_stream_missed_events_total')).toBe(3);
  expect(world.proxy.log.filter(({ msg }) => msg.startsWith('the stream missed events'))).toHaveLength(1);
  const [, , , quiet = ''] = accounts;
  world.advance(300);
  expect((await world.ask(byAccount(quiet))).cache).not.toHaveProperty('hit');
  world.indexer.streaming.faults.lostShare = 0;
  const trace = send(world, 3);
  world.advanceTo(trace.emulatedAt);
  await untilListed(world, byAccount(quiet), [trace.id]);
  expect(world.now).toBe(trace.emulatedAt);
});

test('a flood of events is no flood of requests to the indexer', async () => {
  world = await streamingWorld();
  const account = accountOf(world);
  await watch(world, account);
  const before = world.forwarded.length;
  world.indexer.streaming.flood(account, 2000);
  await vi.waitFor(async () => expect(await world.proxy.metric('toncache_stream_events_total')).toBe(2000), {
    timeout: 20_000,
    interval: 5,
  });
  expect(tracesIn(await world.ask(byAccount(account)))).toEqual([]);
  // One for each 100 ms that the flood took, and at most as many again: a second of real time is generous.
  expect(world.forwarded.length - before).toBeLessThan(200);
});

test('frames that are none are ignored, and reported once', async () => {
  world = await streamingWorld();
  for (let time = 0; time < 3; time++) world.indexer.streaming.sayToAll('{"type":');
  await vi.waitFor(async () => expect(await world.proxy.metric('toncache_stream_bad_frames_total')).toBe(3), {
    timeout: 20_000,
    interval: 2,
  });
  expect(world.proxy.log.filter(({ msg }) => msg.includes('cannot be read'))).toHaveLength(1);
  await watch(world, accountOf(world));
});
