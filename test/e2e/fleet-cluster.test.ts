import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { Fleet, someParent } from '../support/fleet.ts';
import { children } from '../support/json-upstream.ts';
import { adminOf, type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { mostWithin } from '../support/sliding-count.ts';

const KEYS = 60;

describe('three instances on a Cluster of three masters', () => {
  let cluster: RedisCluster;

  // In a test, which can be skipped if Redis runs in containers.
  beforeEach(async () => {
    cluster ??= await startRedisCluster();
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  /** The number of this fleet's entries on each master. */
  async function entriesOfMasters(network: string): Promise<number[]> {
    return Promise.all(
      cluster.masters.map(async ({ port }) => {
        const admin = adminOf(port);
        const keys = await admin.keys(`toncache:*:${network}:*`);
        admin.disconnect();
        return keys.length;
      }),
    );
  }

  it('keep entries on all masters, and each finds the entries of the others', async () => {
    await using fleet = await Fleet.start(() => children('a'), { redisUrl: cluster.url });
    const targets = Array.from({ length: KEYS }, someParent);
    for (const [index, target] of targets.entries()) await fleet.get(index % 3).ask(target);
    await Promise.all(fleet.proxies.map((proxy) => proxy.untilRedisHasAll()));
    const counts = await entriesOfMasters(fleet.network);
    expect(counts.reduce((sum, count) => sum + count)).toBe(KEYS);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    for (const proxy of [...fleet.proxies, await fleet.add()]) {
      for (const target of targets) expect((await proxy.reply(target)).cache).toMatchObject({ hit: true });
    }
    expect(fleet.asked).toBe(KEYS);
  });

  it('share the rate', async () => {
    const [perSecond, count] = [20, 36];
    const arrivals: number[] = [];
    const timed = () => {
      arrivals.push(performance.now());
      return children('a');
    };
    await using fleet = await Fleet.start(timed, {
      redisUrl: cluster.url,
      env: { UPSTREAM_RPS: String(perSecond), UPSTREAM_TIMEOUT: '2min' },
      overrides: { admission: { patience: 60_000 } },
    });
    // If each had the rate for itself, all would be sent within 0.55 s; together they take 1.75 s.
    const asked = Array.from({ length: count }, (_, index) => fleet.get(index % 3).ask(someParent()));
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(arrivals.length).toBe(count);
    expect(mostWithin(arrivals, 1000)).toBeLessThan(count);
  });
});
