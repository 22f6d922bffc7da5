import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GUARD_MS } from '../support/patience.ts';
import type { Reply, RunningProxy } from '../support/start-proxy.ts';
import { accepting, decoded, encodingOf, WITH_REDIS } from './encoded-answers.ts';
import { nothingPending, parentOfSettled, pendingTrace, unknownTransaction } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

let world: World;
afterEach(() => world[Symbol.asyncDispose]());
const encoded = (proxy = world.proxy) => proxy.metric('bodiesCompressed');

/** Sends requests until the answer comes in an encoding, which is made in the background. */
async function untilEncoded(target: string, acceptEncoding: string, proxy = world.proxy): Promise<Reply> {
  return vi.waitFor(
    async () => {
      const reply = await world.ask(target, accepting(acceptEncoding), proxy);
      expect(encodingOf(reply)).toBeDefined();
      return reply;
    },
    { timeout: GUARD_MS, interval: 5 },
  );
}

/** Sends requests on one connection that is kept, as for the fast lane. */
async function askOneByOne(proxy: RunningProxy, target: string, acceptEncodings: readonly string[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const replies: { headers: IncomingMessage['headers']; bytes: Buffer }[] = [];
  for (const acceptEncoding of acceptEncodings) {
    const { hostname, port } = new URL(proxy.url);
    const sending = request({ hostname, port, path: target, agent, headers: { 'Accept-Encoding': acceptEncoding } });
    sending.end();
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    replies.push({ headers: response.headers, bytes: await buffer(response) });
  }
  agent.destroy();
  return replies;
}

describe.each([
  { kind: ANY_WORLD, fastLane: true },
  { kind: ANY_WORLD, fastLane: false },
  { kind: WITH_REDIS, fastLane: true },
])('an answer for clients that accept encodings, $kind.tiers, fast lane $fastLane', ({ kind, fastLane }) => {
  beforeEach(async () => {
    world = await World.start({ ...kind, proxy: { overrides: { http: { fastLane } } } });
  });

  it('is sent as gzip that unpacks to the body that clients without gzip get', async () => {
    const target = parentOfSettled(world);
    const { text } = await world.askIndexer(target);
    const reply = await untilEncoded(target, 'gzip');
    expect([encodingOf(reply), decoded(reply)]).toEqual(['gzip', text]);
    expect(reply.headers['content-length']).toBe(String(reply.bytes.length));
    expect(reply.bytes.length).toBeLessThan(text.length / 1.5);
    const plain = await world.ask(target);
    expect([encodingOf(plain), plain.text]).toEqual([undefined, text]);
    expect(plain.cache).toMatchObject({ hit: true, detail: 'memory' });
  });

  it('is compressed once for all clients that accept it', async () => {
    const target = parentOfSettled(world);
    await untilEncoded(target, 'gzip');
    for (let time = 0; time < 5; time++) {
      expect(encodingOf(await world.ask(target, accepting('zstd, br, gzip')))).toBe('gzip');
      expect(encodingOf(await world.ask(target))).toBeUndefined();
    }
    expect(await encoded()).toBe(1);
  });

  it('is encoded as the Accept-Encoding of each request on a kept connection allows', async () => {
    const target = parentOfSettled(world);
    const { text } = await world.askIndexer(target);
    await untilEncoded(target, 'gzip');
    const replies = await askOneByOne(world.proxy, target, ['gzip', '', 'br', 'identity', 'gzip', 'deflate']);
    expect(replies.map(encodingOf)).toEqual(['gzip', undefined, undefined, undefined, 'gzip', undefined]);
    expect(replies.map(decoded)).toEqual(replies.map(() => text));
  });

  it.each([
    ['', undefined],
    ['identity', undefined],
    ['gzip;q=0', undefined],
    ['*', 'gzip'],
    ['br, zstd', undefined],
    ['x-gzip', 'gzip'],
    ['identity;q=0, gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'gzip'],
  ])('is encoded as Accept-Encoding allows: %j results in %s', async (acceptEncoding, encoding) => {
    const target = parentOfSettled(world);
    const { text } = await world.askIndexer(target);
    if (encoding !== undefined) await untilEncoded(target, acceptEncoding);
    for (let time = 0; time < 2; time++) {
      const reply = await world.ask(target, accepting(acceptEncoding));
      expect([encodingOf(reply), decoded(reply)]).toEqual([encoding, text]);
    }
    if (encoding === undefined && kind === ANY_WORLD) expect(await encoded()).toBe(0);
  });

  it('has one entity tag per encoding, which gives a 304 only to clients that would get that encoding', async () => {
    const target = parentOfSettled(world);
    const replies = [await world.ask(target), await untilEncoded(target, 'gzip')];
    const tags = replies.map(({ headers }) => headers.etag ?? '');
    expect(new Set(tags).size).toBe(2);
    for (const tag of tags) {
      expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/);
      for (const [index, acceptEncoding] of ['', 'gzip'].entries()) {
        const reply = await world.ask(target, accepting(acceptEncoding, { 'If-None-Match': `"x", W/${tag}` }));
        const isSame = tag === tags[index];
        expect([reply.status, reply.headers.etag]).toEqual([isSame ? 304 : 200, tags[index]]);
        expect(reply.headers.vary).toMatch(/^Accept-Encoding/);
        if (isSame) expect([reply.text, encodingOf(reply)]).toEqual(['', undefined]);
      }
    }
    const other = await world.ask(target, accepting('gzip', { 'If-None-Match': '"x-gzip"' }));
    expect([other.status, encodingOf(other)]).toEqual([200, 'gzip']);
  });

  it('is sent unchanged when it is short, and does not depend on Accept-Encoding', async () => {
    for (const target of [unknownTransaction(), nothingPending()]) {
      for (let time = 0; time < 2; time++) {
        const reply = await world.ask(target, accepting('gzip'));
        expect(encodingOf(reply)).toBeUndefined();
        expect(reply.headers.vary).not.toMatch(/Accept-Encoding/);
      }
    }
    expect(await encoded()).toBe(0);
  });

  it('is encoded when it is stale, too', async () => {
    const target = parentOfSettled(world);
    const { text } = await world.askIndexer(target);
    await untilEncoded(target, 'gzip');
    await world.leap(2 * 3_600_000);
    world.indexer.faults.inject({ kind: 'reset' });
    const reply = await world.ask(target, accepting('gzip'));
    expect([encodingOf(reply), decoded(reply)]).toEqual(['gzip', text]);
    expect(reply.cache['ttl']).toBeLessThan(0);
  });

  it('is encoded only at the second request, if it is live', async () => {
    const target = pendingTrace(world);
    const { headers, bytes } = await world.ask(target, accepting('gzip'));
    expect([bytes.length > 1024, headers['content-encoding']]).toEqual([true, undefined]);
    expect(await encoded()).toBe(0);
    const reply = await untilEncoded(target, 'gzip');
    expect(decoded(reply)).toBe(bytes.toString());
    expect(await encoded()).toBe(1);
  });

  it('is kept only in the requested encodings', async () => {
    const target = parentOfSettled(world);
    const { bytes } = await world.askIndexer(target);
    // The fast lane keeps the head that it has sent with a body.
    const headBytes = fastLane ? 640 + 330 : 0;
    const reply = await untilEncoded(target, 'gzip');
    const keptBytes = await world.proxy.metric('toncache_memory_tier_bytes');
    for (let time = 0; time < 2; time++) await world.ask(target);
    expect(await world.proxy.metric('toncache_memory_tier_bytes')).toBe(keptBytes + bytes.length + headBytes);
    expect(reply.bytes.length).toBeLessThan(bytes.length);
  });
});
