import { expect, it } from 'vitest';
import { someParent } from '../support/fleet.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { PATIENT_REDIS } from '../support/patience.ts';
import { startRedis } from '../support/redis-server.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

/** A process whose memory counts as full, with answers that are only in Redis. */
async function withFullProcess(run: (full: RunningProxy, targets: readonly string[]) => Promise<void>): Promise<void> {
  await using redis = await startRedis();
  await using upstream = await startScriptedUpstream(answeringJson(() => children('a')));
  const overrides = { redis: PATIENT_REDIS };
  const options = { upstreamUrl: upstream.url, env: { REDIS_URL: redis.url, PASSTHROUGH: 'on' }, overrides };
  await using first = await startProxy(options);
  const targets = Array.from({ length: 300 }, someParent);
  for (const target of targets) await first.reply(target);
  await first.untilRedisHasAll();
  await using full = await startProxy({
    ...options,
    overrides: { ...overrides, admission: { maxMemoryShare: 0.000_001 } },
  });
  await run(full, targets);
}

const entriesIn = (proxy: RunningProxy) => proxy.metric('memoryEntries');

it('a process whose memory is full makes room even if it serves only hits in Redis', async () => {
  await withFullProcess(async (full, targets) => {
    let asked = 0;
    const askNext = async () => {
      const { cache } = await full.reply(targets[asked++ % targets.length] ?? '');
      expect(cache['hit']).toBe(true);
      return asked <= targets.length && (await entriesIn(full)) < asked;
    };
    await expect.poll(askNext, { interval: 10 }).toBe(true);
  });
});

it('a process whose memory is full makes room even if it gets only pass-through requests', async () => {
  await withFullProcess(async (full, targets) => {
    for (const target of targets) await full.reply(target);
    const before = await entriesIn(full);
    const passOne = async () => {
      expect((await full.ask('/api/v3/blocks')).status).toBe(503);
      return entriesIn(full);
    };
    await expect.poll(passOne, { interval: 10 }).toBeLessThan(before);
  });
});
