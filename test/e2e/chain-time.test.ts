import { Redis } from 'ioredis';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { type Fault, failed, garbage } from '../../src/simulator/faults.ts';
import type { Transaction } from '../../src/simulator/trace.ts';
import {
  hashesIn,
  newestBlock,
  parentOfSettled,
  pendingTrace,
  sendTrace,
  someHash,
  targetOf,
  unknownTransaction,
} from './questions.ts';
import { ANY_WORLD, DIALECTS, type Reply, WORLDS, World } from './world.ts';

const BLOCK_MS = 400;
const POLL_MS = 100;
const VISIBLE_WITHIN_MS = 1_500;
const HOUR_MS = 3_600_000;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

/** A transaction two children of which are committed one masterchain block after another. */
function parentWithChildrenInTwoBlocks(): { parent: Transaction; second: Transaction } {
  for (;;) {
    for (const parent of sendTrace(world).transactions) {
      const [first, second] = parent.children.toSorted((a, b) => a.finalizedAt - b.finalizedAt);
      if (first === undefined || second === undefined || second.finalizedAt - first.finalizedAt !== BLOCK_MS) continue;
      world.advanceTo(first.finalizedAt);
      return { parent, second };
    }
  }
}

describe.each(WORLDS)('an indexer that is an hour behind ($dialect, $tiers)', (kind) => {
  it.each([
    ['out', 1],
    [undefined, 1],
    ['out', 10],
    [undefined, 10],
  ])('shows a second child within 1.5 s (direction %s), its chain at %i times the speed', async (direction, speed) => {
    world = await World.start({ ...kind, chain: { messagesPerBlock: 0 } });
    await world.leap(HOUR_MS);
    const { parent, second } = parentWithChildrenInTwoBlocks();
    const query = direction === undefined ? {} : { direction };
    const target = targetOf('adjacentTransactions', { hash: parent.hash, ...query });
    const first = hashesIn(await world.ask(target));
    expect(first.length).toBeGreaterThan(0);
    expect(first).not.toContain(second.hash);
    world.catchUp((speed - 1) * (BLOCK_MS / speed));
    world.advanceTo(second.finalizedAt);
    expect(hashesIn(await world.askIndexer(target))).toContain(second.hash);
    const committedAt = world.now;
    for (let shown = first; !shown.includes(second.hash); ) {
      world.catchUp((speed - 1) * POLL_MS);
      world.advance(POLL_MS);
      expect(world.now - committedAt).toBeLessThanOrEqual(VISIBLE_WITHIN_MS);
      const reply = await world.ask(target);
      shown = hashesIn(reply);
      if (reply.cache['hit'] === true && Number(reply.cache['ttl']) < 0) await world.untilFresh(target);
    }
  });
});

describe('the head of the chain', () => {
  const old = (hash: string) => targetOf('adjacentTransactions', { hash, direction: 'out' });
  const row = (ageMs: number) => ({ hash: 'x', now: Math.floor((world.now - ageMs) / 1000), mc_block_seqno: 7 });

  /** The children of ever another transaction. */
  async function askForChildren(ageMs = HOUR_MS, proxy = world.proxy): Promise<Reply> {
    const body = JSON.stringify({ transactions: [row(ageMs)] });
    const operation = 'adjacentTransactions';
    world.indexer.faults.inject({ kind: 'answer', status: 200, body }, { operation, times: 1 });
    const target = old(someHash());
    await world.ask(target, {}, proxy);
    return world.ask(target, {}, proxy);
  }

  it('is asked for at most once in 10 s', async () => {
    world = await World.start(ANY_WORLD);
    for (let second = 0; second < 25; second++) {
      expect((await askForChildren()).cache).toMatchObject({ ttl: expect.closeTo(360, -1) });
      world.advance(1000);
    }
    expect(world.headsAsked).toBe(3);
  });

  it('is not asked for when it would change nothing', async () => {
    world = await World.start(ANY_WORLD);
    await world.ask(parentOfSettled(world));
    await world.ask(pendingTrace(world));
    await world.ask(unknownTransaction());
    await askForChildren(5_000);
    expect(world.headsAsked).toBe(0);
    await askForChildren(HOUR_MS);
    expect(world.headsAsked).toBe(1);
    world.advance(60_000);
    // Old enough for the longest lifetime, by the known chain time.
    await askForChildren(20 * HOUR_MS);
    expect(world.headsAsked).toBe(1);
    // Nothing has shown that chain time for more than a minute: the indexer may have been set back.
    world.advance(1);
    await askForChildren(20 * HOUR_MS);
    expect(world.headsAsked).toBe(2);
  });

  it.each(DIALECTS)('is not asked for while clients ask for the newest masterchain blocks (%s)', async (dialect) => {
    world = await World.start({ ...ANY_WORLD, dialect });
    await askForChildren();
    expect(world.headsAsked).toBe(1);
    for (let second = 0; second < 30; second++) {
      world.advance(1000);
      await world.ask(newestBlock(world));
      expect((await askForChildren()).cache).toMatchObject({ ttl: expect.closeTo(360, -1) });
    }
    expect(world.headsAsked).toBe(1);
  });

  it('is waited for no longer than its timeout, and the shortest lifetime applies meanwhile', async () => {
    world = await World.start(ANY_WORLD);
    const gate = world.indexer.hold('masterchainInfo');
    expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: 1 });
    await gate.arrived(1);
    expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: 1 });
    expect(world.headsAsked).toBe(1);
    gate.release();
  });

  it.each<[string, Fault]>([
    ['fails', failed(500)],
    ['is not offered', { kind: 'answer', status: 404, body: '<html>' }],
    ['is no head', garbage('html')],
    ['is reset', { kind: 'reset' }],
  ])('when the indexer %s, gives way to the newest time in any answer, and nothing is logged', async (_, fault) => {
    world = await World.start(ANY_WORLD);
    world.indexer.faults.inject(fault, { operation: 'masterchainInfo' });
    expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: 1 });
    await askForChildren(HOUR_MS - 100_000);
    expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: 10 });
    expect(world.headsAsked).toBe(1);
    world.advance(60_001);
    expect((await askForChildren(HOUR_MS + 60_001)).cache).toMatchObject({ hit: true, ttl: 10 });
    expect(world.proxy.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('is asked for by one of the instances that share Redis', async () => {
    world = await World.start({ dialect: '1.3', tiers: 'memory and Redis' });
    const proxies = [world.proxy, await world.addProxy(), await world.addProxy()];
    const body = JSON.stringify({ transactions: [row(HOUR_MS)] });
    world.indexer.faults.inject({ kind: 'answer', status: 200, body }, { operation: 'adjacentTransactions' });
    await world.ask(old(someHash()));
    const redis = new Redis(inject('redisUrl'));
    const isShared = async () => {
      const [key = ''] = await redis.keys(`toncache:chain-time:*:${world.network}`);
      return Number(await redis.hget(key, 'headSeenAt')) > 0;
    };
    await expect.poll(isShared, { timeout: 20_000 }).toBe(true);
    redis.disconnect();
    for (const proxy of proxies) {
      const target = old(someHash());
      await world.ask(target, {}, proxy);
      expect((await world.ask(target, {}, proxy)).cache).toMatchObject({ hit: true, ttl: 360 });
    }
    expect(world.headsAsked).toBe(1);
  });

  it.each([
    ['memory alone', 1],
    ['memory alone', 12],
    ['memory and Redis', 1],
    ['memory and Redis', 12],
  ] as const)('is believed a minute after the indexer was set back (%s, by %i h)', async (tiers, hours) => {
    world = await World.start({ dialect: '1.3', tiers });
    expect((await askForChildren()).cache).toMatchObject({ hit: true, ttl: expect.closeTo(360, -1) });
    world.advance(60_001);
    const behindMs = hours * HOUR_MS;
    const last = { workchain: -1, seqno: 1, gen_utime: String(Math.floor((world.now - behindMs) / 1000)) };
    const head: Fault = { kind: 'answer', status: 200, body: JSON.stringify({ last }) };
    world.indexer.faults.inject(head, { operation: 'masterchainInfo' });
    // What this chain has just committed is hours old by the clock.
    for (const proxy of tiers === 'memory alone' ? [world.proxy] : [world.proxy, await world.addProxy(), world.proxy]) {
      expect((await askForChildren(behindMs, proxy)).cache).toMatchObject({ hit: true, ttl: 1 });
      world.advance(10_000);
    }
  });
});
