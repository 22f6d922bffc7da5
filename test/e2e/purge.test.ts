import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressSpellings, hashSpellings } from '../../src/simulator/spellings.ts';
import type { Asking } from '../support/http-client.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { parseCacheStatus } from './cache-status.ts';
import { ask, PurgeWorld, purged, untilFollowed } from './purge-world.ts';
import { targetOf } from './questions.ts';

let world: PurgeWorld;

beforeEach(async () => {
  world = await PurgeWorld.start();
});
afterEach(() => world[Symbol.asyncDispose]());

describe('a purge over two instances', () => {
  let one: RunningProxy;
  let other: RunningProxy;

  beforeEach(async () => {
    one = await world.addProxy();
    other = await world.addProxy();
  });

  /** Asks one instance, then has the other take it from Redis. */
  async function known(target: string, asking: Asking = {}): Promise<void> {
    expect((await ask(one, target, asking)).cache).toMatchObject({ stored: true });
    await one.untilRedisHasAll();
    expect((await ask(other, target, asking)).cache).toMatchObject({ hit: true, detail: 'redis' });
  }

  it('of a seqno ends every page of that masterchain block, and of no other, everywhere', async () => {
    const targets = [world.blockSet(), world.blockSet({ limit: '2' }), world.blockSet({ sort: 'asc' })];
    const foreign = targetOf('masterchainBlockShards', { seqno: world.seqno - 1 });
    for (const target of [...targets, foreign]) await known(target);
    const before = Date.now();
    const answer = await purged(one, { seqno: String(world.seqno).padStart(12, '0') });
    expect(answer).toMatchObject({ purged: { seqno: world.seqno }, soft: false });
    expect(answer.at).toBeGreaterThanOrEqual(before);
    await untilFollowed(other);
    for (const target of targets) {
      expect((await ask(one, target)).cache).toMatchObject({ fwd: 'miss', stored: true });
      await one.untilRedisHasAll();
      // What it finds now was asked for after the purge.
      expect((await ask(other, target)).cache).toMatchObject({ hit: true, detail: 'redis' });
    }
    for (const proxy of [one, other]) expect((await ask(proxy, foreign)).cache).toMatchObject({ hit: true });
  });

  it('of a hash or an account covers every call that names it, in any spelling of either side', async () => {
    const trace = world.indexer.chain.recentTraces(200).find(({ transactions }) => transactions.length > 3);
    const { hash, account } = trace?.transactions[0] ?? {};
    if (hash === undefined || account === undefined) throw new Error('no trace yet');
    const spellings = Object.values(hashSpellings(Buffer.from(hash, 'base64')));
    const addresses = Object.values(addressSpellings(account));
    for (const [body, target, headers] of [
      [{ hash: spellings[4] }, targetOf('adjacentTransactions', { hash, direction: 'out' }), {}],
      [{ hash: spellings[5] }, targetOf('adjacentTransactions', { hash }), { 'X-No-Address-Book': 'true' }],
      [{ hash: spellings[3] }, targetOf('pendingTraces', { ext_msg_hash: spellings[6] ?? '' }), {}],
      [{ account: addresses[3] }, targetOf('pendingTraces', { account: addresses[5] ?? '' }), {}],
      [{ account: addresses[0] }, targetOf('pendingTraces', { account: addresses[7] ?? '' }), { 'X-No-Metadata': '1' }],
    ] as const) {
      await ask(one, target, { headers });
      expect([target, (await ask(one, target, { headers })).cache['hit']]).toEqual([target, true]);
      const before = world.indexer.requests.total;
      await purged(one, body);
      expect([target, (await ask(one, target, { headers })).cache['fwd']]).toEqual([target, 'miss']);
      expect(world.indexer.requests.total).toBe(before + 1);
    }
  });

  it('of everything ends all entries in both tiers, and a second one does so again', async () => {
    const targets = [world.blockSet(), world.blockSet({ limit: '2' })];
    for (let time = 1; time <= 2; time++) {
      for (const target of targets) await known(target);
      expect(await purged(other, { all: true })).toMatchObject({ purged: { all: true } });
      expect(await other.metric('toncache_memory_entries')).toBe(0);
      await untilFollowed(one, time);
      expect(await one.metric('toncache_memory_entries')).toBe(0);
    }
    for (const target of targets) await known(target);
  });

  it('that is soft leaves one stale answer, which is refreshed once', async () => {
    const target = world.blockSet();
    await known(target);
    await purged(one, { seqno: world.seqno, soft: true });
    await untilFollowed(other);
    world.indexer.requests.reset();
    const stale = await ask(other, target);
    expect(stale.cache).toMatchObject({ hit: true, detail: 'memory' });
    expect(stale.cache['ttl']).toBeLessThan(0);
    expect(stale.headers['cache-control']).toBe('public, max-age=0');
    await world.indexer.requests.arrived(1);
    await expect.poll(async () => (await ask(other, target)).cache['ttl']).toBeGreaterThan(0);
    expect(world.indexer.requests.total).toBe(1);
  });

  it('that is soft holds for a client that joins a load while this asks for the head of the chain', async () => {
    const { chain } = world.indexer;
    // Its lifetime is longer if the head of the chain is known.
    const old = chain
      .recentTraces(400)
      .filter(({ goneAt, invalidated }) => !invalidated && goneAt < Date.now() - 20_000);
    const parent = old.flatMap(({ transactions }) => transactions).find(({ children }) => children.length > 0);
    const hash = parent?.hash ?? '';
    const target = targetOf('adjacentTransactions', { hash, direction: 'out' });
    const head = world.indexer.hold('masterchainInfo');
    const { answer: early } = await one.sendIn(target);
    await head.arrived(1);
    await purged(one, { hash, soft: true });
    const { answer: late } = await one.sendIn(target);
    head.release();
    expect((await early).status).toBe(200);
    expect((await late).headers['cache-control']).toBe('public, max-age=0');
    expect(parseCacheStatus((await late).headers['cache-status'])['ttl']).toBeLessThan(0);
  });

  it('of everything that is soft leaves the answers stale', async () => {
    await known(world.blockSet());
    await purged(one, { all: true, soft: true });
    expect((await ask(one, world.blockSet())).cache['ttl']).toBeLessThan(0);
  });

  it.each([-3000, -40, -1, 0, 1, 40, 3000])(
    'is in force when it is answered, by a clock %i ms ahead',
    async (aheadMs) => {
      const skewed = await world.addProxy(() => Date.now() + aheadMs);
      for (const [soft, left] of [
        [true, { hit: true, ttl: expect.not.toSatisfy((ttl) => Number(ttl) >= 0) }],
        [false, { fwd: 'miss' }],
      ] as const) {
        for (const body of [{ all: true }, { seqno: world.seqno }]) {
          await ask(skewed, world.blockSet());
          // An answer requested while the clock of Redis shows a time before the purge is not stored.
          await expect
            .poll(async () => (await ask(skewed, world.blockSet())).cache['ttl'], { interval: 100 })
            .toBeGreaterThan(0);
          await purged(skewed, { ...body, soft });
          expect((await ask(skewed, world.blockSet())).cache).toMatchObject(left);
        }
      }
    },
  );

  it.each([-3, 0, 3])(
    'is answered when its instant has passed, so what is requested then is asked for once, by a clock %i ms ahead',
    async (aheadMs) => {
      const skewed = await world.addProxy(() => Date.now() + aheadMs);
      for (const soft of [false, true]) {
        await ask(skewed, world.blockSet());
        const { at } = await purged(skewed, { seqno: world.seqno, soft });
        expect(Date.now() + aheadMs).toBeGreaterThan(at);
        world.indexer.requests.reset();
        expect((await ask(skewed, world.blockSet())).cache).toMatchObject(soft ? { hit: true } : { stored: true });
        await expect.poll(async () => (await ask(skewed, world.blockSet())).cache['ttl']).toBeGreaterThan(0);
        expect(world.indexer.requests.total).toBe(1);
      }
    },
  );

  it('leaves nothing to fall back on when the indexer fails', async () => {
    const target = world.blockSet();
    await known(target);
    await purged(one, { seqno: world.seqno });
    await untilFollowed(other);
    world.indexer.faults.inject({ kind: 'reset' });
    for (const proxy of [one, other]) expect((await ask(proxy, target)).status).toBe(502);
  });

  it('is not undone by a flight that was under way: the indexer is asked again', async () => {
    const target = world.blockSet();
    const gate = world.indexer.hold();
    const { answer: early } = await other.sendIn(target);
    await gate.arrived(1);
    await purged(one, { seqno: world.seqno });
    await untilFollowed(other);
    const { answer: late } = await other.sendIn(target);
    gate.release();
    expect([(await early).status, (await late).status]).toEqual([200, 200]);
    expect(world.indexer.requests.total).toBe(2);
    expect((await ask(other, target)).cache).toMatchObject({ hit: true });
    expect(world.indexer.requests.total).toBe(2);
  });

  it('is not undone by a flight that several purges overtake: a client after the last one starts a new load', async () => {
    const target = world.blockSet();
    let gate = world.indexer.hold();
    const { answer: early } = await one.sendIn(target);
    // So often a flight asks.
    for (let asks = 1; asks < 3; asks++) {
      await gate.arrived(1);
      await purged(one, { seqno: world.seqno });
      gate.release();
      gate = world.indexer.hold();
    }
    await gate.arrived(1);
    await purged(one, { seqno: world.seqno });
    const { answer: late } = await one.sendIn(target);
    gate.release();
    expect((await early).status).toBe(200);
    expect(parseCacheStatus((await early).headers['cache-status'])).toMatchObject({ detail: 'purged' });
    expect(parseCacheStatus((await late).headers['cache-status'])).toMatchObject({ fwd: 'miss', stored: true });
    expect(world.indexer.requests.total).toBe(4);
  });

  it('that comes when a load has used up nearly all its time gives it the whole time again', async () => {
    let passedMs = 0;
    const slow = await world.addProxy(Date.now, () => performance.now() + passedMs);
    const target = world.blockSet();
    let gate = world.indexer.hold();
    const { answer } = await slow.sendIn(target);
    await gate.arrived(1);
    await purged(slow, { seqno: world.seqno });
    // A lease lasts for `UPSTREAM_TIMEOUT`, 5 s, and 1 s more, of which 0.25 s are for the store.
    passedMs = 5750;
    gate.release();
    gate = world.indexer.hold();
    await gate.arrived(1);
    gate.release();
    expect((await answer).status).toBe(200);
    expect((await ask(slow, target)).cache).toMatchObject({ hit: true });
  });

  it('holds for an instance that is started afterwards', async () => {
    const target = world.blockSet();
    await known(target);
    await purged(one, { seqno: world.seqno });
    await Promise.all([one.close(), other.close()]);
    const late = await world.addProxy();
    expect((await ask(late, target)).cache).toMatchObject({ fwd: 'miss', stored: true });
    await late.untilRedisHasAll();
    expect((await ask(await world.addProxy(), target)).cache).toMatchObject({ hit: true, detail: 'redis' });
  });

  it('is logged once where it was requested, and once where it was applied', async () => {
    await purged(one, { seqno: world.seqno });
    await untilFollowed(other);
    expect(one.log.filter(({ msg }) => msg.includes('purged'))).toMatchObject([{ seqno: world.seqno, soft: false }]);
    expect(other.log.filter(({ msg }) => msg.includes('purges of other'))).toMatchObject([{ records: 1 }]);
    expect(await one.metric('toncache_purges_total', { selector: 'seqno' })).toBe(1);
  });
});
