import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cacheKey, requestIn } from '../../../../src/ton/cache-key.ts';
import { runGetMethod } from '../../../../src/ton/operations/run-get-method.ts';
import { parseCall, requestOf, whyUncached } from '../../../../src/ton/parse-call.ts';
import { addressSpellings } from '../../../../src/tools/simulator/spellings.ts';

const ADDRESS = `0:${'AB'.repeat(32)}`;

const callOf = (body: unknown) =>
  parseCall(runGetMethod, '', {}, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
const keyOf = (body: unknown) => cacheKey('mainnet', callOf(body));
const asked = (more: object = {}) => ({ address: ADDRESS, method: 'get_wallet_data', stack: [], ...more });
const bodyOf = (body: unknown) => requestOf(callOf(body), []).body;

/** A text that UTF-8 can have. */
const texts = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
const entries = fc.record({
  type: fc.constantFrom('num', 'cell', 'slice'),
  value: fc.oneof(texts, fc.maxSafeInteger()),
});
const stacks = fc.array(entries, { maxLength: 16 });

describe('a get-method', () => {
  test('is sent as it was asked, whatever its method and stack, and has a key of its own', () => {
    fc.assert(
      fc.property(texts, stacks, texts, stacks, (method, stack, otherMethod, otherStack) => {
        const [one, other] = [asked({ method, stack }), asked({ method: otherMethod, stack: otherStack })];
        expect(JSON.parse(bodyOf(one) ?? '')).toEqual(one);
        expect(keyOf(one) === keyOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
        // So does an entry in Redis, whose request is read from its key.
        expect(Object.fromEntries(requestIn(keyOf(one)).query)).toMatchObject({ method, stack: JSON.stringify(stack) });
      }),
    );
  });

  test('has one key for all spellings of its address, and for members in any order', () => {
    const spellings = addressSpellings({ workchain: 0, hash: Buffer.from('AB'.repeat(32), 'hex') });
    const { method, stack } = asked();
    for (const address of Object.values(spellings)) expect(keyOf({ stack, method, address })).toBe(keyOf(asked()));
    expect(keyOf(asked({ stack: [{ value: 1, type: 'num' }] }))).toBe(
      keyOf(asked({ stack: [{ type: 'num', value: 1 }] })),
    );
    expect(keyOf(asked({ stack: [{ type: 'num', value: '1' }] }))).not.toBe(
      keyOf(asked({ stack: [{ type: 'num', value: 1 }] })),
    );
  });

  test.each([
    ['the largest safe integer', { stack: [{ type: 'num', value: 2 ** 53 - 1 }] }],
    ['16 arguments', { stack: Array(16).fill({ type: 'num', value: 0 }) }],
  ])('has a cached form with %s', (_, more) => {
    expect(JSON.parse(bodyOf(asked(more)) ?? '')).toEqual(asked(more));
  });

  test.each([
    ['a number above it', { stack: [{ type: 'num', value: 2 ** 53 }] }],
    ['17 arguments', { stack: Array(17).fill({ type: 'num', value: 0 }) }],
    ['a query that some version may read', undefined],
  ])('has none with %s', (_, more) => {
    const call = () =>
      more === undefined
        ? parseCall(runGetMethod, 'seqno=7', {}, Buffer.from(JSON.stringify(asked())))
        : callOf(asked(more));
    expect(call).toThrow();
    try {
      call();
    } catch (error) {
      expect(whyUncached(error)).toBeTruthy();
    }
  });

  test('is only compared, never proven, with an exit code other than 0', () => {
    const { request } = callOf(asked());
    const failed = (exit_code: number) => runGetMethod.evidence?.(request, { exit_code, stack: [] });
    expect(failed(0)).toMatchObject({
      kind: 'method',
      accounts: [ADDRESS],
      method: 'get_wallet_data',
      hasFailed: false,
    });
    expect(failed(11)).toMatchObject({ hasFailed: true });
  });
});
