import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fault, rateLimited } from '../../src/tools/simulator/faults.ts';
import { newestBlock, nothingPending, parentOfSettled, unknownTransaction } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { answering, expectFailure, startFaultyWorld } from './faulty-world.ts';

let world: World;

beforeEach(async () => {
  world = await startFaultyWorld({ stopsTime: true });
});

afterEach(() => world[Symbol.asyncDispose]());

/** That a miss is shed without a request to the indexer, with this `Retry-After` in seconds. */
async function expectPaused(seconds: number): Promise<void> {
  const before = world.forwarded.length;
  for (const target of [unknownTransaction(), nothingPending()]) {
    const reply = await world.ask(target);
    expectFailure(reply, 503);
    expect(reply.cache).toEqual({ detail: 'overloaded' });
    expect(Number(reply.headers['retry-after'])).toBe(seconds);
  }
  expect(world.forwarded).toHaveLength(before);
}

async function expectResumed(): Promise<void> {
  const before = world.forwarded.length;
  expect((await world.ask(newestBlock(world))).status).toBe(200);
  expect((await world.ask(nothingPending())).status).toBe(200);
  expect(world.forwarded).toHaveLength(before + 2);
}

describe('429', () => {
  it.each<[string, Fault | ((now: number) => Fault), number]>([
    ['in JSON, without Retry-After', rateLimited('json'), 1],
    ['in JSON, with Retry-After', rateLimited('json', '3'), 3],
    ['in plain text, with Retry-After', rateLimited('text', '20'), 20],
    ['with a Retry-After that is none', rateLimited('json', 'soon'), 1],
    ['with an empty body', answering('', {}, 429), 1],
    ['with a date', (now) => rateLimited('text', new Date(now + 7000).toUTCString()), 7],
  ])('%s becomes 503 for its client, and for all other misses as long as it asks for', async (_, fault, seconds) => {
    world.indexer.faults.inject(typeof fault === 'function' ? fault(world.now) : fault, { times: 1 });
    const reply = await world.ask(newestBlock(world));
    expectFailure(reply, 503, 'upstream-rate-limited');
    expect(Number(reply.headers['retry-after'])).toBe(seconds);
    expect(reply.cache['fwd-status']).toBe(429);
    await expectPaused(seconds);
    world.advance(seconds * 1000 - 1);
    await expectPaused(1);
    world.advance(1);
    await expectResumed();
  });

  it('is reported once, in the log and by a metric, and so is the end of the pause', async () => {
    const paused = () => world.proxy.metric('toncache_upstream_paused');
    const pauseLines = () => world.proxy.log.filter(({ msg }) => msg.includes('pause'));
    expect(await paused()).toBe(0);
    world.indexer.faults.inject(rateLimited('json', '3'), { times: 2 });
    await world.ask(newestBlock(world));
    await expectPaused(3);
    expect([await paused(), pauseLines().length]).toEqual([1, 1]);
    world.advance(3000);
    await world.ask(newestBlock(world));
    expect([await paused(), pauseLines().length]).toEqual([1, 1]);
    world.advance(60_000);
    await expectResumed();
    expect([await paused(), pauseLines().length]).toEqual([0, 2]);
  });

  it('when several arrive at once, the longest pause counts', async () => {
    world.indexer.faults.inject(rateLimited('json', '9'), { times: 1 });
    world.indexer.faults.inject(rateLimited('json', '2'), { times: 1 });
    const gate = world.indexer.hold();
    const first = world.ask(newestBlock(world));
    await gate.arrived(1);
    const second = world.ask(unknownTransaction());
    await gate.arrived(2);
    gate.release();
    expect([(await first).status, (await second).status]).toEqual([503, 503]);
    world.advance(8999);
    await expectPaused(1);
    world.advance(1);
    await expectResumed();
  });
});

describe('while the indexer is paused', () => {
  it('hits in memory are served, and requests that waited for a slot are not sent', async () => {
    await world[Symbol.asyncDispose]();
    world = await startFaultyWorld({ stopsTime: true, env: { UPSTREAM_MAX_CONCURRENCY: '1' } });
    const known = newestBlock(world);
    await world.ask(known);
    const gate = world.indexer.hold();
    world.indexer.faults.inject(rateLimited('json'), { times: 1 });
    const limited = world.ask(parentOfSettled(world));
    await gate.arrived(1);
    const queued = await world.proxy.sendIn(unknownTransaction());
    await world.proxy.untilQueued(1);
    gate.release();
    expect((await limited).status).toBe(503);
    const shed = await queued.answer;
    expect([shed.status, shed.headers['retry-after']]).toEqual([503, '1']);
    expect(world.forwarded).toHaveLength(2);
    expect((await world.ask(known)).cache).toMatchObject({ hit: true, detail: 'memory' });
  });

  it('stale answers are served where their class allows it', async () => {
    await world[Symbol.asyncDispose]();
    const times = { lifetime: 1000, staleWhileRevalidate: 0, staleIfError: 5000 };
    world = await startFaultyWorld({ stopsTime: true, overrides: { lifetimes: { shardsFinal: times } } });
    const target = newestBlock(world);
    const { text } = await world.ask(target);
    world.advance(2000);
    world.indexer.faults.inject(rateLimited('json'), { times: 1 });
    const limited = await world.ask(target);
    expect(limited).toMatchObject({ status: 200, text, cache: { fwd: 'stale', 'fwd-status': 429, ttl: -1 } });
    const paused = await world.ask(target);
    expect(paused).toMatchObject({ status: 200, text, cache: { hit: true, ttl: -1 } });
    expect(world.forwarded).toHaveLength(2);
  });
});
