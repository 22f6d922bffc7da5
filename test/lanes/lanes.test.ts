import { afterAll, beforeAll, describe, it } from 'vitest';
import { FORMS } from '../hostile/smuggling-forms.ts';
import { compareLanes, type Lanes, type Stream, streamOf } from './compare-lanes.ts';
import { startEchoServer } from './echo-server.ts';

let lanes: Lanes;

beforeAll(() => {
  lanes = { fast: startEchoServer({ fastLane: true }), node: startEchoServer({ fastLane: false }) };
});

afterAll(async () => {
  await Promise.all([lanes.fast.drain(0), lanes.node.drain(0)]);
});

const compareAll = (streams: readonly Stream[]) => Promise.all(streams.map((stream) => compareLanes(lanes, stream)));

const HIT = '/api/v3/masterchainBlockShards?hit';
const MISS = '/api/v3/masterchainBlockShards?miss';
const get = (target: string, fields = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${fields}\r\n`;

describe('the fast lane and Node give the same answers', () => {
  it('to streams of all kinds', async () => {
    for (let batch = 0; batch < 30; batch++) {
      const seeds = Array.from({ length: 100 }, (_, i) => `${batch}/${i}`);
      await Promise.all(seeds.map((seed) => compareLanes(lanes, streamOf(seed))));
    }
  });

  it.each(FORMS.map((form) => [form.name, form] as const))('to bytes that hide a request: %s', async (name, form) => {
    const bytes = form.write(`GET ${HIT}`, get('/api/v3/masterchainBlockShards?hit&hidden'));
    await compareAll([
      { name, reads: [bytes], ends: false },
      { name, reads: [get(MISS) + bytes], ends: false },
      { name, reads: [get(HIT), bytes], ends: true },
    ]);
  });

  it.each([
    ['hits', get(HIT) + get(HIT, 'If-None-Match: "tag of hit"\r\n')],
    ['a hit behind a miss', get(MISS) + get(HIT)],
    ['a miss that Node reads behind a hit', get(HIT) + get(MISS).replace('GET', 'HEAD')],
    ['a body behind a hit', `${get(HIT)}${get(HIT, 'Content-Length: 5\r\n')}abcde${get(HIT)}`],
    ['a malformed request behind a hit', `${get(HIT)}GET / HTTP/1.1\nHost: x\r\n\r\n`],
    ['a request to close', get(HIT) + get(HIT, 'Connection: close\r\n') + get(HIT)],
    ['a large answer', get('/api/v3/masterchainBlockShards?hit-large') + get(HIT)],
    ['an empty line before a hit', `\r\n${get(HIT)}`],
  ])('wherever a stream is split: %s', async (name, bytes) => {
    const streams: Stream[] = [{ name, reads: [...bytes], ends: true }];
    for (let cut = 1; cut < bytes.length; cut++) {
      streams.push({ name, reads: [bytes.slice(0, cut), bytes.slice(cut)], ends: cut % 2 === 0 });
    }
    await compareAll(streams);
  });

  it.each([1, 16, 17, 18, 100])('to %d concurrent requests', async (count) => {
    for (const [name, bytes] of [
      ['hits', get(HIT)],
      ['misses', get(MISS)],
    ] as const) {
      await compareAll([
        { name, reads: [bytes.repeat(count)], ends: false },
        // A client that closes its end gives up its misses.
        { name, reads: [bytes.repeat(count)], ends: name === 'hits' },
        { name, reads: [bytes.repeat(count) + get('/')], ends: false },
      ]);
    }
  });
});
