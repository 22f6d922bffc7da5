import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { childrenOfSettled, parentOfSettled, pendingTrace, someHash, targetOf } from './questions.ts';
import { ANY_WORLD, World, type WorldKind } from './world.ts';

const MINUTE_MS = 60_000;
/** A header for which a request is left to Node's HTTP server. */
const NODES_LANE = { TE: 'trailers' };

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe.each<WorldKind>([ANY_WORLD, { ...ANY_WORLD, tiers: 'memory and Redis' }])(
  'toncache behind toncache, $tiers',
  (kind) => {
    let outer: RunningProxy;
    /** The two share no keys. */
    const asOuter = () => ({ upstreamUrl: world.proxy.url, env: { NETWORK: `${world.network}-outer` } });

    beforeEach(async () => {
      // Nothing goes to Redis of a server that does not name its head.
      world = await World.start({ ...kind, proxy: { env: { CACHE_OPERATIONS: 'masterchainInfo' } } });
      outer = await world.addProxy(asOuter());
    });

    it('keeps an answer of the other cache for the rest of its lifetime, and adds up Age', async () => {
      const target = parentOfSettled(world);
      await world.ask(target);
      await world.leap(50 * MINUTE_MS);
      expect((await world.ask(target, {}, outer)).headers).toMatchObject({
        age: '3000',
        'cache-control': 'public, max-age=3600',
      });
      await world.leap(4 * MINUTE_MS);
      for (const headers of [{}, NODES_LANE]) {
        const hit = await world.ask(target, { headers }, outer);
        expect(hit).toMatchObject({
          headers: { age: '3240', 'cache-control': 'public, max-age=3600' },
          cache: { hit: true, ttl: 360 },
        });
        const again = { headers: { ...headers, 'If-None-Match': hit.headers.etag ?? '' } };
        expect(await world.ask(target, again, outer)).toMatchObject({
          status: 304,
          headers: { age: '3240', 'cache-control': 'public, max-age=3600' },
        });
      }
      if (kind.tiers === 'memory and Redis') {
        const another = await world.addProxy(asOuter());
        expect(await world.ask(target, {}, another)).toMatchObject({
          headers: { age: '3240', 'cache-control': 'public, max-age=3600' },
          cache: { hit: true, detail: 'redis', ttl: 360 },
        });
      }
      await world.leap(6 * MINUTE_MS - 1);
      expect(await world.ask(target, {}, outer)).toMatchObject({ cache: { hit: true, ttl: 0 } });
      world.advance(1);
      expect(await world.ask(target, {}, outer)).toMatchObject({ cache: { ttl: -1 } });
    });

    it('keeps a stale answer of the other cache for a second', async () => {
      const target = parentOfSettled(world);
      await world.ask(target);
      await world.leap(120 * MINUTE_MS);
      world.indexer.faults.inject(failed(500));
      expect(await world.ask(target, {}, outer)).toMatchObject({
        status: 200,
        headers: { age: '7200', 'cache-control': 'public, max-age=7201' },
        cache: { fwd: 'miss', stored: true },
      });
      world.advance(999);
      expect(await world.ask(target, {}, outer)).toMatchObject({
        headers: { age: '7200' },
        cache: { hit: true, ttl: 0 },
      });
      world.advance(1);
      expect(await world.ask(target, {}, outer)).toMatchObject({ headers: { age: '7201' }, cache: { ttl: -1 } });
    });
  },
);

describe('an answer with Age', () => {
  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });

  const answerWith = (body: string, age: string) =>
    world.indexer.faults.inject({ kind: 'answer', status: 200, body, headers: { Age: age } }, { times: 1 });

  it('that can grow is fresh for the lifetime by its age rule, minus Age', async () => {
    await world.proxy.learnHead(childrenOfSettled(world));
    const now = Math.floor(world.now / 1000) - 10_000;
    answerWith(JSON.stringify({ transactions: [{ hash: 'x', now, mc_block_seqno: 1 }], address_book: {} }), '950');
    const target = targetOf('adjacentTransactions', { hash: someHash(), direction: 'out' });
    expect((await world.ask(target)).headers).toMatchObject({ age: '950', 'cache-control': 'public, max-age=1000' });
    // A tenth of the age of the youngest child, which is 1000 s and a part of a second.
    expect((await world.ask(target)).cache['ttl']).toBeOneOf([49, 50]);
  });

  it('is fresh for its full lifetime if that is a second or less', async () => {
    const target = pendingTrace(world);
    answerWith((await world.askIndexer(target)).text, '100');
    expect((await world.ask(target)).headers).toMatchObject({ age: '100', 'cache-control': 'no-store' });
    world.advance(399);
    expect(await world.ask(target)).toMatchObject({ headers: { age: '100' }, cache: { hit: true, ttl: 0 } });
    world.advance(1);
    expect((await world.ask(target)).cache['ttl']).toBe(-1);
  });

  it('is served if it was requested after a purge, even if Age is longer than the time since the purge', async () => {
    const target = parentOfSettled(world);
    const { text } = await world.askIndexer(target);
    await world.ask(target);
    const headers = { 'Content-Type': 'application/json' };
    await world.proxy.askAdmin('/purge', { method: 'POST', headers, body: '{"all":true}' });
    world.advance(1000);
    answerWith(text, '600');
    expect((await world.ask(target)).cache).toMatchObject({ fwd: 'miss', stored: true });
    expect(await world.ask(target)).toMatchObject({ headers: { age: '600' }, cache: { hit: true, ttl: 3000 } });
  });

  it.each([
    ['that is given several times uses the first value', '60, 3599', '60'],
    ['that is not a number is treated as an answer without Age', 'some', '0'],
  ])('%s', async (_, given, age) => {
    const target = parentOfSettled(world);
    answerWith((await world.askIndexer(target)).text, given);
    expect((await world.ask(target)).headers).toMatchObject({ age, 'cache-control': 'public, max-age=3600' });
  });
});

describe('an answer that a header of the request may have changed', () => {
  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });

  it.each([
    ['in the fast lane', {}],
    ["in Node's lane", NODES_LANE],
  ])('is private, and requests without such a header get a public answer: %s', async (_, lane) => {
    const target = parentOfSettled(world);
    const whose = async (query: string, headers = {}, method = 'GET') => {
      const reply = await world.ask(target + query, { method, headers: { ...lane, ...headers } });
      return [reply.status, reply.headers['cache-control']?.split(',')[0]];
    };
    for (const value of ['true', 'false', '', ['true', 'true']]) {
      const header = { 'X-No-Address-Book': value };
      for (const time of ['miss', 'hit']) {
        for (const method of ['GET', 'HEAD'])
          expect([time, await whose('', header, method)]).toEqual([time, [200, 'private']]);
        expect([time, await whose('', { ...header, 'If-None-Match': '*' })]).toEqual([time, [304, 'private']]);
        // The header takes precedence over the parameter, and changes the meaning of its URL.
        expect([time, await whose('&x_no_address_book=true', header)]).toEqual([time, [200, 'private']]);
      }
    }
    for (const query of ['', '&x_no_address_book=true']) {
      for (const time of ['miss', 'hit', 'again']) expect([time, await whose(query)]).toEqual([time, [200, 'public']]);
      expect(await whose(query, { 'If-None-Match': '*', 'X-Actions-Version': 'v1' })).toEqual([304, 'public']);
    }
    await world.leap(61 * MINUTE_MS);
    world.indexer.faults.inject(failed(500));
    for (const [headers, control] of [
      [{ 'X-No-Address-Book': 'true' }, 'private, max-age=0'],
      [{}, 'public, max-age=0'],
    ] as const) {
      const reply = await world.ask(target, { headers: { ...lane, ...headers } });
      expect(reply).toMatchObject({ status: 200, headers: { 'cache-control': control } });
    }
  });

  it('is sent with no-store if it is live', async () => {
    const headers = { 'X-Actions-Version': 'v1', 'X-No-Metadata': 'true' };
    expect((await world.ask(pendingTrace(world), { headers })).headers['cache-control']).toBe('no-store');
  });
});
