import { afterEach, describe, expect, it } from 'vitest';
import { type Fault, failed, garbage, rateLimited } from '../../src/tools/simulator/faults.ts';
import type { Reply } from '../support/start-proxy.ts';
import { newestBlock, parentOfSettled, pendingTrace, someHash, targetOf, unknownTransaction } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

const HOUR_MS = 3_600_000;

/** A lifetime of 1 s must not pass on a busy machine: durations stand still as well. */
const STILL = { ...ANY_WORLD, proxy: { stopsTime: true } };

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe('the head of the chain', () => {
  const row = (ageMs: number) => ({ hash: 'x', now: Math.floor((world.now - ageMs) / 1000), mc_block_seqno: 7 });

  /** The children of a new transaction each time. */
  async function askForChildren(ageMs = HOUR_MS): Promise<Reply> {
    const body = JSON.stringify({ transactions: [row(ageMs)] });
    const operation = 'adjacentTransactions';
    world.indexer.faults.inject({ kind: 'answer', status: 200, body }, { operation, times: 1 });
    const target = targetOf(operation, { hash: someHash(), direction: 'out' });
    await world.ask(target);
    return world.ask(target);
  }

  it('is not polled without requests for growing answers', async () => {
    world = await World.start(STILL);
    await world.ask(parentOfSettled(world));
    await world.ask(pendingTrace(world));
    await world.ask(unknownTransaction());
    await world.ask(newestBlock(world));
    expect(world.headsAsked).toBe(0);
  });

  it('is polled without delaying any request, and takes no slot', async () => {
    world = await World.start({ ...STILL, proxy: { ...STILL.proxy, env: { UPSTREAM_MAX_CONCURRENCY: '1' } } });
    const gate = world.indexer.hold('masterchainInfo');
    for (let time = 0; time < 3; time++) {
      expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: 1 });
      await gate.arrived(1);
    }
    expect(world.headsAsked).toBe(1);
    gate.release();
  });

  it.each<[string, Fault, string[]]>([
    ['fails', failed(500), []],
    ['is answered with 404', { kind: 'answer', status: 404, body: '<html>' }, ['no-head']],
    ['is answered with HTML', garbage('html'), ['no-head']],
    ['is reset', { kind: 'reset' }, []],
  ])('is replaced by the newest time in any answer if its poll %s', async (_, fault, logged) => {
    world = await World.start(STILL);
    world.indexer.faults.inject(fault, { operation: 'masterchainInfo' });
    expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: 1 });
    await askForChildren(HOUR_MS - 100_000);
    expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: 10 });
    expect(world.headsAsked).toBe(1);
    const conditions = () => world.proxy.log.flatMap((line) => ('condition' in line ? [line.condition] : []));
    await expect.poll(conditions).toEqual(logged);
    world.advance(60_001);
    expect((await askForChildren(HOUR_MS)).cache).toMatchObject({ hit: true, ttl: 1 });
    expect((await askForChildren(HOUR_MS + 100_000)).cache).toMatchObject({ hit: true, ttl: 10 });
  });

  it('is not polled during the Retry-After of a 429 to the poll, which pauses no other requests', async () => {
    world = await World.start(STILL);
    world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainInfo', times: 1 });
    await askForChildren();
    await expect.poll(() => world.headsAsked).toBe(1);
    await world.untilHeadsAnswered();
    for (let time = 0; time < 5; time++) {
      world.advance(10_000);
      expect((await askForChildren()).status).toBe(200);
    }
    expect(world.headsAsked).toBe(1);
    world.advance(10_000);
    await askForChildren();
    await world.untilHeadKnown();
    expect(world.headsAsked).toBe(2);
  });

  it('is not polled during the pause that a 429 to its poll and a 429 for another key start together', async () => {
    world = await World.start(STILL);
    world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainInfo', times: 1 });
    await askForChildren();
    await expect.poll(() => world.headsAsked).toBe(1);
    await world.untilHeadsAnswered();
    world.indexer.faults.inject(rateLimited('json', '60'), { operation: 'masterchainBlockShards', times: 1 });
    expect((await world.ask(newestBlock(world))).status).toBe(429);
    expect((await world.ask(unknownTransaction())).cache).toEqual({ detail: 'overloaded' });
    expect(world.headsAsked).toBe(1);
  });

  it('is not polled while the requests of clients use up the rate limit', async () => {
    world = await World.start({ ...ANY_WORLD, proxy: { env: { UPSTREAM_RPS: '1' }, stopsTime: true } });
    await askForChildren();
    expect(world.headsAsked).toBe(0);
  });

  it.each([1, 12])('is accepted a minute after the indexer was set back by %i h', async (hours) => {
    world = await World.start(STILL);
    await askForChildren();
    await world.untilHeadKnown();
    expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: expect.closeTo(360, -1) });
    world.advance(60_001);
    const behindMs = hours * HOUR_MS;
    const last = { workchain: -1, seqno: 1, gen_utime: String(Math.floor((world.now - behindMs) / 1000)) };
    const head: Fault = { kind: 'answer', status: 200, body: JSON.stringify({ last }) };
    world.indexer.faults.inject(head, { operation: 'masterchainInfo' });
    // By the clock, data that this chain has just committed is hours old.
    for (let time = 0; time < 3; time++) {
      expect((await askForChildren(behindMs)).cache).toMatchObject({ hit: true, ttl: 1 });
      world.advance(10_000);
    }
  });
});
