import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import type { Asking } from '../support/http-client.ts';
import {
  childrenOfSettled,
  newestBlock,
  nothingPending,
  settledParent,
  someHash,
  targetOf,
  unknownTransaction,
} from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

const HOUR_MS = 3_600_000;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe('headers', () => {
  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });

  it('let clients keep an old final answer as long as a new one, and never longer than it is fresh', async () => {
    const target = newestBlock(world);
    const control = async () => {
      const { headers } = await world.ask(target);
      return `${headers.age}: ${headers['cache-control']}; ${headers['x-accel-expires']} in nginx`;
    };
    await control();
    await world.leap(2 * HOUR_MS);
    expect(await control()).toBe('7200: public, max-age=10800; 3600 in nginx');
    await world.leap(21.5 * HOUR_MS);
    expect(await control()).toBe('84600: public, max-age=86400; 1800 in nginx');
    await world.leap(0.5 * HOUR_MS - 1);
    expect(await control()).toBe('86399: public, max-age=86399; 0 in nginx');
    await world.leap(1);
    expect(await control()).toBe('86400: public, max-age=0; 0 in nginx');
  });

  it('let clients keep no stale answer that is served in place of a failure', async () => {
    const target = newestBlock(world);
    const { etag } = (await world.ask(target)).headers;
    await world.leap(25 * HOUR_MS);
    world.indexer.faults.inject(failed(500));
    for (const headers of [{}, { 'If-None-Match': etag ?? '' }]) {
      const reply = await world.ask(target, { headers });
      const kept = { 'cache-control': 'public, max-age=0', 'x-accel-expires': '0' };
      expect(reply).toMatchObject({ headers: kept, cache: { fwd: 'stale' } });
    }
  });

  it('tell nginx the rest of the lifetime: with HEAD, with 304 and in both lanes', async () => {
    const target = newestBlock(world);
    const { etag = '' } = (await world.ask(target)).headers;
    await world.leap(HOUR_MS * 23.5);
    const askings: [number, Asking][] = [
      [200, {}],
      [200, { headers: { TE: 'trailers' } }],
      [200, { method: 'HEAD' }],
      [304, { headers: { 'If-None-Match': etag } }],
      [304, { headers: { 'If-None-Match': etag, TE: 'trailers' } }],
      [304, { method: 'HEAD', headers: { 'If-None-Match': etag } }],
      [200, { headers: { 'Accept-Encoding': 'gzip' } }],
    ];
    for (const [status, asking] of askings) {
      const reply = await world.ask(target, asking);
      expect([status, reply.status, reply.headers['x-accel-expires'], asking]).toEqual([
        status,
        status,
        '1800',
        asking,
      ]);
    }
  });

  it('omit X-Accel-Expires for private and no-store answers', async () => {
    const kept = async (target: string, headers: Readonly<Record<string, string>> = {}) => {
      const reply = await world.ask(target, { headers });
      return [reply.headers['cache-control'], reply.headers['x-accel-expires']];
    };
    const hash = settledParent(world).hash;
    const parent = targetOf('adjacentTransactions', { hash, direction: 'in' });
    for (let time = 0; time < 2; time++) {
      expect(await kept(unknownTransaction())).toEqual(['no-store', undefined]);
      const isPrivate = [expect.stringMatching(/^private, max-age=[0-9]+$/), undefined];
      expect(await kept(parent.replace('direction=in', 'direction=out'), { 'X-No-Address-Book': 'true' })).toEqual(
        isPrivate,
      );
    }
  });

  it('let no client keep a growing answer for more than a minute', async () => {
    const now = Math.floor(world.now / 1000) - 50_000;
    const body = JSON.stringify({ transactions: [{ hash: 'x', now, mc_block_seqno: 1 }], address_book: {} });
    await world.proxy.learnHead(childrenOfSettled(world));
    world.indexer.faults.inject({ kind: 'answer', status: 200, body }, { times: 1 });
    const hash = someHash();
    const { headers } = await world.ask(targetOf('adjacentTransactions', { hash, direction: 'out' }));
    expect(headers['cache-control']).toBe('public, max-age=60');
    await world.leap(100_000);
    const later = await world.ask(targetOf('adjacentTransactions', { hash, direction: 'out' }));
    expect(later.headers).toMatchObject({ age: '100', 'cache-control': 'public, max-age=160' });
    const other = targetOf('adjacentTransactions', { hash: someHash(), direction: 'out' });
    expect((await world.ask(other)).cache).not.toMatchObject({ hit: true });
  });

  it('have the randomly shortened lifetime as max-age', async () => {
    await using shortened = await world.addProxy({ random: () => 0.999999 });
    const { seqno } = settledParent(world);
    const page = targetOf('masterchainBlockShards', { seqno, limit: 1 });
    const exact = await world.ask(page);
    expect(exact.headers['cache-control']).toBe('public, max-age=600');
    const { headers } = await world.ask(page, {}, shortened);
    expect(headers['cache-control']).toBe('public, max-age=540');
  });

  it('have a new request id on every answer except memory hits', async () => {
    const target = newestBlock(world);
    const replies = [
      await world.ask(target),
      await world.ask('/api/v3/pendingTraces'),
      await world.ask('/api/v3/unheardOf'),
      await world.ask(target, { method: 'POST' }),
      await world.ask(target, { method: 'OPTIONS' }),
      await world.ask(unknownTransaction(), { method: 'HEAD' }),
      await world.ask(nothingPending(), { headers: { 'If-None-Match': '*' } }),
    ];
    const ids = replies.map(({ headers }) => headers['x-request-id']);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(ids).size).toBe(ids.length);
    expect((await world.ask(target)).headers).not.toHaveProperty('x-request-id');
  });

  it.each(['a', 'A.b_c-9', 'a/b:c=d+e@f', 'x'.repeat(128), '0f8fad5b-d9cb-469f-a165-70867728950e'])(
    'repeat the id %s',
    async (id) => {
      const asking = { headers: { 'X-Request-Id': id } };
      expect((await world.ask(unknownTransaction(), asking)).headers['x-request-id']).toBe(id);
      expect((await world.ask('/nowhere', asking)).headers['x-request-id']).toBe(id);
      expect((await world.ask('/api/v3/pendingTraces', asking)).headers['x-request-id']).toBe(id);
    },
  );

  it.each([
    ['too long', 'x'.repeat(129)],
    ['with a space', 'a b'],
    ['with letters beyond ASCII', 'caf\u00e9'],
    ['with markup', '<script>'],
    ['empty', ''],
    ['given twice', ['one', 'two']],
  ])('do not repeat an invalid id: %s', async (_, id) => {
    const { headers } = await world.ask(unknownTransaction(), { headers: { 'X-Request-Id': id } });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect([id].flat()).not.toContain(headers['x-request-id']);
  });

  it('do not let a client bypass the cache', async () => {
    const target = newestBlock(world);
    await world.ask(target);
    for (const headers of [
      { 'Cache-Control': 'no-cache' },
      { 'Cache-Control': 'no-store, max-age=0' },
      { Pragma: 'no-cache' },
      { 'If-Modified-Since': 'Thu, 01 Jan 2099 00:00:00 GMT' },
      { Range: 'bytes=0-3' },
      { Authorization: 'Bearer x' },
    ]) {
      expect(await world.ask(target, { headers })).toMatchObject({ status: 200, cache: { hit: true } });
    }
    expect(world.forwarded).toHaveLength(1);
  });
});
