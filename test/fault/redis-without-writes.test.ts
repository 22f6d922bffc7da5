import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Fleet, someParent } from '../support/fleet.ts';
import { children, NOT_FOUND } from '../support/json-upstream.ts';
import { startRedis } from '../support/redis-server.ts';

it.each([false, true])(
  "after ten minutes of regressed answers the indexer's version is accepted, even if Redis takes no writes: %s",
  async (takesNoWrites) => {
    await using redis = await startRedis();
    let isGone = false;
    let now = Date.now();
    await using fleet = await Fleet.start(() => (isGone ? NOT_FOUND : children('a')), {
      instances: 1,
      redisUrl: redis.url,
      now: () => now,
    });
    const [target, proxy] = [someParent(), fleet.get(0)];
    await proxy.reply(target);
    await proxy.untilRedisHasAll();
    isGone = true;
    using client = { redis: new Redis(redis.url), [Symbol.dispose]: () => client.redis.disconnect() };
    if (takesNoWrites) await client.redis.config('SET', 'min-replicas-to-write', '1');
    const statuses: number[] = [];
    for (let time = 0; time < 2; time++) {
      now += 75 * 60_000;
      statuses.push((await proxy.reply(target)).status);
      await proxy.untilRedisHasAll();
    }
    expect(statuses).toEqual([200, 404]);
  },
);
