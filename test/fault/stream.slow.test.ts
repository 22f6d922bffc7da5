import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { World } from '../e2e/world.ts';
import { accountOf, byAccount, streamingWorld } from '../support/streaming-world.ts';
import { pollThrough } from './poll-through.ts';

// The rarer faults of a stream; stream.test.ts has the usual ones.

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe('no answer is older than its window, and no request fails, while the stream', () => {
  test.each<[string, (step: number) => void]>([
    ['is cut again and again', (step) => step % 10 === 0 && world.indexer.streaming.cut()],
    [
      'loses every event',
      () => {
        world.indexer.streaming.faults.lostShare = 1;
      },
    ],
    ['floods', () => world.indexer.streaming.flood(accountOf(world), 50)],
    [
      'never classifies',
      () => {
        world.indexer.streaming.faults.classifierDelayMs = undefined;
      },
    ],
    [
      'refuses a type',
      () => {
        world.indexer.streaming.faults.refusedTypes.add('actions');
      },
    ],
    [
      'allows only one address',
      () => {
        world.indexer.streaming.faults.maxAddresses = 1;
      },
    ],
    [
      'sends no event about traces that vanish',
      (step) => {
        for (const { externalHash } of step % 10 === 0 ? world.indexer.chain.pendingTraces() : []) {
          world.indexer.chain.vanish(externalHash);
        }
      },
    ],
  ])('%s', async (_, meddle) => {
    world = await streamingWorld();
    await pollThrough(world, meddle);
    expect(await world.proxy.metric('toncache_request_failures_total')).toBe(0);
  });
});

test('no answer is older than its window while neither Redis nor the stream can be reached', async () => {
  world = await streamingWorld({
    proxy: { env: { REDIS_URL: 'redis://127.0.0.1:1' }, overrides: { redis: { connectTimeout: 100, budget: 50 } } },
  });
  world.indexer.streaming.faults.refusesConnections = true;
  world.indexer.streaming.cut();
  await pollThrough(world, () => {});
});

test('the messages for a thousand polled accounts are at most 80 KB a second', async () => {
  world = await streamingWorld();
  const { streaming } = world.indexer;
  const target = (n: number) => byAccount(`0:${n.toString(16).padStart(64, '0')}`);
  const poll = async (n: number) => {
    await world.ask(target(n));
    await world.ask(target(n));
  };
  for (let n = 0; n < 900; n += 50) await Promise.all(Array.from({ length: 50 }, (_, more) => poll(n + more)));
  await vi.waitFor(() => expect(streaming.subscribed.size).toBe(900), { timeout: 20_000 });
  const [startedAt, before] = [performance.now(), streaming.messages.length];
  for (let n = 900; n < 1000; n++) await Promise.all([poll(n), sleep(30)]);
  const bytes = streaming.messages.slice(before).reduce((sum, text) => sum + text.length, 0);
  // Plus the message that was due at the start.
  expect(bytes).toBeLessThan(80 * (performance.now() - startedAt) + 80_000);
});
