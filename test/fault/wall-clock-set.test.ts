import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { type Answered, ask } from '../support/http-client.ts';
import { answeringJson, children, NOT_FOUND } from '../support/json-upstream.ts';
import { PATIENT_REDIS } from '../support/redis-patience.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { someNetwork } from '../support/some-network.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const HOUR_MS = 3_600_000;

/** Far more than anything here takes, and far less than an hour. */
const GUARD_MS = 60_000;
const SOON = { timeout: GUARD_MS, interval: 20 };

const ABSENT = `/api/v3/pendingTraces?ext_msg_hash=${'ab'.repeat(32)}`;
const [FINAL_HASH, OTHER_HASH] = ['cd'.repeat(32), 'ef'.repeat(32)];
const FINAL = `/api/v3/adjacentTransactions?hash=${FINAL_HASH}&direction=in`;
const OTHER = `/api/v3/adjacentTransactions?hash=${OTHER_HASH}&direction=in`;

/** How far the wall clock of the proxy's machine is ahead of the true time: each test sets it. */
let aheadMs: number;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  aheadMs = 0;
  upstream = await startScriptedUpstream(
    answeringJson((target) => (target.includes('/adjacentTransactions') ? children('a') : NOT_FOUND)),
  );
});
afterEach(() => upstream[Symbol.asyncDispose]());

function start(env: Readonly<Record<string, string>>): Promise<RunningProxy> {
  return startProxy({
    upstreamUrl: upstream.url,
    env: { NETWORK: someNetwork(), ...env },
    overrides: { redis: PATIENT_REDIS },
    wall: () => Date.now() + aheadMs,
  });
}

const statusOf = ({ headers }: Answered) => String(headers['cache-status']);

const isMemoryHit = (answer: Answered) => statusOf(answer).includes('detail=memory');

/** Sets the wall clock and gives all answers until the proxy has noticed, which is when it clears its memory. */
async function setWallClock(proxy: RunningProxy, byMs: number): Promise<Answered[]> {
  await expect.poll(async () => isMemoryHit(await proxy.ask(OTHER)), SOON).toBe(true);
  aheadMs += byMs;
  const answers: Answered[] = [];
  const noticed = async () => {
    const answer = await proxy.ask(OTHER);
    answers.push(answer);
    return isMemoryHit(answer);
  };
  await expect.poll(noticed, SOON).toBe(false);
  return answers;
}

const TIERS = [
  ['memory alone', () => ({})],
  ['memory and Redis', () => ({ REDIS_URL: inject('redisUrl') })],
] as const;

describe.each(TIERS)('a wall clock that is set, with %s,', (_, env) => {
  describe.each([
    ['back an hour', -HOUR_MS],
    ['forward an hour', HOUR_MS],
  ])('%s', (_direction, byMs) => {
    it('gives a 404 no longer lifetime', async () => {
      await using proxy = await start(env());
      const asked = () => upstream.heads.length;
      await proxy.ask(ABSENT);
      for (const setMs of [byMs, 0, byMs]) {
        aheadMs = setMs;
        // Once before the process can have noticed, and once after.
        for (let lifetime = 0; lifetime < 2; lifetime++) {
          const before = asked();
          await expect
            .poll(async () => [(await proxy.ask(ABSENT)).status, asked() > before], SOON)
            .toEqual([404, true]);
        }
      }
    });

    it('changes the age of no answer', async () => {
      await using proxy = await start(env());
      const before = performance.now();
      const answers = [await proxy.ask(OTHER), ...(await setWallClock(proxy, byMs)), await proxy.ask(OTHER)];
      const mostSeconds = Math.ceil((performance.now() - before) / 1000);
      for (const { status, headers } of answers) {
        expect(status).toBe(200);
        expect(Number(headers['age'])).toBeGreaterThanOrEqual(0);
        expect(Number(headers['age'])).toBeLessThanOrEqual(mostSeconds);
      }
    });

    it('ends the effect of an earlier purge, and not of a later one', async () => {
      await using proxy = await start(env());
      const purge = async () => {
        const asking = {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ hash: FINAL_HASH }),
        };
        expect((await ask(proxy.adminUrl, '/purge', asking)).status).toBe(200);
      };
      await purge();
      await setWallClock(proxy, byMs);
      await expect.poll(async () => statusOf(await proxy.ask(FINAL)), SOON).toContain('hit');
      const asked = () => upstream.heads.filter((head) => !head.includes('masterchainInfo')).length;
      const before = asked();
      await purge();
      expect(statusOf(await proxy.ask(FINAL))).toContain('fwd=');
      expect(asked() - before).toBe(1);
      await expect.poll(async () => statusOf(await proxy.ask(FINAL)), SOON).toContain('hit');
    });
  });
});
