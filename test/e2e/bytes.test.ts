import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  childrenOfSettled,
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

describe.each(WORLDS)('bodies in front of indexer $dialect, $tiers', (kind) => {
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
});

describe('bodies', () => {
  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });

  it.each([
    ['white space', '{ "traces" : [ ] ,\n\t"address_book":{ } }\r\n'],
    ['duplicate members, in any order', '{"x":1,"traces":[],"x":2,"address_book":{},"metadata":{}}'],
    ['numbers that a double cannot hold', '{"traces":null,"n":123456789012345678901234567890.10,"m":-0,"e":1E400}'],
    ['escapes', '{"traces":[],"s":"\\u0041\\/\\ud83d\\ude00\\u0000"}'],
    ['letters beyond ASCII', '{"traces":[],"s":"привет, мир — 😀"}'],
    ['bytes that are not valid UTF-8', Buffer.from('{"traces":[],"s":"\xff\xfe\xc3\x28"}', 'latin1')],
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
