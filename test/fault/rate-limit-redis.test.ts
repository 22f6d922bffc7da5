import { expect, test } from 'vitest';
import { RateLimit } from '../../src/admission/rate-limit.ts';
import { sharedReservations } from '../../src/admission/shared-reservations.ts';
import { redisBreaker } from '../../src/redis/breaker.ts';
import { withinBudget } from '../../src/redis/within-budget.ts';
import { answers } from '../integration/scripted-client.ts';
import { connectedRedis } from '../support/connected-redis.ts';
import { meddlingProxy } from '../support/meddling-proxy.ts';
import { PATIENT_REDIS } from '../support/patience.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { Reservations } from '../support/reservations.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { mostWithin } from '../support/sliding-count.ts';
import { startProxy } from '../support/start-proxy.ts';

const PER_SECOND = 100;
const LONGEST_WAIT_MS = 60_000;
const now = () => performance.now();

/** A rate limit with a Redis of its own, and each change between "the rate is shared" and "it is not". */
async function limitOn(redis: RedisServer) {
  const connection = await connectedRedis(redis.url);
  const sharedChanges: boolean[] = [];
  const budget = { ms: PATIENT_REDIS.budget };
  const subject = new RateLimit({
    reserveShared: sharedReservations({
      runScript: (...script) => withinBudget(budget.ms, () => connection.runScript(...script)),
      call: redisBreaker({
        monotonic: now,
        breaker: { faults: 3, openMs: 200 },
        onAvailable: (shared) => sharedChanges.push(shared),
      }).call,
      key: 'toncache:rate',
      furthestMs: 2 * LONGEST_WAIT_MS,
    }),
    now,
    perSecond: PER_SECOND,
    longestWaitMs: LONGEST_WAIT_MS,
  });
  const turns = new Reservations(subject);
  const slots: number[] = [];
  const take = async (times: number) => {
    for (let time = 0; time < times; time++) {
      expect(await turns.take()).toBe(true);
      slots.push(performance.now());
    }
  };
  /** Takes one slot. Returns the last reported state: shared or not. */
  const takeNext = async () => {
    await take(1);
    return sharedChanges.at(-1);
  };
  const takeUntil = (shared: boolean) => expect.poll(takeNext, { interval: 1 }).toBe(shared);
  return { budget, sharedChanges, slots, take, takeUntil, [Symbol.asyncDispose]: () => connection.close() };
}

/** Resolves when a count has not changed for a second. */
async function untilStill(count: () => number): Promise<void> {
  let [last, since] = [count(), now()];
  await expect
    .poll(() => {
      if (count() !== last) [last, since] = [count(), now()];
      return now() - since;
    })
    .toBeGreaterThan(1000);
}

test('the rate is kept without Redis after it was killed, and shared again when it is back', async () => {
  await using redis = await startRedis();
  await using limited = await limitOn(redis);
  await limited.take(20);
  await redis.kill();
  await limited.takeUntil(false);
  await limited.take(50);
  await redis.restart();
  await limited.takeUntil(true);
  await limited.take(20);
  expect(limited.sharedChanges).toEqual([false, true]);
  expect(mostWithin(limited.slots, 1000)).toBeLessThanOrEqual(2 * PER_SECOND);
});

test('a hung Redis delays a few reservations by its budget, and then no more', async () => {
  await using redis = await startRedis();
  await using limited = await limitOn(redis);
  await limited.take(5);
  limited.budget.ms = 500;
  await redis.pause();
  await limited.take(20);
  expect(limited.sharedChanges).toEqual([false]);
  await redis.resume();
  await limited.takeUntil(true);
});

test('the rate is kept without Redis if it takes no writes', async () => {
  await using redis = await startRedis({ args: ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'] });
  await using limited = await limitOn(redis);
  await limited.takeUntil(false);
  await limited.take(50);
  expect(limited.sharedChanges).toEqual([false]);
});

test('concurrent calls for reservations that fail together count as one failure of Redis', async () => {
  await using redis = await startRedis();
  await using distant = await meddlingProxy(Number(new URL(redis.url).port));
  distant.delay(20);
  await using upstream = await startScriptedUpstream(answers);
  const env = { REDIS_URL: distant.url, UPSTREAM_RPS: '300', UPSTREAM_TIMEOUT: '60s' };
  const overrides = {
    redis: { ...PATIENT_REDIS, budget: 3000, failuresToOpen: 2 },
    admission: { patience: 30_000, maxMemoryShare: 1 },
  };
  await using proxy = await startProxy({ upstreamUrl: upstream.url, env, overrides });
  const targets = Array.from({ length: 600 }, (_, n) => `/api/v3/masterchainBlockShards?seqno=${n + 1}`);
  const asked = Promise.all(targets.map((target) => proxy.ask(target)));
  const sent = () => upstream.asked.length;
  const untilSent = (more: number) => expect.poll(sent, { interval: 5 }).toBeGreaterThan(sent() + more);
  await untilSent(30);
  await redis.pause();
  await untilStill(sent);
  // Calls in flight begin to fail. Redis answers later calls.
  await untilSent(0);
  await redis.resume();
  await asked;
  expect(proxy.log.filter(({ msg }) => msg.includes('rate limit is not shared'))).toEqual([]);
});
