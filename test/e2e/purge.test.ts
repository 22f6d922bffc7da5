import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressSpellings, hashSpellings } from '../../src/tools/simulator/spellings.ts';
import type { Asking } from '../support/http-client.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { PurgeWorld, purged, untilFollowed } from './purge-world.ts';
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

  /** Sends a request to one instance, then lets the other one take the answer from Redis. */
  async function known(target: string, asking: Asking = {}): Promise<void> {
    expect((await one.reply(target, asking)).cache).toMatchObject({ stored: true });
    await one.untilRedisHasAll();
    expect((await other.reply(target, asking)).cache).toMatchObject({ hit: true, detail: 'redis' });
  }

  it('of a seqno ends every page of that masterchain block, and of no other, everywhere', async () => {
    const targets = [world.blockSet(), world.blockSet({ limit: '2' }), world.blockSet({ sort: 'asc' })];
    const foreign = targetOf('masterchainBlockShards', { seqno: world.seqno - 1 });
    for (const target of [...targets, foreign]) await known(target);
    const before = Date.now();
    const answer = await purged(one, { seqno: String(world.seqno).padStart(12, '0') });
    expect(answer).toMatchObject({ purged: { seqno: world.seqno } });
    expect(answer.at).toBeGreaterThanOrEqual(before);
    await untilFollowed(other);
    for (const target of targets) {
      expect((await one.reply(target)).cache).toMatchObject({ fwd: 'miss', stored: true });
      await one.untilRedisHasAll();
      // The entry that it finds now was requested after the purge.
      expect((await other.reply(target)).cache).toMatchObject({ hit: true, detail: 'redis' });
    }
    for (const proxy of [one, other]) expect((await proxy.reply(foreign)).cache).toMatchObject({ hit: true });
  });

  it('of a hash or an account covers every call that names it, in any spelling of purge and call', async () => {
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
      await one.reply(target, { headers });
      expect([target, (await one.reply(target, { headers })).cache['hit']]).toEqual([target, true]);
      const before = world.asked;
      await purged(one, body);
      expect([target, (await one.reply(target, { headers })).cache['fwd']]).toEqual([target, 'miss']);
      expect(world.asked).toBe(before + 1);
    }
  });

  it('of everything ends all entries in both tiers, and a second one does so again', async () => {
    const targets = [world.blockSet(), world.blockSet({ limit: '2' })];
    for (let time = 1; time <= 2; time++) {
      for (const target of targets) await known(target);
      expect(await purged(other, { all: true })).toMatchObject({ purged: { all: true } });
      expect(await other.metric('memoryEntries')).toBe(0);
      await untilFollowed(one, time);
      expect(await one.metric('memoryEntries')).toBe(0);
    }
    for (const target of targets) await known(target);
  });

  it.each([-3000, -40, -1, 0, 1, 40, 3000])(
    'is in force when it is answered, with a clock %i ms ahead',
    async (aheadMs) => {
      const skewed = await world.addProxy(() => Date.now() + aheadMs);
      for (const body of [{ all: true }, { seqno: world.seqno }]) {
        await skewed.reply(world.blockSet());
        // An answer requested while the clock of Redis shows a time before the purge is not stored.
        await expect
          .poll(async () => (await skewed.reply(world.blockSet())).cache['ttl'], { interval: 100 })
          .toBeGreaterThan(0);
        await purged(skewed, body);
        expect((await skewed.reply(world.blockSet())).cache).toMatchObject({ fwd: 'miss' });
      }
    },
  );

  it.each([-3, 0, 3])(
    'is answered after its instant has passed, so that later requests are sent once, with a clock %i ms ahead',
    async (aheadMs) => {
      const skewed = await world.addProxy(() => Date.now() + aheadMs);
      for (const body of [{ all: true }, { seqno: world.seqno }]) {
        await skewed.reply(world.blockSet());
        const { at } = await purged(skewed, body);
        expect(Date.now() + aheadMs).toBeGreaterThan(at);
        world.indexer.requests.reset();
        expect((await skewed.reply(world.blockSet())).cache).toMatchObject({ stored: true });
        expect((await skewed.reply(world.blockSet())).cache).toMatchObject({ hit: true });
        expect(world.asked).toBe(1);
      }
    },
  );

  it('leaves nothing to fall back on when the indexer fails', async () => {
    const target = world.blockSet();
    await known(target);
    await purged(one, { seqno: world.seqno });
    await untilFollowed(other);
    world.indexer.faults.inject({ kind: 'reset' });
    for (const proxy of [one, other]) expect((await proxy.reply(target)).status).toBe(502);
  });

  it.each([{ all: true }, { seqno: true }])(
    'is not undone by a flight that was under way, and a later request is sent again: %o',
    async (selector) => {
      const body = 'all' in selector ? selector : { seqno: world.seqno };
      const target = world.blockSet();
      const gate = world.indexer.hold();
      const { answer: early } = await other.sendIn(target);
      await gate.arrived(1);
      await purged(one, body);
      await untilFollowed(other);
      const { answer: later } = await other.sendIn(target);
      gate.release();
      expect([(await early).status, (await later).status]).toEqual([200, 200]);
      expect(world.asked).toBe(2);
      expect((await other.reply(target)).cache).toMatchObject({ hit: true });
      expect(world.asked).toBe(2);
    },
  );

  it('holds for an instance that is started afterwards', async () => {
    const target = world.blockSet();
    await known(target);
    await purged(one, { seqno: world.seqno });
    await Promise.all([one.close(), other.close()]);
    const newcomer = await world.addProxy();
    expect((await newcomer.reply(target)).cache).toMatchObject({ fwd: 'miss', stored: true });
    await newcomer.untilRedisHasAll();
    expect((await (await world.addProxy()).reply(target)).cache).toMatchObject({ hit: true, detail: 'redis' });
  });

  it('is logged once by the instance that got the request, and once by the other that applied it', async () => {
    await purged(one, { seqno: world.seqno });
    await untilFollowed(other);
    expect(one.log.filter(({ msg }) => msg.includes('purged'))).toMatchObject([{ seqno: world.seqno }]);
    expect(other.log.filter(({ msg }) => msg.includes('purges of other'))).toMatchObject([{ purges: 1 }]);
    expect(await one.metric('purges', { selector: 'seqno' })).toBe(1);
  });
});
