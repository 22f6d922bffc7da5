import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Fault, failed, garbage, withoutList } from '../../src/tools/simulator/faults.ts';
import { newestBlock, nothingPending, parentOfSettled, unknownTransaction } from '../e2e/questions.ts';
import { World, type WorldProxyOptions } from '../e2e/world.ts';
import type { Sent } from '../support/http-client.ts';
import { startFaultyWorld, startPatientWorld } from './faulty-world.ts';

let world: World;

const start = async (options?: WorldProxyOptions) => {
  world = await startPatientWorld(options);
};

afterEach(async () => {
  vi.useRealTimers();
  await world[Symbol.asyncDispose]();
});

const sendMany = (target: string, count: number): Promise<Sent[]> =>
  Promise.all(Array.from({ length: count }, () => world.proxy.sendIn(target)));

describe('clients that ask for one key', () => {
  beforeEach(() => start());

  it('share one request to the indexer, in any spelling, by GET or HEAD', async () => {
    const target = newestBlock(world);
    const truth = (await world.askIndexer(target)).text;
    const gate = world.indexer.hold();
    const leader = world.ask(target);
    await gate.arrived(1);
    const followers = await sendMany(target, 20);
    const other = await world.proxy.sendIn(`${target.replace('Block', 'BLOCK').replace('seqno', 'SeqNo')}&_=123`);
    const head = await world.proxy.sendIn(target, { method: 'HEAD' });
    expect(gate.arrivals).toBe(1);
    gate.release();
    expect(await leader).toMatchObject({ status: 200, text: truth, cache: { fwd: 'miss', stored: true } });
    for (const { answer } of [...followers, other]) {
      const { status, text, headers } = await answer;
      expect([status, text]).toEqual([200, truth]);
      expect(headers['cache-status']).toMatch(/; fwd=miss;.*; collapsed/);
    }
    expect(await head.answer).toMatchObject({ status: 200, text: '' });
    expect(world.forwarded).toHaveLength(1);
  });

  it('are still answered when the leader leaves, and the answer is stored even when all leave', async () => {
    const target = newestBlock(world);
    const gate = world.indexer.hold();
    const leader = await world.proxy.sendIn(target);
    await gate.arrived(1);
    const follower = await world.proxy.sendIn(target);
    leader.leave();
    await expect(leader.answer).rejects.toThrow();
    gate.release();
    expect((await follower.answer).status).toBe(200);
    expect(world.forwarded).toHaveLength(1);

    const next = unknownTransaction();
    const nextGate = world.indexer.hold();
    const lone = await world.proxy.sendIn(next);
    await nextGate.arrived(1);
    lone.leave();
    await expect(lone.answer).rejects.toThrow();
    await world.proxy.untilTakenIn();
    nextGate.release();
    await expect.poll(() => world.proxy.metric('entriesStored')).toBe(2);
    expect((await world.ask(next)).cache).toMatchObject({ hit: true, detail: 'memory' });
    expect(world.forwarded).toHaveLength(2);
  });

  it('that come after the collapse window start one more request, which all later ones share', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    await world[Symbol.asyncDispose]();
    await start({ overrides: { coalescing: { collapseWindow: 1000 } } });
    const target = newestBlock(world);
    const gate = world.indexer.hold();
    const first = await world.proxy.sendIn(target);
    await gate.arrived(1);
    vi.advanceTimersByTime(999);
    const follower = await world.proxy.sendIn(target);
    expect(gate.arrivals).toBe(1);
    vi.advanceTimersByTime(1);
    const second = await world.proxy.sendIn(target);
    await gate.arrived(2);
    const itsFollower = await world.proxy.sendIn(target);
    expect(gate.arrivals).toBe(2);
    gate.release();
    const statuses = await Promise.all([first, follower, second, itsFollower].map(({ answer }) => answer));
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(statuses.map(({ headers }) => /collapsed/.test(String(headers['cache-status'])))).toEqual([
      false,
      true,
      false,
      true,
    ]);
  });
});

it('clients that ask for one key have a deadline each: a later one gets the answer after the first one got 504', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await start({ env: { UPSTREAM_MAX_CONCURRENCY: '1' } });
  const target = newestBlock(world);
  const gate = world.indexer.hold();
  const holder = await world.proxy.sendIn(unknownTransaction());
  await gate.arrived(1);
  const leader = await world.proxy.sendIn(target);
  vi.advanceTimersByTime(20_000);
  gate.release(1);
  expect((await holder.answer).status).toBe(404);
  // From here the request to the indexer has 60 s left, and the leader 40 s.
  await gate.arrived(2);
  vi.advanceTimersByTime(20_000);
  const follower = await world.proxy.sendIn(target);
  vi.advanceTimersByTime(20_000);
  expect((await leader.answer).status).toBe(504);
  gate.release();
  const { status, headers } = await follower.answer;
  expect([status, headers['cache-status']]).toEqual([200, expect.stringContaining('collapsed')]);
  expect(world.forwarded).toHaveLength(2);
});

describe('a flight that waits for a slot', () => {
  beforeEach(() => start({ env: { UPSTREAM_MAX_CONCURRENCY: '1' } }));

  it('is cancelled when its last waiter leaves, and never reaches the indexer', async () => {
    const gate = world.indexer.hold();
    const holder = await world.proxy.sendIn(newestBlock(world));
    await gate.arrived(1);
    const target = nothingPending();
    const waiters = await sendMany(target, 2);
    await world.proxy.untilQueued(1);
    waiters[0]?.leave();
    await world.proxy.untilTakenIn();
    expect(await world.proxy.metric('upstreamQueued')).toBe(1);
    waiters[1]?.leave();
    await world.proxy.untilQueued(0);
    gate.release();
    expect((await holder.answer).status).toBe(200);
    await world.ask(parentOfSettled(world));
    expect(world.forwarded.map(({ operation }) => operation)).toEqual([
      'masterchainBlockShards',
      'adjacentTransactions',
    ]);
    expect(world.forwarded.some(({ target: asked }) => asked.includes('ext_msg_hash'))).toBe(false);
  });
});

it('with Redis, a cold key costs all its clients together one look-up, one request and one write', async () => {
  world = await World.start({ dialect: '1.3', tiers: 'memory and Redis' });
  await world.proxy.untilRedisHasAll();
  const target = parentOfSettled(world);
  const calls = () => Promise.all(['read', 'write'].map((call) => world.proxy.metric('redisCalls', { call })));
  const [readsBefore = 0, writesBefore = 0] = await calls();
  const gate = world.indexer.hold();
  const sent = await sendMany(target, 30);
  await gate.arrived(1);
  gate.release();
  for (const { answer } of sent) expect((await answer).status).toBe(200);
  await world.proxy.untilRedisHasAll();
  expect(world.forwarded).toHaveLength(1);
  expect(await calls()).toEqual([readsBefore + 1, writesBefore + 1]);
});

it('the entry of one flight answers the next flight that had to wait, without another request', async () => {
  world = await startFaultyWorld({
    env: { UPSTREAM_MAX_CONCURRENCY: '1' },
    overrides: { coalescing: { collapseWindow: 1, failureTtl: 0 } },
  });
  const target = newestBlock(world);
  const gate = world.indexer.hold();
  const first = await world.proxy.sendIn(target);
  await gate.arrived(1);
  const second = await world.proxy.sendIn(target);
  await world.proxy.untilQueued(1);
  gate.release();
  expect((await first.answer).status).toBe(200);
  const { status, headers } = await second.answer;
  expect([status, headers['cache-status']]).toEqual([200, expect.stringMatching(/^toncache; hit; .*detail=memory/)]);
  expect(world.forwarded).toHaveLength(1);
});

describe('followers of a flight that fails', () => {
  it('share its error, and so do clients within the failure TTL; then the indexer gets the request again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    // Within a minute the timer that drops the failure does not run, so only the clock decides.
    await start({ overrides: { coalescing: { failureTtl: 60_000 } } });
    const target = newestBlock(world);
    world.indexer.faults.inject(failed(500), { times: 1 });
    const gate = world.indexer.hold();
    const leader = await world.proxy.sendIn(target);
    await gate.arrived(1);
    const followers = await sendMany(target, 5);
    gate.release();
    for (const { answer } of [leader, ...followers]) {
      expect(await answer).toMatchObject({ status: 500, text: '{"error":"simulated failure 500"}' });
    }
    vi.advanceTimersByTime(59_999);
    const later = await world.ask(target);
    expect(later).toMatchObject({ status: 500, cache: { fwd: 'miss', 'fwd-status': 500, collapsed: true } });
    expect(later.headers['cache-control']).toBe('no-store');
    expect(world.forwarded).toHaveLength(1);
    // The failure does not apply to other keys.
    expect((await world.ask(unknownTransaction())).status).toBe(404);
    vi.advanceTimersByTime(1);
    expect((await world.ask(target)).status).toBe(200);
  });

  it.each<[string, Fault, number, string]>([
    ['HTML', garbage('html'), 502, 'upstream-invalid'],
    ['JSON without the list', withoutList(), 502, 'upstream-invalid'],
    ['half of its answer', { kind: 'cut', framing: 'content-length' }, 502, 'upstream-invalid'],
    ["a 404 that is not the indexer's own", failed(404, 'text'), 502, 'upstream-invalid'],
    ['too large a body', { kind: 'huge', bytes: 5000 }, 502, 'upstream-too-large'],
  ])('share an answer that cannot be cached, also within the failure TTL: %s', async (_, fault, status, detail) => {
    const overrides = { coalescing: { failureTtl: 60_000 }, upstream: { maxBodySize: 4096 } };
    world = await World.start({ dialect: '1.3', tiers: 'memory and Redis', proxy: { overrides } });
    const other = await world.addProxy({ overrides });
    const target = newestBlock(world);
    const injected = world.indexer.faults.inject(fault);
    for (const proxy of [world.proxy, world.proxy, other, other]) {
      expect(await world.ask(target, {}, proxy)).toMatchObject({ status, cache: { fwd: 'miss', detail } });
    }
    // A failure may concern only one instance's path to the indexer: each instance sends its own request.
    expect(injected.hits).toBe(2);
  });
});
