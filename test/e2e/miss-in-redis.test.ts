import { Redis } from 'ioredis';
import { expect, inject, it } from 'vitest';
import { Fleet, someChildren } from '../support/fleet.ts';
import { children } from '../support/json-upstream.ts';

it('a miss costs Redis one look and two scripts: one takes the lease, one stores the answer and ends it', async () => {
  await using fleet = await Fleet.start(() => children('a'), { instances: 1 });
  const proxy = fleet.get(0);
  // Redis has the scripts from now on.
  await proxy.ask(someChildren());
  await proxy.untilRedisHasAll();
  const monitor = await new Redis(inject('redisUrl'), { lazyConnect: true }).monitor();
  const commands: string[] = [];
  monitor.on('monitor', (_time: string, [command = '', ...given]: string[], source: string) => {
    const isOfEntry = given.some((each) => each.includes(`${fleet.network}:{`));
    if (isOfEntry && source !== 'lua') commands.push(command.toLowerCase());
  });
  expect((await proxy.ask(someChildren())).status).toBe(200);
  await proxy.untilRedisHasAll();
  await expect.poll(() => commands, { timeout: 20_000 }).toEqual(['get', 'evalsha', 'evalsha']);
  monitor.disconnect();
});
