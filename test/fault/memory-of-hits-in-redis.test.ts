import { expect, it } from 'vitest';
import { someParent } from '../support/fleet.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { startRedis } from '../support/redis-server.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

it('a full process that is answered from Redis alone makes room in its memory', async () => {
  await using redis = await startRedis();
  await using upstream = await startScriptedUpstream(answeringJson(() => children('a')));
  const options = { upstreamUrl: upstream.url, env: { REDIS_URL: redis.url } };
  await using first = await startProxy(options);
  const targets = Array.from({ length: 300 }, someParent);
  for (const target of targets) await first.reply(target);
  await first.untilRedisHasAll();
  await using full = await startProxy({ ...options, overrides: { admission: { maxMemory: 0.000_001 } } });
  let asked = 0;
  const askNext = async () => {
    const { cache } = await full.reply(targets[asked++ % targets.length] ?? '');
    expect(cache['hit']).toBe(true);
    return asked <= targets.length && (await full.metric('toncache_memory_entries')) < asked;
  };
  await expect.poll(askNext, { interval: 10, timeout: 20_000 }).toBe(true);
});
