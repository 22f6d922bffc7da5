import { setTimeout as after } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, inject, it } from 'vitest';
import { distinctAnswers, Fleet, someChildren, someMessage } from '../support/fleet.ts';
import { send } from '../support/http-client.ts';
import { children, GatedAnswers, NO_DATABASE, pendingTrace } from '../support/json-upstream.ts';
import { watchLeases } from './acquired-leases.ts';

async function leases(fleet: Fleet): Promise<string[]> {
  const redis = new Redis(inject('redisUrl'));
  const keys = await redis.keys(`*${fleet.network}*:lease`);
  redis.disconnect();
  return keys;
}

it('an instance that finds the answer in Redis when it acquires the lease releases the lease immediately', async () => {
  const target = someChildren();
  const gated = new GatedAnswers();
  const answer = (asked: string) => (asked.includes('pendingTraces') ? gated.answer() : children('a'));
  await using fleet = await Fleet.start(answer, {
    instances: 2,
    overrides: { upstream: { maxConcurrency: 1 } },
  });
  const [quick, busy] = [fleet.get(0), fleet.get(1)];
  const slow = busy.ask(someMessage());
  await fleet.untilAsked(1);
  // It has looked into Redis, and waits for a slot.
  const queued = busy.ask(target);
  await busy.untilQueued(1);
  await quick.ask(target);
  await quick.untilRedisHasAll();
  gated.give(pendingTrace('b'));
  expect((await queued).headers['cache-status']).toMatch(/; hit; .*detail=redis$/);
  await slow;
  expect(fleet.asked).toBe(2);
  // It would last for half a minute.
  await expect.poll(() => leases(fleet)).toEqual([]);
});

describe('300 clients of three instances', () => {
  it('cause one request to the indexer for a cold key, every time', async () => {
    const slow = async () => {
      await after(400);
      return children('a');
    };
    await using fleet = await Fleet.start(slow);
    // While the chain time is unknown these children are fresh for 1 s, which 300 clients may take on a busy machine.
    await fleet.learnHeads();
    for (let time = 1; time <= 4; time++) {
      expect(distinctAnswers(await fleet.ask(someChildren(), 300))).toEqual([
        `200 ${JSON.stringify(children('a').body)}`,
      ]);
      expect(fleet.asked).toBe(time);
    }
    expect(await leases(fleet)).toEqual([]);
  });

  it('cause one request of each instance for a key that fails, all at once after the first', async () => {
    const gated = new GatedAnswers();
    await using fleet = await Fleet.start(gated.answer, {
      overrides: { coalescing: { failureTtl: 60_000, failedLease: 60_000 } },
    });
    const target = someChildren();
    const asking = Promise.all(Array.from({ length: 300 }, (_, client) => fleet.get(client % 3).ask(target)));
    await fleet.untilAsked(1);
    await fleet.untilFollowed(2);
    gated.give(NO_DATABASE);
    await fleet.untilAsked(3);
    for (let time = 0; time < 2; time++) gated.give(NO_DATABASE);
    expect(distinctAnswers(await asking)).toEqual(['500 {"error":"no database"}']);
    expect(fleet.asked).toBe(3);
  });
});

describe('an instance that cannot load an answer', () => {
  it('because the indexer demands a pause refuses only its own clients, and exactly one other instance loads', async () => {
    const [gated, limits] = [new GatedAnswers(), new GatedAnswers()];
    const limit = { status: 429, body: { error: 'slow down' }, headers: ['Retry-After: 60'] };
    await using fleet = await Fleet.start(
      async (target) => (target.startsWith('/api/v3/pendingTraces') ? limits.answer() : gated.answer()),
      { instances: 0 },
    );
    const limited = await fleet.add({
      upstream: { requestsPerSecond: 1, timeout: 60_000 },
      admission: { patience: 20_000 },
    });
    await fleet.add();
    await fleet.add();
    await using acquired = await watchLeases(fleet.network);
    // The indexer demands a pause from the holder, by a second 429, while the next call waits for its reservation,
    // without a lease.
    const pausing = [limited.ask(someMessage()), limited.ask(someMessage())];
    await fleet.untilAsked(2);
    const target = someChildren();
    const refused = limited.ask(target);
    await limited.untilQueued(1);
    await expect.poll(() => acquired.count).toBe(2);
    limits.give(limit);
    limits.give(limit);
    const others = fleet.ask(target, 20, 1);
    expect((await Promise.all(pausing)).map(({ status }) => status)).toEqual([429, 429]);
    const { status, headers } = await refused;
    expect([status, headers['cache-status']]).toEqual([429, 'toncache; detail=overloaded']);
    await fleet.untilAsked(3);
    gated.give(children('a'));
    expect(distinctAnswers(await others)).toEqual([`200 ${JSON.stringify(children('a').body)}`]);
    expect(fleet.asked).toBe(3);
  });

  it('because it shuts down lets exactly one other instance load immediately', async () => {
    const gated = new GatedAnswers();
    await using fleet = await Fleet.start(gated.answer, {
      env: { UPSTREAM_TIMEOUT: '5min' },
      overrides: { http: { drainTimeout: 100 } },
    });
    const target = someChildren();
    const holder = fleet.get(0);
    const lone = send(holder.url, target);
    await fleet.untilAsked(1);
    const others = fleet.ask(target, 20, 1);
    await fleet.untilFollowed(2);
    await holder.close();
    expect((await lone.answer).status).toBe(503);
    // Its lease would last for a minute.
    await fleet.untilAsked(2);
    gated.give(children('second'));
    gated.give(children('a'));
    expect(distinctAnswers(await others)).toEqual([`200 ${JSON.stringify(children('a').body)}`]);
    expect(fleet.asked).toBe(2);
  });

  it('because it waits for the rate holds no lease, and another instance loads immediately', async () => {
    let asked = 0;
    const answer = (target: string) => {
      if (!target.startsWith('/api/v3/pendingTraces')) return children('before');
      asked++;
      return pendingTrace('a');
    };
    await using fleet = await Fleet.start(answer, { instances: 0 });
    const slow = { requestsPerSecond: 1, timeout: 300_000 };
    const limited = await fleet.add({ upstream: slow, admission: { patience: 300_000 } });
    await fleet.add();
    await fleet.add();
    await limited.ask(someChildren());
    // These are before it in the queue for the rate: there is a minute to leave.
    const before = Array.from({ length: 60 }, () => send(limited.url, someChildren()));
    const first = fleet.asked;
    const untilArrived = (count: number) =>
      expect
        .poll(async () => fleet.asked - first + (await limited.metric('upstreamQueued')))
        .toBeGreaterThanOrEqual(count);
    await untilArrived(60);
    const target = someMessage();
    const lone = send(limited.url, target);
    await untilArrived(61);
    expect(distinctAnswers(await fleet.ask(target, 20, 1))).toEqual([`200 ${JSON.stringify(pendingTrace('a').body)}`]);
    expect(asked).toBe(1);
    for (const { leave } of [lone, ...before]) leave();
    await limited.untilQueued(0);
  });
});

describe('a load that waits for a slot', () => {
  it('holds no lease, and another instance loads immediately', async () => {
    const gated = new GatedAnswers();
    await using fleet = await Fleet.start((target) => (target.includes('pending') ? gated.answer() : children('a')), {
      instances: 0,
    });
    const busy = await fleet.add({
      upstream: { maxConcurrency: 1, timeout: 120_000 },
      admission: { patience: 60_000 },
    });
    const free = await fleet.add();
    const first = busy.ask(someMessage());
    await fleet.untilAsked(1);
    const target = someChildren();
    const queued = busy.ask(target);
    await busy.untilQueued(1);
    expect(await leases(fleet)).toHaveLength(1);
    expect((await free.ask(target)).headers['cache-status']).toMatch(/fwd=miss; fwd-status=200; stored$/);
    gated.give(pendingTrace('a'));
    await first;
    // Acquiring the lease finds the entry that was stored in the meantime.
    expect((await queued).headers['cache-status']).toMatch(/hit;.*detail=redis$/);
    expect(fleet.asked).toBe(2);
  });
});

describe('live answers', () => {
  /**
   * The requests to the indexer, about one more than four, and the time that they took, while each of this many instances
   * gets continuous requests for one pending trace.
   */
  async function polled(instances: number): Promise<{ asked: number; ms: number }> {
    await using fleet = await Fleet.start(() => pendingTrace('a'), { instances });
    const target = someMessage();
    const startedAt = performance.now();
    await Promise.all(
      fleet.proxies.map(async (proxy) => {
        while (fleet.asked <= 4) {
          expect((await proxy.ask(target)).status).toBe(200);
          await after(20);
        }
      }),
    );
    return { asked: fleet.asked, ms: performance.now() - startedAt };
  }

  it('of three instances cause no more requests than those of one instance', async () => {
    const alone = await polled(1);
    const together = await polled(3);
    // One a lifetime, for any number of clients; the last one may just have begun.
    const lifetimes = (ms: number) => Math.floor(ms / 400) + 1;
    expect(alone.asked).toBeLessThanOrEqual(lifetimes(alone.ms));
    expect(together.asked).toBeLessThanOrEqual(lifetimes(together.ms));
  });
});
