import os from 'node:os';
import { describe, expect, it, vi } from 'vitest';
import {
  childrenOfSettled,
  newestBlock,
  nothingPending,
  parentOfSettled,
  unknownTransaction,
} from '../e2e/questions.ts';
import { startEndingWorld } from './faulty-world.ts';
import { expectRefused, NEVER, refusedOf, times } from './refused-requests.ts';

/** Clients that give up soon. */
const IMPATIENT = { patience: 100 };

describe('an indexer that hangs', () => {
  it('leaves no request waiting for a slot: waiting ones get 503 with Retry-After', async () => {
    await using world = await startEndingWorld({
      ...NEVER,
      overrides: { upstream: { maxConcurrency: 2 }, admission: { ...IMPATIENT, maxQueue: 30 } },
    });
    world.indexer.faults.inject({ kind: 'hang' });
    const stuck = await Promise.all([1, 2].map(() => world.proxy.sendIn(unknownTransaction())));
    await world.indexer.requests.arrived(2);
    for (const answered of await Promise.all(Array.from({ length: 50 }, () => world.ask(unknownTransaction())))) {
      expectRefused(answered);
    }
    // The queue has room for thirty; while nothing starts for as long as they wait, later requests are refused
    // immediately.
    const [waited, full, refused] = [
      await refusedOf(world, 'waited-too-long'),
      await refusedOf(world, 'queue-full'),
      await refusedOf(world, 'expected-wait'),
    ];
    expect(waited).toBeGreaterThan(0);
    expect(waited + full + refused).toBe(50);
    expect(world.forwarded).toHaveLength(2);
    for (const { leave } of stuck) leave();
  });
});

describe('a refresh', () => {
  it('is dropped while no slot is free, and the client that needs it then begins a miss', async () => {
    const rows = { shardsFinal: times(1000, 1000, 0) };
    await using world = await startEndingWorld({ ...NEVER, overrides: { rows, upstream: { maxConcurrency: 1 } } });
    const refreshed = newestBlock(world);
    await world.ask(refreshed);
    world.advance(1500);
    const gate = world.indexer.hold();
    const holder = await world.proxy.sendIn(unknownTransaction());
    await gate.arrived(1);
    expect(await world.ask(refreshed)).toMatchObject({ status: 200, cache: { hit: true } });
    await world.proxy.untilQueued(0);
    // The copy is too old to be served from now on.
    world.advance(600);
    const missed = await world.proxy.sendIn(refreshed);
    await world.proxy.untilQueued(1);
    gate.release();
    expect([(await holder.answer).status, (await missed.answer).status]).toEqual([404, 200]);
    expect(await refusedOf(world, 'no-free-slot')).toBe(0);
  });
});

describe('shares', () => {
  it('let the requests of one operation start before those of another that floods the queue', async () => {
    await using world = await startEndingWorld({ ...NEVER, overrides: { upstream: { maxConcurrency: 10 } } });
    const gate = world.indexer.hold();
    const flood = await Promise.all(Array.from({ length: 40 }, () => world.proxy.sendIn(unknownTransaction())));
    await gate.arrived(10);
    const others = [
      ...(await Promise.all(Array.from({ length: 4 }, () => world.proxy.sendIn(nothingPending())))),
      await world.proxy.sendIn(newestBlock(world)),
    ];
    await world.proxy.untilQueued(35);
    gate.release(5);
    await gate.arrived(15);
    expect(world.indexer.requests.count('pendingTraces')).toBe(4);
    expect(world.indexer.requests.count('masterchainBlockShards')).toBe(1);
    gate.release();
    for (const { answer } of others) expect((await answer).status).toBe(200);
    for (const { answer } of flood) expect((await answer).status).toBe(404);
    expect(world.indexer.requests.maxInHand).toBe(10);
  });
});

describe('a process that is nearly out of memory', () => {
  it('refuses all misses and followers and sends nothing, serves hits, and answers its health check', async () => {
    const limitBytes = 64 * 1024 ** 3;
    vi.spyOn(process, 'constrainedMemory').mockReturnValue(limitBytes);
    vi.spyOn(os, 'totalmem').mockReturnValue(2 * limitBytes);
    const adjacentGrowing = { ...times(1000, 0, 0), minLifetime: 1000, maxLifetime: 1000, ageDivisor: 10 };
    const rows = { adjacentFinal: times(1000, 0, 60_000), adjacentGrowing };
    await using world = await startEndingWorld({
      stopsTime: true,
      overrides: { rows, admission: { maxMemoryShare: 0.9 } },
    });
    const [fresh, stale, tooOld] = [newestBlock(world), parentOfSettled(world), childrenOfSettled(world)];
    // The first is evicted to make room.
    for (const target of [nothingPending(), fresh, stale, tooOld]) expect((await world.ask(target)).status).toBe(200);
    const followed = unknownTransaction();
    const gate = world.indexer.hold();
    const leader = await world.proxy.sendIn(followed);
    await gate.arrived(1);
    vi.spyOn(process.memoryUsage, 'rss').mockReturnValue(0.95 * limitBytes);
    world.advance(30_000);
    const before = world.forwarded.length;

    for (let time = 0; time < 3; time++) {
      expect(await world.ask(fresh)).toMatchObject({ status: 200, cache: { hit: true, detail: 'memory' } });
      expect(await world.ask(stale)).toMatchObject({ status: 200, cache: { hit: true, ttl: -29 } });
      expectRefused(await world.ask(tooOld));
      for (const target of [followed, unknownTransaction(), nothingPending()]) {
        const refused = await world.ask(target);
        expectRefused(refused);
        expect(refused.cache).toEqual({ detail: 'overloaded' });
      }
      expect((await world.proxy.askAdmin('/healthz')).status).toBe(200);
      expect((await world.proxy.askAdmin('/readyz')).status).toBe(200);
    }
    expect(world.forwarded).toHaveLength(before);
    expect(await refusedOf(world, 'memory')).toBe(15);
    gate.release();
    expect((await leader.answer).status).toBe(404);
  });
});
