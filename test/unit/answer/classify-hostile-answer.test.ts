import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import { ASKED_AT, classify, entryOf, failureOf, OUT, PENDING, SHARDS } from './classified.ts';

describe('a hostile body', () => {
  test('is classified without an exception, whatever its form', () => {
    const part = fc.constantFrom('blocks', 'traces', 'transactions', 'error', '__proto__', 'constructor', 'toString');
    const body = fc.oneof(
      fc.json(),
      fc.dictionary(part, fc.jsonValue()).map((members) => JSON.stringify(members)),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    );
    const call = fc.constantFrom(OUT, SHARDS, PENDING);
    fc.assert(
      fc.property(call, body, fc.integer({ min: 200, max: 599 }), (asked, sent, status) => {
        const classified = classify(asked, { body: sent, status });
        if (classified instanceof ProxyError)
          expect(classified.code).toMatch(status === 501 ? 'not-served' : /^upstream-/);
        else expect([200, 404]).toContain(classified.meta.status);
      }),
      { numRuns: 500 },
    );
  });

  test('does not overflow the stack, however deeply it is nested', () => {
    const depth = 200_000;
    const nested = (open: string, inner: string, close: string) => open.repeat(depth) + inner + close.repeat(depth);
    expect(entryOf(PENDING, { body: `{"traces":[${nested('[', '', ']')}]}` }).meta.answerClass).toBe('live');
    expect(entryOf(SHARDS, { body: `{"blocks":${nested('[{"blocks":', '[]', '}]')}}` }).meta.answerClass).toBe('live');
    expect(failureOf(OUT, { body: '['.repeat(depth) }).code).toBe('upstream-invalid');
  });

  test('changes no prototype, and inherited members do not count', () => {
    const polluting = '{"__proto__":{"blocks":[],"error":"x"},"constructor":{"prototype":{"blocks":[]}}}';
    expect(failureOf(SHARDS, { body: polluting }).code).toBe('upstream-invalid');
    expect(failureOf(SHARDS, { body: polluting, status: 404 }).details.upstreamBody).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test('gets a lifetime from 1 s to 1 h, even with numbers out of range', () => {
    for (const now of ['-9007199254740991', '9007199254740991', '0']) {
      const body = `{"transactions":[{"mc_block_seqno":1e308,"now":${now}}]}`;
      for (const chainAt of [undefined, 8.64e15, -8.64e15]) {
        const { freshUntil } = entryOf(OUT, { body, chainAt });
        expect(freshUntil - ASKED_AT - 300).toBeGreaterThanOrEqual(1000);
        expect(freshUntil - ASKED_AT - 300).toBeLessThanOrEqual(3_600_000);
      }
    }
  });
});
