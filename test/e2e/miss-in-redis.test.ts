import { expect, inject, it } from 'vitest';
import { Fleet, someChildren } from '../support/fleet.ts';
import { children } from '../support/json-upstream.ts';
import { monitorRedis } from '../support/redis-monitor.ts';

it('a miss costs Redis one read and two scripts: one takes the lease, one stores the answer and ends the lease', async () => {
  await using fleet = await Fleet.start(() => children('a'), { instances: 1 });
  const proxy = fleet.get(0);
  // Redis has the scripts from now on.
  await proxy.ask(someChildren());
  await proxy.untilRedisHasAll();
  using monitor = await monitorRedis(inject('redisUrl'));
  expect((await proxy.ask(someChildren())).status).toBe(200);
  await proxy.untilRedisHasAll();
  const ofEntries = () => monitor.commands.filter((words) => words.some((word) => word.includes(`${fleet.network}:{`)));
  const names = () => ofEntries().map(([name = '']) => name.toLowerCase());
  await expect.poll(names).toEqual(['get', 'evalsha', 'evalsha']);
});
