import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MemoryHit } from '../../../src/answer/get.ts';
import { cacheStatusOf } from '../../../src/answer/phase.ts';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import { type RenderedHit, RenderedHits } from '../../../src/http/fast/rendered-hits.ts';
import { Origins } from '../../../src/http/public/origins.ts';
import { ResponseHeaders } from '../../../src/http/public/response-headers.ts';
import { keepAliveEnd, messageHead } from '../../../src/http/public/response-message.ts';
import { anEntry, bodyOf, someGzip } from '../../support/entry.ts';
import { callOf } from '../ton/requests.ts';

const NOW = 1_700_000_000_000;
const SPELLING = 'masterchainBlockShards?seqno=1';

/** One fresh entry in memory, requested at times that the test sets. */
function oneHit(bodyBytes: number) {
  const entry = anEntry({ body: Buffer.alloc(bodyBytes, 'x'), askedAt: NOW, freshUntil: NOW + 600_000 });
  const memory = new MemoryTier({ now: () => NOW, maxSizeBytes: 16 * 1024 * 1024 });
  memory.set(entry);
  const gzip = someGzip({ onChange: (changed) => memory.resize(changed) });
  const clock = { now: NOW };
  const counted: MemoryHit[] = [];
  const call = callOf('masterchainBlockShards', 'seqno=1');
  const findHit = (): MemoryHit => {
    const sent = { coding: 'identity', body: bodyOf(entry), varies: false } as const;
    return { kind: 'hit', tier: 'memory', entry, sent, call, key: entry.key, collapsed: false, at: clock.now };
  };
  const countHit = (hit: MemoryHit) => void counted.push(hit);
  const responseHeaders = new ResponseHeaders(new Origins());
  const hits = new RenderedHits({ hits: { findHit, countHit }, gzip, keepAliveMs: 5000, responseHeaders });
  /** The head as it is for any other answer. */
  const head = () => {
    const { sent, at, ...hit } = findHit();
    const { operation } = call;
    const context = { request: {}, operation, cacheStatus: cacheStatusOf({ ...hit, at }), requestId: undefined };
    const message = responseHeaders.entry(entry, sent, context, at);
    return messageHead(message) + keepAliveEnd(5000);
  };
  return { entry, clock, counted, head, find: () => hits.find(SPELLING, false) };
}

// `Date` stands still: when its value changes, a head is rendered again.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }));
afterEach(() => void vi.useRealTimers());

const textOf = ({ bytes }: RenderedHit) => bytes.toString('latin1');

describe('a rendered hit', () => {
  it('has head and body in one allocation, and a new Age every second in place', () => {
    const { entry, clock, counted, find } = oneHit(1000);
    const first = find();
    if (first === undefined) throw new Error('not rendered');
    expect(textOf(first)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*Age: 0\r\n.*\r\n\r\nx{1000}$/s);
    const { buffer } = first.bytes;
    expect(bodyOf(entry).buffer).toBe(buffer);
    clock.now += 1000;
    expect(find()?.bytes.buffer).toBe(buffer);
    expect(textOf(first)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*Age: 1\r\n.*\r\n\r\nx{1000}$/s);
    expect(counted).toHaveLength(2);
  });

  it('has the same head as any other answer, at each age', () => {
    const { clock, head, find } = oneHit(1000);
    const allocations = new Set<ArrayBufferLike>();
    for (const seconds of [0, 1, 9, 10, 99, 100, 590, 599]) {
      clock.now = NOW + 1000 * seconds;
      vi.setSystemTime(clock.now);
      const hit = find();
      if (hit === undefined) throw new Error('not rendered');
      expect(textOf(hit)).toBe(head() + 'x'.repeat(1000));
      allocations.add(hit.bytes.buffer);
    }
    expect(allocations.size).toBe(1);
  });

  it('of more than 32 KiB is not copied while a client has not taken the previous one', () => {
    const { entry, clock, counted, find } = oneHit(40_000);
    const first = find();
    if (first === undefined) throw new Error('not rendered');
    const sent = textOf(first);
    first.pendingWrites++;
    for (let second = 0; second < 100; second++) {
      clock.now += 1000;
      expect(find()).toBeUndefined();
    }
    expect(bodyOf(entry).buffer).toBe(first.bytes.buffer);
    expect(textOf(first)).toBe(sent);
    // The other hits are answered and counted on the ordinary path, which shares the body.
    expect(counted).toHaveLength(1);
    first.pendingWrites--;
    expect(find()?.bytes.buffer).toBe(first.bytes.buffer);
  });

  it('of up to 32 KiB is copied while a client has not taken the previous one, which stays as it was sent', () => {
    const { clock, find } = oneHit(30_000);
    const first = find();
    if (first === undefined) throw new Error('not rendered');
    const sent = textOf(first);
    first.pendingWrites++;
    clock.now += 1000;
    const next = find();
    expect(next?.bytes.buffer).not.toBe(first.bytes.buffer);
    expect(textOf(first)).toBe(sent);
  });
});
