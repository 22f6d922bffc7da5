import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, test, vi } from 'vitest';
import { type Answered, ask } from '../support/http-client.ts';
import { answeringJson } from '../support/json-upstream.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startRedis } from '../support/redis-server.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { skewedClock } from '../support/skewed-clock.ts';
import { someNetwork } from '../support/some-network.ts';
import { answersOf, childrenOf, liveChildrenOf } from '../support/transaction-answers.ts';

const SKEW_MS = 5000;

/** Ten times the lifetime of a live answer, and less than clocks are apart. */
const LIVE_GUARD_MS = 4000;

const CLOCKS = { right: 0, ahead: SKEW_MS, behind: -SKEW_MS };
type Clock = keyof typeof CLOCKS;
const NAMES = Object.keys(CLOCKS) as Clock[];

let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await startScriptedUpstream(answeringJson(answersOf(0)));
});
afterAll(() => upstream[Symbol.asyncDispose]());

function start(clock: Clock, network: string, redisUrl: string): Promise<ProxyProcess> {
  return ProxyProcess.start({
    ...skewedClock(CLOCKS[clock]),
    UPSTREAM_URL: upstream.url,
    NETWORK: network,
    REDIS_URL: redisUrl,
  });
}

async function metric({ adminUrl }: ProxyProcess, name: string): Promise<number> {
  const { text } = await ask(adminUrl, '/metrics');
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
}

const ageOf = ({ headers }: Answered) => Number(headers['age']);
const statusOf = ({ headers }: Answered) => String(headers['cache-status']);
const ttlOf = (answer: Answered) => Number(/ttl=(-?\d+)/.exec(statusOf(answer))?.[1]);

/** Asks until another answer than this one comes: how long that took. */
async function untilReplaced({ url }: ProxyProcess, target: string, etag: unknown): Promise<number> {
  const startedAt = performance.now();
  while ((await ask(url, target)).headers['etag'] === etag) await pause(20);
  return performance.now() - startedAt;
}

describe('three instances whose clocks are five seconds apart', () => {
  const processes = {} as Record<Clock, ProxyProcess>;
  let group = 0;

  beforeAll(async () => {
    const network = someNetwork();
    for (const clock of NAMES) processes[clock] = await start(clock, network, inject('redisUrl'));
  });
  afterAll(async () => {
    for (const clock of NAMES) await processes[clock][Symbol.asyncDispose]();
  });

  it.each(NAMES)('serve a live answer that the one whose clock is %s stored for its lifetime', async (writer) => {
    for (const reader of NAMES.filter((name) => name !== writer)) {
      // It lives shortly: not each is found before its end.
      const found = await vi.waitFor(
        async () => {
          const target = liveChildrenOf(++group);
          await ask(processes[writer].url, target);
          await expect.poll(() => metric(processes[writer], 'toncache_redis_writes_pending')).toBe(0);
          const answer = await ask(processes[reader].url, target);
          expect(statusOf(answer)).toMatch(/hit.*detail=redis/);
          return answer;
        },
        { timeout: 20_000, interval: 10 },
      );
      // Less than a second.
      expect([ageOf(found), ttlOf(found)]).toEqual([0, 0]);
    }
  });

  it.each(NAMES)(
    'apply a purge by the one whose clock is %s: to all entries before it, and none after it',
    async (purger) => {
      const targets = NAMES.map((_, index) => childrenOf(++group, index));
      for (const [index, target] of targets.entries()) {
        await ask(processes[NAMES[index] as Clock].url, target);
        for (const reader of NAMES) {
          await expect.poll(async () => statusOf(await ask(processes[reader].url, target))).toContain('hit');
        }
      }
      const others = NAMES.filter((name) => name !== purger);
      const followed = () =>
        Promise.all(others.map((name) => metric(processes[name], 'toncache_purges_followed_total')));
      const before = await followed();
      for (const target of targets) {
        const purge = await ask(processes[purger].adminUrl, '/purge', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ hash: new URL(target, upstream.url).searchParams.get('hash') }),
        });
        expect(purge.status).toBe(200);
      }
      await expect.poll(followed).toEqual(before.map((count) => count + targets.length));
      for (const [index, target] of targets.entries()) {
        const first = await ask(processes[NAMES[(index + 1) % 3] as Clock].url, target);
        expect(statusOf(first)).toContain('fwd=');
        for (const reader of NAMES) {
          await expect.poll(async () => statusOf(await ask(processes[reader].url, target))).toContain('hit');
        }
      }
    },
  );
});

test.each(NAMES)(
  'what an instance whose clock is %s stored before it knew the time of Redis lives no longer',
  async (clock) => {
    await using redis = await startRedis();
    await redis.kill();
    await using proxy = await start(clock, 'mainnet', redis.url);
    const target = liveChildrenOf(1000);
    await ask(proxy.url, target);
    await redis.restart();
    // Asked for until then, so that there is an answer from just before.
    while (Math.abs((await metric(proxy, 'toncache_redis_clock_offset_seconds')) + CLOCKS[clock] / 1000) > 1) {
      await ask(proxy.url, target);
    }
    const { headers } = await ask(proxy.url, target);
    expect(await untilReplaced(proxy, target, headers['etag'])).toBeLessThan(LIVE_GUARD_MS);
  },
);
