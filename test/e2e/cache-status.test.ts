import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestBlock, parentOfSettled, pendingTrace, unknownTransaction } from './questions.ts';
import { ANY_WORLD, WORLDS, World } from './world.ts';

const HOUR_MS = 3_600_000;

let world: World;

describe.each(WORLDS)('Cache-Status in front of indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('shows a miss that was stored, then a hit with its tier and remaining lifetime', async () => {
    const target = parentOfSettled(world);
    expect((await world.ask(target)).cache).toEqual({ fwd: 'miss', 'fwd-status': 200, stored: true });
    expect((await world.ask(target)).cache).toEqual({ hit: true, ttl: 3_600, detail: 'memory' });
    world.advance(10_500);
    expect((await world.ask(target)).cache).toEqual({ hit: true, ttl: 3_589, detail: 'memory' });
  });

  it('shows the status of the indexer for an absence', async () => {
    const target = unknownTransaction();
    expect((await world.ask(target)).cache).toEqual({ fwd: 'miss', 'fwd-status': 404, stored: true });
    expect((await world.ask(target)).cache).toEqual({ hit: true, ttl: 0, detail: 'memory' });
  });

  it('shows a stale hit by a negative ttl, and the next answer as fresh', async () => {
    const target = parentOfSettled(world);
    await world.ask(target);
    await world.leap(HOUR_MS + 5_000);
    const { cache } = await world.ask(target);
    expect(cache).toEqual({ hit: true, ttl: -5, detail: expect.stringMatching(/^(memory|redis)$/) });
    expect((await world.untilFresh(target)).cache).toMatchObject({ ttl: 3_600 });
  });

  it('shows fwd=stale when a request goes to the indexer while a stale answer is cached', async () => {
    const target = pendingTrace(world);
    await world.ask(target);
    world.advance(900);
    expect((await world.ask(target)).cache).toEqual({ fwd: 'stale', 'fwd-status': 200, stored: true });
  });
});

describe('Cache-Status', () => {
  beforeEach(async () => {
    // Of 1 MiB a single answer may take 64 KiB.
    world = await World.start({ ...ANY_WORLD, proxy: { env: { MEMORY_MAX_SIZE: '1MiB' } } });
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('is also on answers that needed no lookup, without hit, fwd and stored', async () => {
    const replies = [
      await world.ask('/api/v3/unheardOf'),
      await world.ask('/healthz'),
      await world.ask('/api/v3/pendingTraces'),
      await world.ask('/api/v3/pendingTraces', { method: 'POST' }),
      await world.ask('/api/v3/pendingTraces', { method: 'OPTIONS' }),
    ];
    for (const { cache } of replies) {
      for (const parameter of ['hit', 'fwd', 'fwd-status', 'stored']) expect(cache).not.toHaveProperty(parameter);
    }
  });

  it('has the reason why an answer was not stored', async () => {
    const target = newestBlock(world);
    world.indexer.faults.inject({ kind: 'huge', bytes: 100_000 });
    for (let time = 1; time <= 2; time++) {
      const { status, cache } = await world.ask(target);
      expect(status).toBe(200);
      expect(cache).toEqual({ fwd: 'miss', 'fwd-status': 200, detail: expect.stringMatching(/large/) });
      expect(world.forwarded).toHaveLength(time);
    }
  });
});
