import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fault, rateLimited } from '../../src/tools/simulator/faults.ts';
import { arrivedAt } from '../e2e/pass-through-world.ts';
import {
  childrenOfSettled,
  newestBlock,
  nothingPending,
  parentOfSettled,
  someHash,
  targetOf,
  unknownTransaction,
} from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import type { Reply } from '../support/start-proxy.ts';
import { answering, expectFailure, startFaultyWorld } from './faulty-world.ts';

let world: World;

beforeEach(async () => {
  world = await startFaultyWorld({ stopsTime: true });
});

afterEach(() => world[Symbol.asyncDispose]());

/** Expects that this miss is refused without a request to the indexer, with this `Retry-After` in seconds. */
async function expectRefused(target: string, seconds: number): Promise<void> {
  const before = world.forwarded.length;
  const reply = await world.ask(target);
  expectFailure(reply, 429);
  expect(reply.cache).toEqual({ detail: 'overloaded' });
  expect([Number(reply.headers['retry-after']), world.forwarded.length]).toEqual([seconds, before]);
}

/** Expects that every miss is refused. */
async function expectPaused(seconds: number): Promise<void> {
  await expectRefused(unknownTransaction(), seconds);
  await expectRefused(nothingPending(), seconds);
}

/** Expects that misses are sent. */
async function expectResumed(): Promise<void> {
  const before = world.forwarded.length;
  expect((await world.ask(unknownTransaction())).status).toBe(404);
  expect((await world.ask(nothingPending())).status).toBe(200);
  expect(world.forwarded).toHaveLength(before + 2);
}

async function expectLimited(target: string): Promise<Reply> {
  const reply = await world.ask(target);
  expectFailure(reply, 429, 'upstream-rate-limited');
  expect(reply.cache['fwd-status']).toBe(429);
  return reply;
}

const refusedOf = (reason: string) => world.proxy.metric('loadsRefused', { reason });
const paused = () => world.proxy.metric('upstreamPaused');

describe('429', () => {
  it.each<[string, Fault | ((now: number) => Fault), number]>([
    ['in JSON, without Retry-After', rateLimited('json'), 1],
    ['in JSON, with Retry-After', rateLimited('json', '3'), 3],
    ['in plain text, with Retry-After', rateLimited('text', '20'), 20],
    ['with an invalid Retry-After', rateLimited('json', 'soon'), 1],
    ['with an empty body', answering('', {}, 429), 1],
    ['with a date', (now) => rateLimited('text', new Date(now + 7000).toUTCString()), 7],
  ])(
    '%s becomes 429 for its client, and pauses only its key, for the time of a valid Retry-After or for 1 s',
    async (_, fault, seconds) => {
      const target = newestBlock(world);
      world.indexer.faults.inject(typeof fault === 'function' ? fault(world.now) : fault, { times: 1 });
      expect(Number((await expectLimited(target)).headers['retry-after'])).toBe(seconds);
      await expectRefused(target, seconds);
      await expectResumed();
      world.advance(seconds * 1000 - 1);
      await expectRefused(target, 1);
      expect([await refusedOf('key-paused'), await refusedOf('paused'), await paused()]).toEqual([2, 0, 0]);
      world.advance(1);
      expect((await world.ask(target)).status).toBe(200);
    },
  );

  it('to a second key while the first one is paused pauses everything, for the time of the second 429', async () => {
    world.indexer.faults.inject(rateLimited('json', '60'), { times: 1 });
    world.indexer.faults.inject(rateLimited('json', '3'), { times: 1 });
    const [first, second] = [newestBlock(world), unknownTransaction()];
    await expectLimited(first);
    expect((await expectLimited(second)).headers['retry-after']).toBe('3');
    await expectPaused(3);
    await expectRefused(first, 60);
    world.advance(2999);
    await expectPaused(1);
    world.advance(1);
    await expectResumed();
    expect((await world.ask(second)).status).toBe(404);
    await expectRefused(first, 57);
  });

  it('to another key after the pause of the first one pauses only that key', async () => {
    for (let time = 0; time < 3; time++) {
      world.indexer.faults.inject(rateLimited('json', '3'), { times: 1 });
      await expectLimited(unknownTransaction());
      world.advance(3000);
    }
    await expectResumed();
    expect(await paused()).toBe(0);
  });

  it('to each request for one hash, in any spelling, pauses no other hashes', async () => {
    const hash = someHash();
    const hex = Buffer.from(hash, 'base64').toString('hex');
    const scope = { query: new URLSearchParams({ hash }).toString() };
    const limited = world.indexer.faults.inject(rateLimited('text'), scope);
    for (let poll = 0; poll < 25; poll++) {
      const spelling = [hash, hex, hash.replace(/=+$/, '')][poll % 3] ?? hash;
      expect((await world.ask(targetOf('adjacentTransactions', { hash: spelling }))).status).toBe(429);
      await expectResumed();
      world.advance(400);
    }
    // One for each second, and the next poll.
    expect(limited.hits).toBe(9);
    expect(await refusedOf('key-paused')).toBe(16);
  });

  it('is reported once, in the log and by a metric, and so is the end of the pause', async () => {
    const lines = () => world.proxy.log.filter(({ level }) => level >= 30).map(({ msg }) => msg);
    const pauseLines = () => world.proxy.log.filter((line) => 'condition' in line && line.condition === 'paused');
    expect(await paused()).toBe(0);
    world.indexer.faults.inject(rateLimited('json', '3'), { times: 3 });
    await expectLimited(newestBlock(world));
    expect([await paused(), pauseLines().length]).toEqual([0, 0]);
    expect(lines().filter((msg) => msg.includes('answers 429 for one key or path'))).toHaveLength(1);
    await expectLimited(unknownTransaction());
    await expectPaused(3);
    await expect.poll(() => pauseLines().length).toBe(1);
    expect(await paused()).toBe(1);
    world.advance(3000);
    await expectLimited(unknownTransaction());
    expect([await paused(), pauseLines().length]).toEqual([1, 1]);
    world.advance(60_000);
    await expectResumed();
    expect(await paused()).toBe(0);
    world.advance(16_000);
    await expect.poll(() => pauseLines().length).toBe(2);
  });

  it('when several arrive at the same time, the longest pause counts', async () => {
    world.indexer.faults.inject(rateLimited('json', '9'), { times: 1 });
    world.indexer.faults.inject(rateLimited('json', '2'), { times: 1 });
    const gate = world.indexer.hold();
    const first = world.ask(newestBlock(world));
    await gate.arrived(1);
    const second = world.ask(unknownTransaction());
    await gate.arrived(2);
    gate.release();
    expect([(await first).status, (await second).status]).toEqual([429, 429]);
    world.advance(8999);
    await expectPaused(1);
    world.advance(1);
    await expectResumed();
  });
});

describe('429 to a passed-through request', () => {
  const [TOP, MASTERS, WALLET] = [
    '/api/v3/topAccountsByBalance',
    '/api/v3/jetton/masters',
    '/api/v3/walletInformation',
  ];
  /** The indexer refuses the next request for `seconds`: 429. */
  const limit = (seconds: number) => world.indexer.faults.inject(rateLimited('json', String(seconds)), { times: 1 });

  beforeEach(async () => {
    await world[Symbol.asyncDispose]();
    world = await startFaultyWorld({ stopsTime: true, env: { PASSTHROUGH: 'on' } });
  });

  it('pauses its path, with any query and spelling, and nothing else', async () => {
    limit(20);
    expect((await world.ask(`${TOP}?limit=1`)).status).toBe(429);
    for (const target of [TOP, `${TOP}?limit=2`, `${TOP}/`, TOP.toLowerCase(), TOP.replace('top', '%74op')]) {
      await expectRefused(target, 20);
    }
    expect(arrivedAt(world)).toHaveLength(1);
    await expectResumed();
    await world.ask(MASTERS);
    await world.ask(TOP, { method: 'POST', body: '{}' });
    await world.ask(TOP, { headers: { 'X-Api-Key': 'of-the-client' } });
    expect(arrivedAt(world)).toHaveLength(6);
    world.advance(20_000);
    // The simulated indexer does not know the path.
    expect((await world.ask(TOP)).status).toBe(404);
  });

  it('to several paths pauses each of them, and a later one to a cached key pauses everything', async () => {
    for (const path of [TOP, MASTERS, WALLET]) {
      limit(20);
      expect((await world.ask(path)).status).toBe(429);
    }
    await expectResumed();
    limit(5);
    await expectLimited(unknownTransaction());
    await expectPaused(5);
    await expectRefused('/api/v3/nft/items', 5);
    world.advance(5000);
    await expectResumed();
    await expectRefused(TOP, 15);
  });

  it('to one path after a cached key pauses everything', async () => {
    limit(20);
    await expectLimited(unknownTransaction());
    limit(5);
    expect((await world.ask(TOP)).status).toBe(429);
    await expectPaused(5);
  });

  it('to masterchainInfo also pauses the head poll, and nothing else', async () => {
    const limited = world.indexer.faults.inject(rateLimited('json', '20'), { operation: 'masterchainInfo' });
    expect((await world.ask('/api/v3/masterchainInfo')).status).toBe(429);
    // The lifetime of a growing list depends on the chain time, and so on the head.
    expect((await world.ask(childrenOfSettled(world))).status).toBe(200);
    await expectResumed();
    expect(limited.hits).toBe(1);
  });
});

describe('while the indexer is paused', () => {
  it('hits in memory are served, and requests that waited for a slot are not sent', async () => {
    await world[Symbol.asyncDispose]();
    world = await startFaultyWorld({ stopsTime: true, env: { UPSTREAM_MAX_CONCURRENCY: '1' } });
    const known = newestBlock(world);
    await world.ask(known);
    world.indexer.faults.inject(rateLimited('json'), { times: 2 });
    await expectLimited(unknownTransaction());
    const gate = world.indexer.hold();
    const limited = world.ask(parentOfSettled(world));
    await gate.arrived(1);
    const queued = await world.proxy.sendIn(unknownTransaction());
    await world.proxy.untilQueued(1);
    gate.release();
    expect((await limited).status).toBe(429);
    const refused = await queued.answer;
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    expect(world.forwarded).toHaveLength(3);
    expect((await world.ask(known)).cache).toMatchObject({ hit: true, detail: 'memory' });
  });

  it('stale answers are served if their class allows it', async () => {
    await world[Symbol.asyncDispose]();
    const times = { lifetime: 1000, staleWhileRevalidate: 0, staleIfError: 5000 };
    world = await startFaultyWorld({ stopsTime: true, overrides: { rows: { shardsFinal: times } } });
    const target = newestBlock(world);
    const { text } = await world.ask(target);
    world.advance(2000);
    world.indexer.faults.inject(rateLimited('json'), { times: 1 });
    const limited = await world.ask(target);
    expect(limited).toMatchObject({ status: 200, text, cache: { fwd: 'stale', 'fwd-status': 429, ttl: -1 } });
    // First the key is paused, then everything.
    for (const reason of ['key-paused', 'paused']) {
      expect(await world.ask(target)).toMatchObject({ status: 200, text, cache: { hit: true, ttl: -1 } });
      expect(await refusedOf(reason)).toBe(1);
      world.indexer.faults.inject(rateLimited('json'), { times: 1 });
      if (reason === 'key-paused') await expectLimited(unknownTransaction());
    }
    expect(world.forwarded).toHaveLength(3);
  });
});
