import { afterEach, expect, test } from 'vitest';
import { DIALECTS, World, type WorldKind } from './world.ts';

const KINDS: readonly WorldKind[] = [
  { dialect: '1.2', tiers: 'memory alone' },
  { dialect: '1.3', tiers: 'memory and Redis' },
];

let world: World;
afterEach(() => world[Symbol.asyncDispose]());

const target = (more = '') => `/api/v3/masterchainBlockShards?seqno=${world.indexer.chain.headSeqno}${more}`;

test.each(KINDS)('other limits get the same bytes without a request ($dialect, $tiers)', async (kind) => {
  world = await World.start(kind);
  const first = await world.ask(target('&limit=50'));
  expect(first.status).toBe(200);
  for (const more of ['', '&limit=10', '&limit=1000', '&limit=77&offset=0', '&limit=50']) {
    const { bytes, headers, cache } = await world.ask(target(more));
    expect([bytes.equals(first.bytes), headers['etag']]).toEqual([true, first.headers['etag']]);
    expect(cache).toMatchObject({ hit: true });
  }
  expect(world.forwarded).toHaveLength(1);
});

test('other instances find it in Redis for their limits', async () => {
  world = await World.start({ dialect: '1.3', tiers: 'memory and Redis' });
  const asked = target('&limit=50');
  await world.ask(asked);
  await world.proxy.untilRedisHasAll();
  const other = await world.addProxy();
  expect((await world.ask(target(), {}, other)).cache).toMatchObject({ hit: true, detail: 'redis' });
  expect((await world.ask(target('&limit=20'), {}, other)).cache).toMatchObject({ hit: true, detail: 'memory' });
  expect(world.forwarded.map((request) => request.target)).toEqual([asked]);
});

test.each(['&limit=2', '&limit=9', '&offset=1', '&limit=100&offset=1'])('it is no answer to %s', async (page) => {
  world = await World.start({ dialect: '1.3', tiers: 'memory alone' });
  await world.ask(target());
  const { text, status, cache } = await world.ask(target(page));
  const own = await world.askIndexer(target(page));
  expect([status, text]).toEqual([own.status, own.text]);
  expect(cache).toMatchObject({ fwd: 'miss' });
});

test.each(['seqno', 'all'])('a purge by %s ends it for all limits', async (selector) => {
  world = await World.start({ dialect: '1.3', tiers: 'memory alone' });
  await world.ask(target('&limit=50'));
  world.advance(1);
  const body = JSON.stringify(selector === 'seqno' ? { seqno: world.indexer.chain.headSeqno } : { all: true });
  const headers = { 'Content-Type': 'application/json' };
  expect((await world.proxy.askAdmin('/purge', { method: 'POST', headers, body })).status).toBe(200);
  world.advance(1);
  expect((await world.ask(target('&limit=20'))).cache).toMatchObject({ fwd: 'miss', stored: true });
  expect(world.forwarded).toHaveLength(2);
});

test('what is cut by its limit is kept apart from it', async () => {
  world = await World.start({ dialect: '1.3', tiers: 'memory alone' });
  const cut = await world.ask(target('&limit=2'));
  const whole = await world.ask(target('&limit=20'));
  expect(whole.bytes.length).toBeGreaterThanOrEqual(cut.bytes.length);
  expect(whole.cache).toMatchObject({ fwd: 'miss' });
  expect((await world.ask(target('&limit=2'))).text).toBe(cut.text);
});

test.each(DIALECTS)(
  'a block that indexer %s does not have yet is not there for any limit: one request for all',
  async (dialect) => {
    world = await World.start({ dialect, tiers: 'memory alone', proxy: { stopsTime: true } });
    const target = `/api/v3/masterchainBlockShards?seqno=${world.indexer.chain.headSeqno + 2}`;
    const { text } = await world.ask(target);
    const before = world.forwarded.length;
    for (const page of ['&limit=100', '&limit=10&offset=0', '&offset=0', '&limit=1000']) {
      expect(await world.ask(target + page)).toMatchObject({ status: 404, text, cache: { hit: true } });
    }
    expect(world.forwarded.length).toBe(before);
    expect((await world.ask(`${target}&offset=1`)).cache).toMatchObject({ fwd: 'miss' });
    world.advance(4 * 400);
    expect((await world.ask(`${target}&limit=50`)).status).toBe(200);
  },
);
