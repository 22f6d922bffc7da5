import { afterEach, expect, it } from 'vitest';
import { parentOfSettled, settledParent, targetOf } from '../e2e/questions.ts';
import { World, type WorldKind } from '../e2e/world.ts';
import { expectFailure } from './faulty-world.ts';

const MAX_BYTES = 64 * 1024;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

const OPTIONS = {
  env: { CACHE_OPERATIONS: 'traces,masterchainInfo' },
  overrides: { coalescing: { failureTtl: 0 }, upstream: { maxBodySize: MAX_BYTES } },
};

/** From now on the answer to this target is too large for the cache. */
function exaggerate(target: string) {
  const [, query = ''] = target.split('?');
  return { huge: world.indexer.faults.inject({ kind: 'huge', bytes: MAX_BYTES + 1 }, { query }), target };
}

/** A world whose indexer sends answers too large for the cache, and a trace's target there. */
async function start({
  tiers = 'memory alone',
  passes = false,
}: {
  tiers?: WorldKind['tiers'];
  passes?: boolean;
} = {}) {
  const env = { ...OPTIONS.env, ...(passes && { PASSTHROUGH: 'on' }) };
  world = await World.start({ dialect: '1.3', tiers, proxy: { ...OPTIONS, env } });
  return exaggerate(targetOf('traces', { tx_hash: settledParent(world).hash }));
}

it('an answer that is too large becomes 502, which names the setting, and is read again after the failure TTL', async () => {
  const { huge, target } = await start();
  const first = await world.ask(target);
  expectFailure(first, 502, 'upstream-too-large');
  expect(first.text).toContain('upstream.maxBodySize');
  huge.remove();
  expect(await world.ask(target)).toMatchObject({ status: 200, cache: { fwd: 'miss', stored: true } });
});

it('an answer that is too large is read once by each instance', async () => {
  const { huge, target } = await start({ tiers: 'memory and Redis' });
  const other = await world.addProxy(OPTIONS);
  for (const proxy of [world.proxy, other])
    expectFailure(await world.ask(target, {}, proxy), 502, 'upstream-too-large');
  expect(huge.hits).toBe(2);
});

it.each(['GET', 'HEAD'])(
  'with PASSTHROUGH=on, an answer that is too large is passed through, and read for the cache after each failure TTL, here 0: %s',
  async (method) => {
    const { huge, target } = await start({ passes: true });
    for (const hits of [2, 4, 6]) {
      const passed = await world.ask(target, { method });
      expect(passed).toMatchObject({ status: 200, cache: { fwd: 'bypass', 'fwd-status': 200 } });
      expect(passed.text).toHaveLength(method === 'HEAD' ? 0 : MAX_BYTES + 1);
      expect(huge.hits).toBe(hits);
    }
  },
);

it.each([
  ['an operation that is always cached', parentOfSettled],
  ['the head, which changes with each block', () => targetOf('masterchainInfo')],
])('an answer that is too large is read again after the failure TTL, here immediately, for %s', async (_, targetIn) => {
  await start();
  const { huge, target } = exaggerate(targetIn(world));
  expectFailure(await world.ask(target), 502, 'upstream-too-large');
  huge.remove();
  expect((await world.ask(target)).status).toBe(200);
});
