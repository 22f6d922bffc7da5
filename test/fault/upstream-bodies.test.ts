import { randomBytes } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fault, garbage, withoutList } from '../../src/tools/simulator/faults.ts';
import { newestBlock, settledParent, someHash, targetOf } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { answering, expectFailure, expectNotKept, startFaultyWorld } from './faulty-world.ts';

const MIB = 1024 * 1024;
let world: World;

beforeEach(async () => {
  world = await startFaultyWorld({ overrides: { upstream: { maxBodySize: MIB } } });
});

afterEach(() => world[Symbol.asyncDispose]());

async function expectRefused(fault: Fault, detail: string): Promise<void> {
  const target = newestBlock(world);
  world.indexer.faults.inject(fault, { times: 1 });
  expectFailure(await world.ask(target), 502, detail);
  await expectNotKept(world, target);
}

/** Requests the newest masterchain block while the indexer answers like this, and expects the right body. */
async function expectTaken(fault: Fault): Promise<void> {
  const target = newestBlock(world);
  const truth = await world.askIndexer(target);
  world.indexer.faults.inject(fault, { times: 1 });
  const reply = await world.ask(target);
  expect([reply.status, reply.text, reply.cache['stored']]).toEqual([200, truth.text, true]);
  expect(reply.headers).not.toHaveProperty('content-encoding');
  expect((await world.ask(target)).text).toBe(truth.text);
}

/** RFC 1952 2.3.1: the last eight bytes are checksum and length. */
function withWrongChecksum(gzip: Buffer): Buffer {
  gzip.writeUInt32LE(~gzip.readUInt32LE(gzip.length - 8) >>> 0, gzip.length - 8);
  return gzip;
}

describe('a body that does not answer the operation becomes 502 and is not cached:', () => {
  const bodies: [string, Fault][] = [
    ['HTML', garbage('html')],
    ['half a JSON', garbage('not-json')],
    ['nothing', garbage('empty')],
    ['JSON without the list', withoutList()],
    ['an error with status 200', answering('{"error":"timeout"}')],
    ['two documents', answering('{"blocks":[]}{"blocks":[]}')],
  ];
  it.each(bodies)('%s', async (_, fault) => {
    await expectRefused(fault, 'upstream-invalid');
    expect(world.proxy.log.filter(({ msg }) => msg.startsWith('the response of the indexer is not'))).toHaveLength(1);
  });

  it('for every operation', async () => {
    const targets = [
      targetOf('pendingTraces', { ext_msg_hash: someHash() }),
      targetOf('adjacentTransactions', { hash: settledParent(world).hash }),
      newestBlock(world),
    ];
    world.indexer.faults.inject(answering('{"address_book":{},"metadata":{}}'), { times: 3 });
    for (const target of targets) expectFailure(await world.ask(target), 502, 'upstream-invalid');
    for (const target of targets) await expectNotKept(world, target);
  });
});

describe('a body over the limit becomes 502 and is not cached:', () => {
  it.each(['content-length', 'chunked'] as const)('framed by %s', async (framing) => {
    await expectRefused({ kind: 'huge', bytes: MIB + 1, framing }, 'upstream-too-large');
  });

  it('when it is 64 times as large, and the request to the indexer is ended', async () => {
    await expectRefused({ kind: 'huge', bytes: 64 * MIB, framing: 'chunked' }, 'upstream-too-large');
    await expect.poll(() => world.indexer.requests.inHand).toBe(0);
  });

  it('when it grows during decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB));
    expect(bomb.length).toBeLessThan(MIB);
    await expectRefused(answering(bomb, { 'Content-Encoding': 'gzip' }), 'upstream-too-large');
  });

  it.each(['content-length', 'chunked'] as const)(
    'but a body of exactly the limit is accepted, framed by %s',
    async (framing) => {
      const target = newestBlock(world);
      world.indexer.faults.inject({ kind: 'huge', bytes: MIB, framing }, { times: 1 });
      const reply = await world.ask(target);
      expect([reply.status, reply.bytes.length]).toEqual([200, MIB]);
      expect((await world.ask(target)).digest).toBe(reply.digest);
    },
  );
});

describe('a compressed body', () => {
  it('is accepted with its encoding in any case, and an uncompressed body with identity', async () => {
    const truth = (await world.askIndexer(newestBlock(world))).bytes;
    await expectTaken(answering(gzipSync(truth), { 'Content-Encoding': 'GZip' }));
    expect(world.forwarded[0]?.headers['accept-encoding']).toBe('gzip');
    world.advance(400);
    await expectTaken(
      answering((await world.askIndexer(newestBlock(world))).bytes, { 'Content-Encoding': 'identity' }),
    );
  });

  const BLOCK_SET = Buffer.from(JSON.stringify({ blocks: [], padding: randomBytes(2000).toString('hex') }));
  const broken: [string, string, Buffer][] = [
    ['invalid gzip', 'gzip', BLOCK_SET],
    ['gzip cut short', 'gzip', gzipSync(BLOCK_SET).subarray(0, -20)],
    ['gzip with a wrong checksum', 'gzip', withWrongChecksum(gzipSync(BLOCK_SET))],
    ['br, which was not accepted', 'br', brotliCompressSync(BLOCK_SET)],
    ['an encoding that was not requested', 'deflate', deflateSync(BLOCK_SET)],
    ['an unknown encoding', 'x-own', BLOCK_SET],
    ['two encodings', 'gzip, br', brotliCompressSync(gzipSync(BLOCK_SET))],
  ];
  it.each(broken)('that is %s becomes 502 and is not cached', async (_, coding, body) => {
    await expectRefused(answering(body, { 'Content-Encoding': coding }), 'upstream-invalid');
  });
});

describe('a large body with more rows than any list has', () => {
  it('becomes 502, and requests within the failure TTL send nothing to the indexer', async () => {
    await using proxied = await startFaultyWorld({ overrides: { coalescing: { failureTtl: 60_000 } } });
    const packed = gzipSync(`{"blocks":[${'{},'.repeat(MIB / 4)}{}]}`, { level: 1 });
    const slow = answering(packed, { 'Content-Encoding': 'gzip' });
    proxied.indexer.faults.inject(slow);
    const target = newestBlock(proxied);
    for (let time = 0; time < 3; time++) expectFailure(await proxied.ask(target), 502);
    expect(proxied.forwarded).toHaveLength(1);
  });
});
