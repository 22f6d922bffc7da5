import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { someNetwork } from '../support/some-network.ts';
import { newestBlock, nothingPending, parentOfSettled, pendingTrace, unknownTransaction } from './questions.ts';
import { ANY_WORLD, WORLDS, World } from './world.ts';

const STRONG = /^"[\x21\x23-\x7e]+"$/;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

function inquire(target: string, ifNoneMatch: string | readonly string[], method = 'GET') {
  return world.ask(target, { method, headers: { 'If-None-Match': ifNoneMatch } });
}

describe.each(WORLDS)('entity tags in front of indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });

  it('are strong, and the same for the same bytes: on a hit, after a refresh, from another instance', async () => {
    const target = newestBlock(world);
    const { headers, digest } = await world.ask(target);
    expect(headers.etag).toMatch(STRONG);
    expect((await world.ask(target)).headers.etag).toBe(headers.etag);
    await world.leap(49 * 3_600_000);
    const again = await world.ask(target);
    expect([again.digest, again.cache['stored']]).toEqual([digest, true]);
    expect(again.headers.etag).toBe(headers.etag);
    await using other = await world.addProxy({ env: { NETWORK: someNetwork() } });
    expect((await world.ask(target, {}, other)).headers.etag).toBe(headers.etag);
  });

  it('differ when the body does', async () => {
    const target = pendingTrace(world);
    const before = await world.ask(target);
    world.advance(5_000);
    const after = await world.ask(target);
    expect(after.digest).not.toBe(before.digest);
    expect(after.headers.etag).toMatch(STRONG);
    expect(after.headers.etag).not.toBe(before.headers.etag);
  });

  it('are compared weakly, also in lists, and all match *', async () => {
    const target = parentOfSettled(world);
    const { headers } = await world.ask(target);
    const tag = headers.etag ?? '';
    const matching = [tag, `W/${tag}`, '*', ` * `, `"a", ${tag}`, `"a,b",W/"c" , ${tag},"d"`, [`"a"`, tag]];
    for (const given of matching) {
      for (const method of ['GET', 'HEAD']) {
        expect([given, (await inquire(target, given, method)).status]).toEqual([given, 304]);
      }
    }
    const others = ['"other"', 'W/"other"', `"a", "b"`, tag.replaceAll('"', ''), `"x${tag.slice(1)}`, '"*"', '""'];
    for (const given of others) expect([given, (await inquire(target, given)).status]).toEqual([given, 200]);
    expect(world.forwarded).toHaveLength(1);
  });

  it('that match get a 304 with the headers of a 200 that caches need, without a body', async () => {
    const target = parentOfSettled(world);
    await world.ask(target);
    world.advance(5_000);
    const full = await world.ask(target);
    const { status, headers, text, cache } = await inquire(target, full.headers.etag ?? '');
    expect([status, text]).toEqual([304, '']);
    for (const name of ['etag', 'cache-control', 'vary', 'age', 'access-control-allow-origin'] as const) {
      expect(headers[name]).toBeDefined();
      expect(headers[name]).toBe(full.headers[name]);
    }
    expect(headers['access-control-expose-headers']).toBe(full.headers['access-control-expose-headers']);
    expect(headers.date).toBeDefined();
    expect(cache).toEqual(full.cache);
    expect(headers).not.toHaveProperty('content-length');
    expect(headers).not.toHaveProperty('content-type');
  });

  it('are compared on a miss too, after the indexer answered', async () => {
    const target = newestBlock(world);
    const { headers } = await world.ask(target);
    await using other = await world.addProxy({ env: { NETWORK: someNetwork() } });
    const asking = { headers: { 'If-None-Match': headers.etag ?? '' } };
    const missed = await world.ask(target, asking, other);
    expect([missed.status, missed.cache]).toMatchObject([304, { fwd: 'miss', stored: true }]);
    expect(world.forwarded[1]?.headers).not.toHaveProperty('if-none-match');
  });
});

describe('If-None-Match', () => {
  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });

  it('is evaluated only if the answer would be 200', async () => {
    const absent = unknownTransaction();
    const { headers } = await world.ask(absent);
    for (const given of ['*', headers.etag ?? '*']) {
      expect(await inquire(absent, given)).toMatchObject({ status: 404, text: expect.stringContaining('error') });
    }
    expect((await inquire('/api/v3/pendingTraces', '*')).status).toBe(422);
    expect((await inquire('/nowhere', '*')).status).toBe(404);
    expect((await inquire(newestBlock(world), '*', 'POST')).status).toBe(405);
    world.indexer.faults.inject({ kind: 'reset' });
    expect((await inquire(unknownTransaction(), '*')).status).toBe(502);
  });

  it('is evaluated for live and empty answers too, though no cache may keep them', async () => {
    for (const target of [pendingTrace(world), nothingPending()]) {
      const { headers } = await world.ask(target);
      const again = await inquire(target, headers.etag ?? '');
      expect([again.status, again.headers['cache-control']]).toEqual([304, 'no-store']);
    }
  });
});
