import { describe, expect, it } from 'vitest';
import { newestBlock, nothingPending, parentOfSettled, unknownTransaction } from '../e2e/questions.ts';
import { World, type WorldProxyOptions } from '../e2e/world.ts';
import { type Answered, type Sent, send } from '../support/http-client.ts';
import { PATIENT_ADMISSION, startPatientWorld } from './faulty-world.ts';
import { expectRefused } from './refused-requests.ts';

/** A world whose proxy sends this many requests at once and queues this many. */
function start(maxConcurrency: number, maxQueue: number, { overrides, ...options }: WorldProxyOptions = {}) {
  return startPatientWorld({
    ...options,
    overrides: { ...overrides, upstream: { maxConcurrency }, admission: { maxQueue } },
  });
}

/** Sends a request for each of this many keys. Resolves when all are at the indexer or in the queue. */
async function occupy(world: World, count: number): Promise<Sent[]> {
  const sent = await Promise.all(Array.from({ length: count }, () => world.proxy.sendIn(unknownTransaction())));
  await untilOccupied(world, count);
  return sent;
}

async function untilOccupied({ proxy }: World, count: number): Promise<void> {
  const gauges = () =>
    Promise.all(['requests_in_flight', 'requests_queued'].map((name) => proxy.metric(`toncache_upstream_${name}`)));
  await expect.poll(async () => (await gauges()).reduce((sum, value) => sum + value, 0), { interval: 2 }).toBe(count);
}

const expectRefusedForSeconds = (answered: Answered) => expectRefused(answered, /^[123]$/);

describe('the concurrency limit', () => {
  it('is never exceeded at the indexer while many clients come, wait and leave', async () => {
    await using world = await start(4, 10);
    world.indexer.faults.latencyMs = 1;
    world.indexer.faults.jitterMs = 5;
    const clients = Array.from({ length: 25 }, async (_, client) => {
      for (let time = 0; time < 12; time++) {
        const sent = send(world.proxy.url, unknownTransaction());
        await sent.sent;
        if ((client + time) % 5 === 0) sent.leave();
        await sent.answer.then(
          (answered) =>
            answered.status === 503 ? expectRefusedForSeconds(answered) : expect(answered.status).toBe(404),
          () => {},
        );
      }
    });
    await Promise.all(clients);
    expect(world.indexer.requests.maxInHand).toBeLessThanOrEqual(4);
    await untilOccupied(world, 0);
    expect((await world.ask(newestBlock(world))).status).toBe(200);
  });
});

describe('when the queue is full', () => {
  it('a miss is refused immediately: 503 with a Retry-After of one to three seconds', async () => {
    let random = 0;
    await using world = await start(1, 1, { random: () => random });
    const gate = world.indexer.hold();
    const occupying = await occupy(world, 2);
    const waits: unknown[] = [];
    for (random of [0, 0.34, 0.5, 0.67, 0.999]) {
      const answered = await world.ask(nothingPending());
      expectRefusedForSeconds(answered);
      waits.push(answered.headers['retry-after']);
    }
    expect(waits).toEqual(['1', '2', '2', '3', '3']);
    random = 0;
    gate.release();
    for (const { answer } of occupying) expect((await answer).status).toBe(404);
    expect(world.forwarded).toHaveLength(2);
    expect((await world.ask(nothingPending())).status).toBe(200);
  });

  it('fresh and stale hits in memory are served, and take no place in the queue', async () => {
    const times = { lifetime: 1000, staleWhileRevalidate: 1000, staleIfError: 10_000 };
    await using world = await start(1, 1, { overrides: { rows: { adjacentFinal: times } } });
    const fresh = newestBlock(world);
    const stale = parentOfSettled(world);
    const { text } = await world.ask(stale);
    await world.ask(fresh);
    const gate = world.indexer.hold();
    const occupying = await occupy(world, 2);
    expect(await world.ask(fresh)).toMatchObject({ status: 200, cache: { hit: true, detail: 'memory' } });
    for (const [afterMs, ttl] of [
      [1500, -1],
      [9000, -10],
    ] as const) {
      world.advance(afterMs);
      const reply = await world.ask(stale);
      expect([reply.status, reply.text, reply.cache['ttl']]).toEqual([200, text, ttl]);
    }
    world.advance(1000);
    expectRefusedForSeconds(await world.ask(stale));
    expect(await world.ask(fresh)).toMatchObject({ status: 200, cache: { hit: true, detail: 'memory' } });
    await untilOccupied(world, 2);
    gate.release();
    for (const { answer } of occupying) expect((await answer).status).toBe(404);
  });

  it('refused requests do not count as failures of the indexer, and the log says only that there are too many requests', async () => {
    await using world = await start(1, 0);
    const gate = world.indexer.hold();
    const occupying = await occupy(world, 1);
    const target = newestBlock(world);
    for (let time = 0; time < 3; time++) expectRefusedForSeconds(await world.ask(target));
    gate.release();
    await Promise.all(occupying.map(({ answer }) => answer));
    await untilOccupied(world, 0);
    expect((await world.ask(target)).status).toBe(200);
    const told = new Set(world.proxy.log.flatMap((line) => ('condition' in line ? [line.condition] : [line.msg])));
    expect([...told].filter((each) => each !== 'overloaded' && each !== 'no-answer')).toEqual([]);
  });
});

it('hits in Redis are served though the indexer hangs and the queue is full', async () => {
  await using world = await World.start({
    dialect: '1.3',
    tiers: 'memory and Redis',
    proxy: {
      env: { UPSTREAM_TIMEOUT: '60s' },
      overrides: { upstream: { maxConcurrency: 1 }, admission: { ...PATIENT_ADMISSION, maxQueue: 0 } },
    },
  });
  const other = await world.addProxy();
  const target = newestBlock(world);
  await world.ask(target, {}, other);
  await other.untilRedisHasAll();
  const gate = world.indexer.hold();
  const occupying = await occupy(world, 1);
  expect(await world.ask(target)).toMatchObject({ status: 200, cache: { hit: true, detail: 'redis' } });
  gate.release();
  await Promise.all(occupying.map(({ answer }) => answer));
});
