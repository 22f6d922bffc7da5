import { describe, expect, it } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import { newestBlock, nothingPending, targetOf } from './questions.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

const startWorld = (proxy: WorldProxyOptions) => World.start({ ...ANY_WORLD, proxy });

const linesOf = ({ proxy }: World) => proxy.log.filter(({ msg }) => msg === 'request');
const idsAtIndexer = ({ indexer }: World) => indexer.requests.recent.map(({ headers }) => headers['x-request-id']);

describe('a request', () => {
  it('is found by its id in the answer, in the log and at the indexer', async () => {
    await using world = await startWorld({ env: { LOG_REQUESTS: 'all' } });
    const reply = await world.ask(newestBlock(world), { headers: { 'X-Request-Id': 'wallet/7:a=b' } });
    expect(reply.headers['x-request-id']).toBe('wallet/7:a=b');
    expect(idsAtIndexer(world)).toContain('wallet/7:a=b');
    expect(linesOf(world)).toEqual([
      expect.objectContaining({
        id: 'wallet/7:a=b',
        client: '127.0.0.0/24',
        operation: 'masterchainBlockShards',
        key: expect.stringMatching(/^[\w-]{16}$/),
        status: 200,
        cacheStatus: expect.stringContaining('fwd=miss'),
        ms: expect.any(Number),
      }),
    ]);
  });

  it('that is passed through has the same id at the indexer as in its answer', async () => {
    await using world = await startWorld({ env: { PASSTHROUGH: 'on' } });
    for (const given of ['wallet-8', 'x'.repeat(129)]) {
      const { headers } = await world.ask('/api/v3/masterchainInfo', { headers: { 'X-Request-Id': given } });
      expect(idsAtIndexer(world).at(-1)).toBe(headers['x-request-id']);
    }
    expect(idsAtIndexer(world)).toContain('wallet-8');
  });

  it('without an id, or with one that is not plain, gets one that is the same everywhere', async () => {
    await using world = await startWorld({ env: { LOG_REQUESTS: 'all' } });
    for (const given of [undefined, 'a b', 'x'.repeat(129)]) {
      const reply = await world.ask(nothingPending(), {
        headers: given === undefined ? {} : { 'X-Request-Id': given },
      });
      const id = reply.headers['x-request-id'];
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      expect([idsAtIndexer(world).at(-1), linesOf(world).at(-1)]).toEqual([id, expect.objectContaining({ id })]);
    }
  });

  it.each([
    ['all', [200, 200, 422, 502]],
    ['slow', [502]],
    ['failed', [502]],
    ['off', []],
  ])('is logged as LOG_REQUESTS=%s says', async (mode, logged) => {
    await using world = await startWorld({ env: { LOG_REQUESTS: mode } });
    const target = newestBlock(world);
    for (let time = 0; time < 2; time++) await world.ask(target);
    await world.ask(targetOf('masterchainBlockShards', { seqno: 'x' }));
    world.indexer.faults.inject(failed(502));
    await world.ask(nothingPending());
    expect(linesOf(world).map((line) => (line as { status?: number }).status)).toEqual(logged);
  });

  it('that failed is logged ten times a second at most, and the rest is counted', async () => {
    await using world = await startWorld({ env: { LOG_REQUESTS: 'failed' }, stopsTime: true });
    world.indexer.faults.inject(failed(404, 'text'));
    const ask = async (times: number) => {
      for (let time = 0; time < times; time++) await world.ask(nothingPending());
    };
    await ask(15);
    world.advance(1000);
    await ask(1);
    const lines = linesOf(world) as { failedBefore?: number }[];
    expect([lines.length, lines.at(-1)?.failedBefore]).toEqual([11, 5]);
  });
});
