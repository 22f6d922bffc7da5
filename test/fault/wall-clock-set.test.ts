import { describe, expect, inject, it, vi } from 'vitest';
import { type Answered, ask } from '../support/http-client.ts';
import { answeringJson, children, NOT_FOUND } from '../support/json-upstream.ts';
import { GUARD_MS, PATIENT_REDIS } from '../support/patience.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { someNetwork } from '../support/some-network.ts';
import { startProxy } from '../support/start-proxy.ts';

const HOUR_MS = 3_600_000;

const SOON = { timeout: GUARD_MS, interval: 20 };

const ABSENT = `/api/v3/pendingTraces?ext_msg_hash=${'ab'.repeat(32)}`;
const [FINAL_HASH, OTHER_HASH] = ['cd'.repeat(32), 'ef'.repeat(32)];
const FINAL = `/api/v3/adjacentTransactions?hash=${FINAL_HASH}&direction=in`;
const OTHER = `/api/v3/adjacentTransactions?hash=${OTHER_HASH}&direction=in`;

/** A proxy with a wall clock that the test sets, in front of its own indexer. */
async function start(env: Readonly<Record<string, string>>) {
  const stack = new AsyncDisposableStack();
  const upstream = stack.use(
    await startScriptedUpstream(
      answeringJson((target) => (target.includes('/adjacentTransactions') ? children('a') : NOT_FOUND)),
    ),
  );
  /** How far the wall clock of the proxy's machine is ahead of the true time, ms. */
  const wallClock = { aheadMs: 0 };
  const proxy = stack.use(
    await startProxy({
      upstreamUrl: upstream.url,
      env: { NETWORK: someNetwork(), ...env },
      overrides: { redis: PATIENT_REDIS },
      wall: () => Date.now() + wallClock.aheadMs,
    }),
  );
  return { proxy, upstream, wallClock, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

type World = Awaited<ReturnType<typeof start>>;

const statusOf = ({ headers }: Answered) => String(headers['cache-status']);

const isMemoryHit = (answer: Answered) => statusOf(answer).includes('detail=memory');

/** Sets the wall clock. Returns all answers up to the one by which the proxy has noticed and cleared its memory. */
async function setWallClock({ proxy, wallClock }: World, byMs: number): Promise<Answered[]> {
  await vi.waitFor(async () => expect(isMemoryHit(await proxy.ask(OTHER))).toBe(true), SOON);
  wallClock.aheadMs += byMs;
  const answers: Answered[] = [];
  await vi.waitFor(async () => {
    const answer = await proxy.ask(OTHER);
    answers.push(answer);
    expect(isMemoryHit(answer)).toBe(false);
  }, SOON);
  return answers;
}

const TIERS = [
  ['memory alone', () => ({})],
  ['memory and Redis', () => ({ REDIS_URL: inject('redisUrl') })],
] as const;

// The proxy reads the wall clock once a second, so the tests wait concurrently.
describe.concurrent.each(TIERS)('with %s, a wall clock that is set', (_, env) => {
  describe.each([
    ['back an hour', -HOUR_MS],
    ['forward an hour', HOUR_MS],
  ])('%s', (_direction, byMs) => {
    it('does not extend the lifetime of a 404', async () => {
      await using world = await start(env());
      const { proxy } = world;
      const asked = () => world.upstream.asked.length;
      await proxy.ask(ABSENT);
      for (const setMs of [byMs, 0, byMs]) {
        world.wallClock.aheadMs = setMs;
        // Once before the process can have noticed, and once after.
        for (let lifetime = 0; lifetime < 2; lifetime++) {
          const before = asked();
          await vi.waitFor(
            async () => expect([(await proxy.ask(ABSENT)).status, asked() > before]).toEqual([404, true]),
            SOON,
          );
        }
      }
    });

    it('ends the effect of an earlier purge, and not of a later one', async () => {
      await using world = await start(env());
      const { proxy } = world;
      const purge = async () => {
        const asking = {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ hash: FINAL_HASH }),
        };
        expect((await ask(proxy.adminUrl, '/purge', asking)).status).toBe(200);
      };
      await purge();
      await setWallClock(world, byMs);
      await vi.waitFor(async () => expect(statusOf(await proxy.ask(FINAL))).toContain('hit'), SOON);
      const asked = () => world.upstream.asked.length;
      const before = asked();
      await purge();
      expect(statusOf(await proxy.ask(FINAL))).toContain('fwd=');
      expect(asked() - before).toBe(1);
      await vi.waitFor(async () => expect(statusOf(await proxy.ask(FINAL))).toContain('hit'), SOON);
    });
  });
});
