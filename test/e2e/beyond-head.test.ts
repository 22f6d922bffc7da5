import { afterEach, expect, test } from 'vitest';
import { DIALECTS, World } from './world.ts';

const TARGET = '/api/v3/masterchainBlockShards?seqno=';

let world: World;
afterEach(() => world[Symbol.asyncDispose]());

/** A world whose proxy knows the head: the first far block costs a 404 of the indexer, and the head is asked for. */
async function knowingTheHead(dialect: (typeof DIALECTS)[number]): Promise<void> {
  // However slow this machine is: the margin grows with time.
  world = await World.start({ dialect, tiers: 'memory alone', proxy: { stopsTime: true } });
  await world.ask(`${TARGET}2000000000`);
  await expect.poll(async () => (await world.ask(`${TARGET}2000000001`)).cache['detail']).toBe('beyond-head');
}

test.each(DIALECTS)('a block that cannot exist yet gets the very 404 of indexer %s', async (dialect) => {
  await knowingTheHead(dialect);
  const target = `${TARGET}2000000002&limit=5`;
  const own = await world.askIndexer(target);
  const { status, text, headers, cache } = await world.ask(target);
  expect([status, text]).toEqual([own.status, own.text]);
  for (const name of ['content-type', 'x-api-version', 'content-length']) expect(headers[name]).toBe(own.headers[name]);
  expect(headers).toMatchObject({ age: '0', 'cache-control': 'no-store' });
  expect(cache).toEqual({ detail: 'beyond-head' });
});

test('1000 far blocks cost the indexer nothing but one request for its head', async () => {
  await knowingTheHead('1.3');
  const before = world.indexer.requests.total;
  for (let request = 0; request < 1000; request++) {
    const seqno = world.indexer.chain.headSeqno + 1001 + ((request * 7919) % 2_000_000_000);
    expect((await world.ask(TARGET + seqno)).status).toBe(404);
  }
  expect(world.indexer.requests.total).toBe(before);
  expect(world.headsAsked).toBe(1);
  expect(await world.proxy.metric('toncache_requests_total', { outcome: 'beyond-head' })).toBeGreaterThanOrEqual(1000);
});

test('what is near the head is asked for at the indexer, and is there once it exists', async () => {
  await knowingTheHead('1.3');
  const next = world.indexer.chain.headSeqno + 20;
  expect((await world.ask(TARGET + next)).cache).toMatchObject({ fwd: 'miss', 'fwd-status': 404 });
  world.advance(20 * 400);
  expect((await world.ask(TARGET + next)).status).toBe(200);
});

test('nothing is beyond the head after a start, whatever the first answer was about', async () => {
  world = await World.start({ dialect: '1.3', tiers: 'memory alone' });
  const { floorSeqno, headSeqno } = world.indexer.chain;
  await world.ask(TARGET + floorSeqno);
  expect((await world.ask(TARGET + headSeqno)).status).toBe(200);
  expect((await world.ask(`${TARGET}2000000000`)).cache).toMatchObject({ fwd: 'miss', 'fwd-status': 404 });
});

test('a head that is not offered bounds nothing', async () => {
  world = await World.start({ dialect: '1.3', tiers: 'memory alone' });
  world.indexer.faults.inject({ kind: 'answer', status: 404, body: '{}' }, { operation: 'masterchainInfo' });
  for (let seqno = 2_000_000_000; seqno < 2_000_000_005; seqno++) {
    expect((await world.ask(TARGET + seqno)).cache).toMatchObject({ fwd: 'miss', 'fwd-status': 404 });
  }
  await expect.poll(() => world.headsAsked).toBe(1);
});
