import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { decodeBody, encodeBody } from '../../../src/cache/content-coding.ts';
import { formsOf, keptBytes } from '../../../src/cache/forms.ts';
import { type Accepted, ENCODINGS, IDENTITY_ONLY } from '../../../src/content-codings.ts';
import { aFormMaker, anEntry } from '../../support/entry.ts';

const BODY = Buffer.from(JSON.stringify({ transactions: Array.from({ length: 200 }, (_, number) => ({ number })) }));
const GZIP: Accepted = [['gzip'], ['identity']];
const BR: Accepted = [['br'], ['identity']];

const lasting = (body = BODY) => anEntry({ body, lifetime: 60_000 });
const live = () => anEntry({ body: BODY, lifetime: 400 });

function observed(options = {}) {
  const [report, onChange] = [vi.fn(), vi.fn()];
  const forms = aFormMaker({ report, onChange, ...options });
  const idle = () => expect.poll(() => forms.pending).toBe(0);
  return { forms, report, onChange, idle };
}

describe('a body', () => {
  test.each(ENCODINGS)('is decoded to what was encoded: %s', async (encoding) => {
    const body = fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes));
    await fc.assert(
      fc.asyncProperty(body, fc.nat(40), async (part, times) => {
        const whole = Buffer.concat(Array.from({ length: times }, () => part));
        const encoded = await encodeBody(encoding, whole);
        expect(encoded.buffer.byteLength).toBe(encoded.byteLength);
        const decoded = await decodeBody(encoding, encoded, whole.length);
        expect(decoded?.equals(whole)).toBe(true);
        expect(decoded?.buffer.byteLength).toBe(whole.length);
        if (whole.length > 0) expect(await decodeBody(encoding, encoded, whole.length - 1)).toBeUndefined();
        expect(await decodeBody(encoding, encoded, whole.length + 1)).toBeUndefined();
      }),
      { numRuns: 40 },
    );
  });

  test.each(ENCODINGS)('that is none is not decoded: %s', async (encoding) => {
    for (const length of [10, 200_000]) {
      expect(await decodeBody(encoding, Buffer.from('no such thing'), length)).toBeUndefined();
    }
  });

  test.each(ENCODINGS)('that would decode to far more than it says is not: %s', async (encoding) => {
    const bomb = await encodeBody(encoding, Buffer.alloc(16 * 1024 * 1024));
    for (const length of [1000, 100_000]) expect(await decodeBody(encoding, bomb, length)).toBeUndefined();
  });
});

describe('an answer that lasts', () => {
  test('goes out as it is until it is encoded, once, for all who accept it', async () => {
    const { forms, report, idle } = observed();
    const entry = lasting();
    for (let time = 0; time < 3; time++)
      expect(forms.of(entry, GZIP)).toMatchObject({ coding: 'identity', body: BODY });
    await idle();
    const form = await forms.of(entry, GZIP);
    expect(form).toMatchObject({ coding: 'gzip', varies: true });
    expect(gunzipSync(form?.body ?? '')).toEqual(BODY);
    expect(report.mock.calls).toEqual([[{ name: 'encoded', encoding: 'gzip' }]]);
  });

  test('is kept in what was asked for alone', async () => {
    const { forms, onChange, idle } = observed();
    const entry = lasting();
    void forms.of(entry, GZIP);
    await idle();
    expect(onChange).toHaveBeenCalledWith(entry);
    expect(entry.forms.identity).toBeUndefined();
    expect(keptBytes(entry.forms)).toBe(entry.forms.gzip?.byteLength);
    expect(await forms.of(entry, IDENTITY_ONLY)).toMatchObject({ coding: 'identity', body: BODY });
    expect([entry.forms.identity, entry.forms.gzip]).not.toContain(undefined);
  });

  test('stays as it is where that was asked for', async () => {
    const { forms, idle } = observed();
    const entry = lasting();
    void forms.of(entry, IDENTITY_ONLY);
    void forms.of(entry, GZIP);
    await idle();
    expect([entry.forms.identity, entry.forms.gzip]).not.toContain(undefined);
  });

  test('is made in the best that is accepted, and what is kept is sent before another one is made', async () => {
    const { forms, report, idle } = observed();
    const entry = lasting();
    void forms.of(entry, [['br'], ['gzip', 'zstd'], ['identity']]);
    await idle();
    expect(await forms.of(entry, [['gzip', 'br'], ['identity']])).toMatchObject({ coding: 'br' });
    expect(report.mock.calls).toEqual([[{ name: 'encoded', encoding: 'br' }]]);
  });

  test('is encoded for Redis once, together with what a client asked for', async () => {
    const { forms, report, idle } = observed();
    const entry = lasting();
    const stored = forms.toStore(entry);
    void forms.of(entry, GZIP);
    expect(await stored).toMatchObject({ coding: 'gzip' });
    await idle();
    expect((await stored).body.buffer).toBe(entry.forms.gzip);
    expect(await forms.toStore(entry)).toEqual(await stored);
    expect(report).toHaveBeenCalledTimes(1);
  });

  test('takes no more memory for what is stored in Redis alone', async () => {
    const { forms } = observed();
    const entry = lasting();
    void forms.of(entry, IDENTITY_ONLY);
    expect(await forms.toStore(entry)).toMatchObject({ coding: 'gzip' });
    expect(keptBytes(entry.forms)).toBe(BODY.length);
  });

  test('is encoded from another encoding where that alone is kept', async () => {
    const { forms, idle } = observed();
    const entry = anEntry({ lifetime: 60_000, forms: formsOf(await encodeBody('gzip', BODY), 'gzip', BODY.length) });
    void forms.of(entry, BR);
    await idle();
    expect(await forms.of(entry, BR)).toMatchObject({ coding: 'br' });
  });

  test('of which an encoding would not be shorter is never encoded again', async () => {
    const { forms, report, idle } = observed({ minBytes: 1 });
    const entry = lasting(Buffer.from('x'));
    for (let time = 0; time < 3; time++) {
      expect(await forms.of(entry, GZIP)).toMatchObject({ coding: 'identity' });
      await idle();
      expect(await forms.toStore(entry)).toMatchObject({ coding: 'identity' });
    }
    expect(report).toHaveBeenCalledTimes(1);
  });

  test('is not encoded while too many others are', async () => {
    const { forms, report, idle } = observed();
    for (let number = 0; number < 100; number++) void forms.of(lasting(), GZIP);
    expect(forms.pending).toBe(64);
    await idle();
    expect(report).toHaveBeenCalledTimes(64);
  });
});

describe('an answer that is live', () => {
  test('is encoded when it is asked for again', async () => {
    const { forms, report, idle } = observed();
    const entry = live();
    void forms.of(entry, GZIP);
    expect([forms.pending, (await forms.toStore(entry)).coding]).toEqual([0, 'identity']);
    void forms.of(entry, GZIP);
    await idle();
    expect(report).toHaveBeenCalledTimes(1);
  });
});

describe('what is not encoded', () => {
  test('are short bodies, and all where nothing is to be', async () => {
    const { forms } = observed();
    expect(forms.of(anEntry(), GZIP)).toMatchObject({ coding: 'identity', varies: false });
    const off = observed({ encodings: [] }).forms;
    expect(off.of(lasting(), GZIP)).toMatchObject({ coding: 'identity', varies: false });
    expect(await off.toStore(lasting())).toMatchObject({ coding: 'identity' });
    expect([forms.pending, off.pending]).toEqual([0, 0]);
  });
});

describe('what cannot be decoded', () => {
  test.each([2000, 200_000])('is no form: %i bytes', async (bytes) => {
    const { forms } = observed();
    const entry = anEntry({ forms: formsOf(Buffer.from('no gzip'), 'gzip', bytes) });
    expect(await forms.of(entry, IDENTITY_ONLY)).toBeUndefined();
    void forms.of(entry, BR);
    await expect.poll(() => forms.pending).toBe(0);
    expect(entry.forms.br).toBeUndefined();
  });
});
