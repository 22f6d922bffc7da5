import { expect, inject, it, onTestFinished, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load.ts';
import { createLogger } from '../../src/operate/logger.ts';
import { parseCacheStatus } from '../support/cache-status.ts';
import { someParent } from '../support/fleet.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

const HOUR_MS = 3_600_000;

it.each([HOUR_MS, -HOUR_MS])('an answer from before a clock jump of %s ms is not served after the jump', async (ms) => {
  let setBy = 0;
  await using upstream = await startScriptedUpstream(answeringJson(() => children('a')));
  await using proxy = await startProxy({ upstreamUrl: upstream.url, wall: () => Date.now() + setBy });
  const target = someParent();
  const isHit = async () => parseCacheStatus((await proxy.ask(target)).headers['cache-status'])['hit'] === true;
  // Final: fresh for an hour.
  expect([await isHit(), await isHit()]).toEqual([false, true]);
  setBy = ms;
  await expect.poll(isHit, { interval: 20 }).toBe(false);
  expect(await isHit()).toBe(true);
});

it.each([HOUR_MS, -HOUR_MS])('a clock jump of %s ms while the client of Redis is loaded throws nothing', async (ms) => {
  let setBy = 0;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const env = { UPSTREAM_URL: 'http://127.0.0.1:1', PORT: '0', ADMIN_PORT: '0', REDIS_URL: inject('redisUrl') };
  const logger = createLogger('info', { write: () => {} });
  const creating = createApp({ logger, wall: () => Date.now() + setBy }, loadSettings(env).settings);
  for (const by of [ms, 0]) {
    setBy = by;
    expect(() => vi.advanceTimersByTime(1000)).not.toThrow();
  }
  await (await creating).close();
});
