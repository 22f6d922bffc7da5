import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Fault,
  failed,
  garbage,
  rateLimited,
  redirect,
  refusedKey,
  withoutList,
} from '../../src/tools/simulator/faults.ts';
import { newestBlock, nothingPending, unknownTransaction } from './questions.ts';
import { ANY_WORLD, DIALECTS, WORLDS, World, type WorldProxyOptions } from './world.ts';

/** Failed loads are repeated at once, so that each request shows whether an answer was cached. */
const WITHOUT_FAILURE_TTL: WorldProxyOptions = { overrides: { coalescing: { failureTtl: 0 } } };

function errorIn(text: string): unknown {
  return JSON.parse(text).error;
}

/** What the indexer does, what the client gets, and whether the body is the indexer's own. */
const FAILURES: readonly (readonly [name: string, fault: Fault, status: number, body: 'theirs' | 'ours'])[] = [
  ['500', failed(500), 500, 'theirs'],
  ['502 of a provider', failed(502), 502, 'theirs'],
  ['503', failed(503), 503, 'theirs'],
  ['422', failed(422), 422, 'theirs'],
  ['500 in plain text', failed(500, 'text'), 500, 'ours'],
  ['422 in plain text', failed(422, 'text'), 422, 'ours'],
  ['404 in plain text', failed(404, 'text'), 502, 'ours'],
  ['404 in HTML', { kind: 'answer', status: 404, body: '<html>Not Found</html>' }, 502, 'ours'],
  ['404 without an error', { kind: 'answer', status: 404, body: '{"detail":"Not Found"}' }, 502, 'ours'],
  ['404 with an error that is no text', { kind: 'answer', status: 404, body: '{"error":{}}' }, 502, 'ours'],
  ['401', refusedKey(401), 502, 'ours'],
  ['403', refusedKey(403), 502, 'ours'],
  ['302', redirect('/api/v3/masterchainInfo'), 502, 'ours'],
  ['600', { kind: 'answer', status: 600, body: '{"error":"no such class"}' }, 502, 'ours'],
  ['204', { kind: 'answer', status: 204, body: '' }, 502, 'ours'],
  ['HTML', garbage('html'), 502, 'ours'],
  ['half of a JSON text', garbage('not-json'), 502, 'ours'],
  ['nothing', garbage('empty'), 502, 'ours'],
  ['JSON without the list', withoutList(), 502, 'ours'],
  ['a list alone', { kind: 'answer', status: 200, body: '[]' }, 502, 'ours'],
  ['null', { kind: 'answer', status: 200, body: 'null' }, 502, 'ours'],
  ['the list of another operation', { kind: 'answer', status: 200, body: '{"accounts":[]}' }, 502, 'ours'],
  ['a list that is none', { kind: 'answer', status: 200, body: '{"traces":{},"transactions":{}}' }, 502, 'ours'],
  ['an error with status 200', { kind: 'answer', status: 200, body: '{"error":"sorry"}' }, 502, 'ours'],
  ['half of its answer, by Content-Length', { kind: 'cut', framing: 'content-length' }, 502, 'ours'],
  ['half of its answer, in chunks', { kind: 'cut', framing: 'chunked' }, 502, 'ours'],
  ['a reset', { kind: 'reset' }, 502, 'ours'],
];

describe.each(DIALECTS)('failures of indexer %s', (dialect) => {
  let world: World;

  // Each failure before a proxy that has seen no other: many in a row are another matter.
  beforeEach(async () => {
    world = await World.start({ dialect, tiers: 'memory alone', proxy: WITHOUT_FAILURE_TTL });
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it.each(FAILURES)('reach the client and are never cached: %s', async (_, fault, status, body) => {
    for (const target of [nothingPending(), newestBlock(world), unknownTransaction()]) {
      const injected = world.indexer.faults.inject(fault);
      const reply = await world.ask(target);
      expect(reply.status).toBe(status);
      expect(reply.headers['content-type']).toBe('application/json');
      expect(reply.headers['cache-control']).toBe('no-store');
      expect(reply.headers).not.toHaveProperty('etag');
      expect(reply.cache).toMatchObject({ fwd: 'miss', detail: expect.any(String) });
      expect(reply.cache).not.toHaveProperty('stored');
      expect(errorIn(reply.text)).toEqual(expect.any(String));
      if (fault.kind === 'answer') expect(reply.text === fault.body).toBe(body === 'theirs');
      injected.remove();
      const asked = world.forwarded.length;
      expect(await world.ask(target)).toMatchObject({ cache: { fwd: 'miss', stored: true } });
      expect(world.forwarded).toHaveLength(asked + 1);
    }
    // The redirect was not followed.
    expect(world.indexer.requests.count('masterchainInfo')).toBe(0);
  });

  it.each([
    ['7', '7'],
    [() => new Date(world.now + 9_000).toUTCString(), '9'],
    ['100000', '3600'],
    ['soon', undefined],
    [undefined, undefined],
  ])('keep the Retry-After of a 503: %s', async (sent, seconds) => {
    const retryAfter = typeof sent === 'function' ? sent() : sent;
    world.indexer.faults.inject(failed(503, 'json', retryAfter));
    const { status, headers } = await world.ask(unknownTransaction());
    expect([status, headers['retry-after']]).toEqual([503, seconds]);
  });
});

describe.each(WORLDS)('an indexer $dialect that asks for a pause, $tiers', (kind) => {
  let world: World;

  afterEach(() => world[Symbol.asyncDispose]());
  beforeEach(async () => {
    world = await World.start({ ...kind, proxy: { ...WITHOUT_FAILURE_TTL, stopsTime: true } });
  });

  it.each([
    ['JSON', rateLimited('json', '7'), 7],
    ['plain text', rateLimited('text', '7'), 7],
    ['JSON without Retry-After', rateLimited('json'), 1],
    ['plain text without Retry-After', rateLimited('text'), 1],
  ])('gets no requests for that long: %s', async (_, fault, seconds) => {
    const hit = newestBlock(world);
    await world.ask(hit);
    const limit = world.indexer.faults.inject(fault);
    const first = await world.ask(unknownTransaction());
    expect(first).toMatchObject({ status: 503, headers: { 'retry-after': String(seconds) } });
    expect(first.cache).toMatchObject({ fwd: 'miss', 'fwd-status': 429 });
    expect(errorIn(first.text)).toEqual(expect.any(String));
    limit.remove();
    world.now += seconds * 1000 - 1;
    const paused = await world.ask(unknownTransaction());
    expect(paused).toMatchObject({ status: 503, headers: { 'retry-after': '1', 'cache-control': 'no-store' } });
    expect((await world.ask(hit)).cache).toMatchObject({ hit: true });
    expect(world.forwarded).toHaveLength(2);
    world.now += 1;
    expect((await world.ask(unknownTransaction())).status).toBe(404);
    expect(world.forwarded).toHaveLength(3);
  });

  it('may say when to come back by a date', async () => {
    const date = new Date(world.now + 20_000).toUTCString();
    world.indexer.faults.inject(rateLimited('json', date), { times: 1 });
    expect(await world.ask(unknownTransaction())).toMatchObject({ status: 503, headers: { 'retry-after': '20' } });
    world.now += 19_999;
    expect((await world.ask(unknownTransaction())).status).toBe(503);
    world.now += 1;
    expect((await world.ask(unknownTransaction())).status).toBe(404);
  });
});

describe('failures', () => {
  let world: World;

  afterEach(() => world[Symbol.asyncDispose]());

  it('answer their key for the failure TTL, and the indexer is asked once', async () => {
    world = await World.start(ANY_WORLD);
    world.indexer.faults.inject(failed(500), { times: 1 });
    const target = unknownTransaction();
    const replies = await Promise.all([world.ask(target), world.ask(target), world.ask(target)]);
    expect(replies.map(({ status }) => status)).toEqual([500, 500, 500]);
    expect(world.forwarded).toHaveLength(1);
    await expect.poll(async () => (await world.ask(target)).status, { interval: 10 }).toBe(404);
    expect(world.forwarded).toHaveLength(2);
  });

  it('of the API key are one clear line in the log, without data of the client', async () => {
    world = await World.start({ ...ANY_WORLD, proxy: { env: { UPSTREAM_API_KEY: 'wrong-key' } } });
    world.indexer.faults.inject(refusedKey(401));
    for (let client = 0; client < 5; client++) expect((await world.ask(unknownTransaction())).status).toBe(502);
    const lines = world.proxy.log.filter(({ level }) => level >= 40);
    expect(lines).toMatchObject([{ level: 50, msg: expect.stringContaining('UPSTREAM_API_KEY') }]);
    expect(JSON.stringify(lines)).not.toContain('wrong-key');
  });

  it('become 504 when no answer comes in time, and 502 when there is no connection', async () => {
    world = await World.start({ ...ANY_WORLD, proxy: { env: { UPSTREAM_TIMEOUT: '150ms' } } });
    world.indexer.faults.inject({ kind: 'hang' });
    const late = await world.ask(unknownTransaction());
    expect([late.status, late.headers['cache-control'], late.cache['fwd']]).toEqual([504, 'no-store', 'miss']);
    expect(errorIn(late.text)).toEqual(expect.any(String));
    world.indexer.faults.clear();
    world.indexer.faults.inject({ kind: 'slow', chunkBytes: 1, pauseMs: 50 });
    expect((await world.ask(newestBlock(world))).status).toBe(504);
    const patient = await world.addProxy();
    await world.indexer.close();
    const refused = await world.ask(unknownTransaction(), {}, patient);
    expect([refused.status, errorIn(refused.text)]).toEqual([502, expect.any(String)]);
  });
});
