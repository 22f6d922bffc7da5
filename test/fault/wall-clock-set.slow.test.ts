import { expect, test } from 'vitest';
import { someChildren } from '../support/fleet.ts';
import { ask } from '../support/http-client.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startRedis } from '../support/redis-server.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { settableClock } from '../support/skewed-clock.ts';

const HOUR_MS = 3_600_000;

/** Far longer than any step here, and far shorter than an hour. */
const SOON = { timeout: 60_000, interval: 20 };

test('a process whose wall clock is set back an hour while Redis is away uses Redis again when Redis is back', async () => {
  await using upstream = await startScriptedUpstream(answeringJson(() => children('a')));
  await using redis = await startRedis();
  await using proxy = await ProxyProcess.start({
    ...settableClock(-HOUR_MS),
    UPSTREAM_URL: upstream.url,
    REDIS_URL: redis.url,
  });
  const cold = () => ask(proxy.url, someChildren());
  const isUsed = async () => JSON.parse((await ask(proxy.adminUrl, '/status.json')).text).redis === 'used';
  await redis.kill();
  await expect.poll(async () => [(await cold()).status, await isUsed()], SOON).toEqual([200, false]);
  proxy.signal('SIGUSR2');
  await redis.restart();
  await expect.poll(async () => [(await cold()).status, await isUsed()], SOON).toEqual([200, true]);
});
