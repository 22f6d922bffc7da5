import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
import { ANY_WORLD, WORLDS, World } from './world.ts';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

describe.each(WORLDS)('bodies before indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });

  it('pass byte for byte, on the miss and on the hit', async () => {
    const targets = [
      newestBlock(world),
      childrenOfSettled(world),
      parentOfSettled(world),
      pendingTrace(world),
      nothingPending(),
      unknownTransaction(),
      futureBlock(world),
    ];
    for (const target of targets) {
      const direct = await world.askIndexer(target);
      for (const time of ['miss', 'hit']) {
        const { status, digest, headers } = await world.ask(target);
        expect([target, time, status, digest]).toEqual([target, time, direct.status, direct.digest]);
        expect(headers['content-length']).toBe(String(direct.bytes.length));
        expect(headers['content-type']).toBe(direct.headers['content-type']);
      }
    }
    expect(world.forwarded).toHaveLength(targets.length);
  });

  it('pass byte for byte through Redis', async () => {
    if (kind.tiers === 'memory alone') return;
    for (const target of [newestBlock(world), childrenOfSettled(world), parentOfSettled(world)]) {
      const { digest } = await world.ask(target);
      await world.proxy.untilRedisHasAll();
      await using other = await world.addProxy();
      const reply = await world.ask(target, {}, other);
      expect([reply.digest, reply.cache['detail']]).toEqual([digest, 'redis']);
    }
  });

  it('come out plain when the indexer compresses them', async () => {
    const target = finalizedTrace(world);
    const direct = await world.askIndexer(target);
    const zipped = { headers: { 'Content-Encoding': 'gzip' }, body: gzipSync(direct.bytes) };
    world.indexer.faults.inject({ kind: 'answer', status: 200, ...zipped });
    for (const headers of [{}, { 'Accept-Encoding': 'gzip, br' }]) {
      const reply = await world.ask(target, { headers });
      expect([reply.status, reply.digest]).toEqual([200, direct.digest]);
      expect(reply.headers).not.toHaveProperty('content-encoding');
    }
    expect(world.forwarded).toHaveLength(1);
    expect(world.forwarded[0]?.headers['accept-encoding']).toBe('gzip');
  });

  it('are complete however they are framed and however slowly they come', async () => {
    const direct = await world.askIndexer(parentOfSettled(world));
    world.indexer.faults.inject({ kind: 'slow', chunkBytes: 1_000, pauseMs: 1 });
    expect((await world.ask(parentOfSettled(world))).digest).toBe(direct.digest);
    world.indexer.faults.clear();
    world.indexer.faults.inject({ kind: 'huge', bytes: 1_000_000, framing: 'chunked' });
    const { status, bytes } = await world.ask(newestBlock(world));
    expect([status, bytes.length]).toEqual([200, 1_000_000]);
    expect((await world.ask(newestBlock(world))).bytes.equals(bytes)).toBe(true);
  });
});

describe('bodies', () => {
  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });

  it.each([
    ['white space', '{ "traces" : [ ] ,\n\t"address_book":{ } }\r\n'],
    ['members twice and in any order', '{"x":1,"traces":[],"x":2,"address_book":{},"metadata":{}}'],
    ['numbers beyond doubles', '{"traces":null,"n":123456789012345678901234567890.10,"m":-0,"e":1E400}'],
    ['escapes', '{"traces":[],"s":"\\u0041\\/\\ud83d\\ude00\\u0000"}'],
    ['letters beyond ASCII', '{"traces":[],"s":"привет, мир — 😀"}'],
    ['many bytes that are no UTF-8', Buffer.from('{"traces":[],"s":"\xff\xfe\xc3\x28"}', 'latin1')],
  ])('are not rewritten: %s', async (_, body) => {
    world.indexer.faults.inject({ kind: 'answer', status: 200, body });
    const target = nothingPending();
    for (const fwd of ['miss', undefined]) {
      const reply = await world.ask(target);
      expect(reply).toMatchObject({ status: 200, cache: fwd === undefined ? { hit: true } : { fwd } });
      expect(reply.bytes.equals(Buffer.from(body))).toBe(true);
    }
  });
});
