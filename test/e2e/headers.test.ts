import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DIALECTS as TRAITS } from '../../src/simulator/dialect.ts';
import { failed } from '../../src/simulator/faults.ts';
import {
  childrenOfSettled,
  finalizedTrace,
  futureBlock,
  newestBlock,
  nothingPending,
  parentOfSettled,
  pendingTrace,
  settledParent,
  someHash,
  targetOf,
  unknownTransaction,
} from './questions.ts';
import { ANY_WORLD, WORLDS, World } from './world.ts';

const HOUR_MS = 3_600_000;

/** All that an answer of the proxy may have: whatever else the indexer sends stays behind. */
const KNOWN_HEADERS = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'age',
  'cache-control',
  'cache-status',
  'connection',
  'content-length',
  'content-type',
  'date',
  'etag',
  'retry-after',
  'vary',
  'x-api-version',
  'x-content-type-options',
  'x-request-id',
];

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe.each(WORLDS)('headers before indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });

  it('let clients keep final answers for an hour, and growing ones for their lifetime', async () => {
    const controls = async (target: string) => (await world.ask(target)).headers['cache-control'];
    expect(await controls(newestBlock(world))).toBe(`public, max-age=${kind.dialect === 'spec' ? 600 : 3600}`);
    expect(await controls(parentOfSettled(world))).toBe('public, max-age=3600');
    expect(await controls(childrenOfSettled(world))).toMatch(/^public, max-age=[1-3]$/);
  });

  it('let clients keep no live answer, absence or error', async () => {
    const targets = [
      pendingTrace(world),
      finalizedTrace(world),
      nothingPending(),
      unknownTransaction(),
      futureBlock(world),
      '/api/v3/pendingTraces',
    ];
    for (const target of targets) {
      for (const time of ['first', 'second']) {
        const { headers } = await world.ask(target);
        expect([target, time, headers['cache-control']]).toEqual([target, time, 'no-store']);
      }
    }
    world.indexer.faults.inject(failed(500));
    expect((await world.ask(unknownTransaction())).headers['cache-control']).toBe('no-store');
  });

  it('name in Vary exactly the headers that the operation reads', async () => {
    const forPending = ['x-actions-version', 'x-no-address-book', 'x-no-metadata'];
    const cases: [string, string[]][] = [
      [pendingTrace(world), forPending],
      [nothingPending(), forPending],
      ['/api/v3/pendingTraces', forPending],
      [childrenOfSettled(world), ['x-no-address-book']],
      [unknownTransaction(), ['x-no-address-book']],
      [newestBlock(world), []],
      [futureBlock(world), []],
    ];
    for (const [target, expected] of cases) {
      for (const time of ['miss', 'hit']) {
        const { headers, bytes } = await world.ask(target);
        const vary = headers.vary?.split(',').map((name) => name.trim().toLowerCase()) ?? [];
        // What is shorter is never encoded.
        const all = bytes.length >= 1024 ? ['accept-encoding', ...expected] : expected;
        expect([target, time, vary.sort()]).toEqual([target, time, all]);
      }
    }
  });

  it("have the indexer's X-API-Version, on hits, absences and its own errors too", async () => {
    const { apiVersion } = TRAITS[kind.dialect];
    for (const target of [newestBlock(world), unknownTransaction(), nothingPending()]) {
      expect((await world.ask(target)).headers['x-api-version']).toBe(apiVersion);
      expect((await world.ask(target)).headers['x-api-version']).toBe(apiVersion);
      expect((await world.ask(target, { method: 'HEAD' })).headers['x-api-version']).toBe(apiVersion);
    }
    expect((await world.ask('/api/v3/pendingTraces')).headers).not.toHaveProperty('x-api-version');
  });

  it('hold no other header of the indexer', async () => {
    const target = parentOfSettled(world);
    const { text } = await world.askIndexer(target);
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Set-Cookie': 'session=1',
      'Server-timing': 'total;dur=1',
      'Cache-Control': 'public, max-age=99999',
      Expires: 'Thu, 01 Jan 2099 00:00:00 GMT',
      ETag: '"theirs"',
      'Last-Modified': 'Thu, 01 Jan 2015 00:00:00 GMT',
      Age: '12345',
      Vary: '*',
      'Access-Control-Allow-Origin': 'https://indexer.example',
      'Access-Control-Allow-Credentials': 'true',
      'X-Request-Id': 'theirs',
      'Cache-Status': 'cdn; hit',
      Server: 'nginx',
      Via: '1.1 cdn',
      'X-Ratelimit-Remaining': '3',
      Link: '<x>; rel=next',
      'Strict-Transport-Security': 'max-age=1',
    };
    world.indexer.faults.inject({ kind: 'answer', status: 200, body: text, headers });
    for (const time of ['miss', 'hit']) {
      const reply = await world.ask(target);
      expect(Object.keys(reply.headers).filter((name) => !KNOWN_HEADERS.includes(name))).toEqual([]);
      expect(reply.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'public, max-age=3600',
        'access-control-allow-origin': '*',
        age: '0',
      });
      expect([time, reply.headers.etag]).not.toEqual([time, '"theirs"']);
      expect(reply.headers.vary).toMatch(/^(Accept-Encoding, )?X-No-Address-Book$/);
      expect(reply.text === text).toBe(true);
    }
    expect(world.forwarded).toHaveLength(1);
  });

  it('count Age from the request to the indexer', async () => {
    const target = parentOfSettled(world);
    const gate = world.indexer.hold();
    const sending = await world.proxy.sendIn(target);
    await gate.arrived(1);
    world.advance(2_500);
    gate.release();
    expect((await sending.answer).headers).toMatchObject({ age: '2', 'cache-control': 'public, max-age=3602' });
    // The lifetime itself starts when the answer was received.
    expect(await world.ask(target)).toMatchObject({ headers: { age: '2' }, cache: { ttl: 3_600 } });
    world.advance(500);
    expect(await world.ask(target)).toMatchObject({ headers: { age: '3' }, cache: { ttl: 3_599 } });
    await world.leap(HOUR_MS);
    expect(await world.ask(target)).toMatchObject({ headers: { age: '3603' }, cache: { ttl: -1 } });
  });
});

describe('headers', () => {
  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });

  it('let clients keep an old final answer as long as a new one, and never longer than it is fresh', async () => {
    const target = newestBlock(world);
    const control = async () => {
      const { headers } = await world.ask(target);
      return `${headers.age}: ${headers['cache-control']}`;
    };
    await control();
    await world.leap(2 * HOUR_MS);
    expect(await control()).toBe('7200: public, max-age=10800');
    await world.leap(21.5 * HOUR_MS);
    expect(await control()).toBe('84600: public, max-age=86400');
    await world.leap(0.5 * HOUR_MS - 1);
    expect(await control()).toBe('86399: public, max-age=86399');
    await world.leap(1);
    expect(await control()).toBe('86400: public, max-age=0');
  });

  it('let clients keep no stale answer that is served in place of a failure', async () => {
    const target = newestBlock(world);
    const { etag } = (await world.ask(target)).headers;
    await world.leap(25 * HOUR_MS);
    world.indexer.faults.inject(failed(500));
    for (const headers of [{}, { 'If-None-Match': etag ?? '' }]) {
      const reply = await world.ask(target, { headers });
      expect(reply).toMatchObject({ headers: { 'cache-control': 'public, max-age=0' }, cache: { fwd: 'stale' } });
    }
  });

  it('let no client keep a growing answer for more than a minute', async () => {
    const now = Math.floor(world.now / 1000) - 50_000;
    const body = JSON.stringify({ transactions: [{ hash: 'x', now, mc_block_seqno: 1 }], address_book: {} });
    world.indexer.faults.inject({ kind: 'answer', status: 200, body }, { times: 1 });
    const { hash } = settledParent(world);
    const { headers } = await world.ask(targetOf('adjacentTransactions', { hash, direction: 'out' }));
    expect(headers['cache-control']).toBe('public, max-age=60');
    await world.leap(100_000);
    const later = await world.ask(targetOf('adjacentTransactions', { hash, direction: 'out' }));
    expect(later.headers).toMatchObject({ age: '100', 'cache-control': 'public, max-age=160' });
    const other = targetOf('adjacentTransactions', { hash: someHash(), direction: 'out' });
    expect((await world.ask(other)).cache).not.toMatchObject({ hit: true });
  });

  it('have the shortened lifetime as max-age', async () => {
    await using shortened = await world.addProxy({ random: () => 0.999999 });
    const { seqno } = settledParent(world);
    const page = targetOf('masterchainBlockShards', { seqno, limit: 1 });
    const exact = await world.ask(page);
    expect(exact.headers['cache-control']).toBe('public, max-age=600');
    const { headers } = await world.ask(page, {}, shortened);
    expect(headers['cache-control']).toBe('public, max-age=540');
  });

  it('have X-API-Version as the indexer sent it when the indexer itself answers with an error', async () => {
    world.indexer.faults.inject(failed(500));
    const { status, headers } = await world.ask(unknownTransaction());
    expect([status, headers['x-api-version']]).toEqual([500, TRAITS[ANY_WORLD.dialect].apiVersion]);
  });

  it('have a new request id on every answer that is no memory hit', async () => {
    const target = newestBlock(world);
    const replies = [
      await world.ask(target),
      await world.ask('/api/v3/pendingTraces'),
      await world.ask('/api/v3/unheardOf'),
      await world.ask(target, { method: 'POST' }),
      await world.ask(unknownTransaction(), { method: 'HEAD' }),
      await world.ask(nothingPending(), { headers: { 'If-None-Match': '*' } }),
    ];
    const ids = replies.map(({ headers }) => headers['x-request-id']);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
    expect(new Set(ids).size).toBe(ids.length);
    expect((await world.ask(target)).headers).not.toHaveProperty('x-request-id');
  });

  it('have a request id on the answer to a preflight too', async () => {
    const { headers } = await world.ask('/api/v3/pendingTraces', { method: 'OPTIONS' });
    expect(headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  });

  it.each(['a', 'A.b_c-9', 'x'.repeat(64), '0f8fad5b-d9cb-469f-a165-70867728950e'])('repeat the id %s', async (id) => {
    const asking = { headers: { 'X-Request-Id': id } };
    expect((await world.ask(unknownTransaction(), asking)).headers['x-request-id']).toBe(id);
    expect((await world.ask('/nowhere', asking)).headers['x-request-id']).toBe(id);
    expect((await world.ask('/api/v3/pendingTraces', asking)).headers['x-request-id']).toBe(id);
  });

  it.each([
    ['too long', 'x'.repeat(65)],
    ['with a space', 'a b'],
    ['with other letters', 'caf\u00e9'],
    ['with markup', '<script>'],
    ['empty', ''],
    ['given twice', ['one', 'two']],
  ])('do not repeat an id that is %s', async (_, id) => {
    const { headers } = await world.ask(unknownTransaction(), { headers: { 'X-Request-Id': id } });
    expect(headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
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
