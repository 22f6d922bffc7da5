import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DIALECTS as TRAITS } from '../../src/tools/simulator/dialect.ts';
import { failed } from '../../src/tools/simulator/faults.ts';
import {
  childrenOfSettled,
  finalizedTrace,
  futureBlock,
  newestBlock,
  nothingPending,
  parentOfSettled,
  pendingTrace,
  unknownTransaction,
} from './questions.ts';
import { WORLDS, World } from './world.ts';

const HOUR_MS = 3_600_000;

/** All headers of an answer of the proxy: no other header of the indexer is sent. */
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
  'keep-alive',
  'retry-after',
  'vary',
  'x-accel-expires',
  'x-api-version',
  'x-content-type-options',
  'x-request-id',
];

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe.each(WORLDS)('headers in front of indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });

  it('let clients keep final answers for up to an hour, and growing ones for their lifetime', async () => {
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
        // Shorter bodies are never encoded.
        const all = bytes.length >= 1024 ? ['accept-encoding', ...expected] : expected;
        expect([target, time, vary.sort()]).toEqual([target, time, all]);
      }
    }
  });

  it('have the X-API-Version of the indexer, also on hits, absences and errors of the indexer', async () => {
    const { apiVersion } = TRAITS[kind.dialect];
    for (const target of [newestBlock(world), unknownTransaction(), nothingPending()]) {
      expect((await world.ask(target)).headers['x-api-version']).toBe(apiVersion);
      expect((await world.ask(target)).headers['x-api-version']).toBe(apiVersion);
      expect((await world.ask(target, { method: 'HEAD' })).headers['x-api-version']).toBe(apiVersion);
    }
    expect((await world.ask('/api/v3/pendingTraces')).headers).not.toHaveProperty('x-api-version');
    world.indexer.faults.inject(failed(500));
    const { status, headers } = await world.ask(unknownTransaction());
    expect([status, headers['x-api-version']]).toEqual([500, apiVersion]);
  });

  it('have no header of the indexer except Content-Type, X-API-Version and Age', async () => {
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
        // Age is added: it is the time in another cache.
        'cache-control': 'public, max-age=12346',
        'access-control-allow-origin': '*',
        age: '12345',
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
