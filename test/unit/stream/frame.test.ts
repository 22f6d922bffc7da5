import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFrame } from '../../../src/stream/frame.ts';

const N = 'kalwLUM980IbWsIXu9dP7+ddFOylRjgrGf8sTYkc0x8=';
const A = '0:68E76DD096348D699EC12186153EAEA52D9A98F7105058CD10A728183797E6EE';
const B = '0:7C6A362FF21C4F16158EC078563F414EA3088B94FCC4698126AE7B534DD34E94';

const read = (message: unknown) => parseFrame(JSON.stringify(message));

describe('an event names', () => {
  test.each([
    ['transactions', { finality: 'pending', transactions: [{ account: A }, { account: B }] }, [A, B]],
    ['actions', { finality: 'pending', actions: [{ accounts: [A, B] }, { accounts: [B] }] }, [A, B]],
    ['trace', { finality: 'confirmed', trace: {}, transactions: { h: { account: A } } }, [A]],
    ['trace_invalidated', {}, []],
  ])('%s: its trace and its accounts', (type, body, accounts) => {
    expect(read({ type, trace_external_hash_norm: N, ...body })).toEqual({ kind: 'event', type, trace: N, accounts });
  });

  test('an account alone', () => {
    const event = { type: 'account_state_change', finality: 'confirmed', account: A, state: {} };
    expect(read(event)).toEqual({ kind: 'event', type: 'account_state_change', trace: undefined, accounts: [A] });
  });

  test('what it names whatever its type is', () => {
    const event = { type: 'nft_change', account: A };
    expect(read(event)).toEqual({ kind: 'event', type: 'other', trace: undefined, accounts: [A] });
  });

  test('its trace alone where it is too large to be parsed at once', () => {
    const transactions = { h: { account: A, body: 'x'.repeat(300 * 1024) } };
    const event = { type: 'trace', finality: 'pending', trace_external_hash_norm: N, transactions };
    expect(read(event)).toEqual({ kind: 'event', type: 'trace', trace: N, accounts: [] });
  });
});

describe('an answer', () => {
  test.each([
    [
      { id: 's5', status: 'subscribed' },
      { kind: 'reply', id: 's5', status: 'subscribed' },
    ],
    [{ status: 'pong' }, { kind: 'reply', id: undefined, status: 'pong' }],
    [
      { id: 's4', error: 'addresses are required' },
      { kind: 'error', id: 's4', error: 'addresses are required' },
    ],
    [{ error: 'e'.repeat(500) }, { kind: 'error', id: undefined, error: 'e'.repeat(200) }],
    [
      { id: 7, status: 'pong' },
      { kind: 'reply', id: undefined, status: 'pong' },
    ],
  ])('%j', (message, frame) => expect(read(message)).toEqual(frame));
});

describe('what is no message of the API', () => {
  test.each([
    ['a binary message', Buffer.from('{}'), 'a binary message'],
    ['text', 'hello', 'not JSON'],
    ['nothing', '', 'not JSON'],
    ['half an event', `{"type":"transactions","trace_external_hash_norm":"${N}"`, 'not JSON'],
    ['a list', '[]', 'no object'],
    ['null', 'null', 'no object'],
    ['an empty object', '{}', 'no type, status or error'],
    ['an event of nothing', '{"type":"transactions","transactions":[]}', 'an event that names nothing'],
    [
      'an event of names that are none',
      '{"type":"x","account":7,"transactions":[1,{"account":null}]}',
      'an event that names nothing',
    ],
    ['a large text', 'x'.repeat(300 * 1024), 'too large'],
  ])('%s is bad', (_, data, reason) => expect(parseFrame(data)).toEqual({ kind: 'bad', reason }));
});

test('any data is read without a throw, as one of four kinds', () => {
  const data = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc.anything(),
    fc
      .record(
        {
          type: fc.oneof(fc.constantFrom('transactions', 'actions', 'trace'), fc.jsonValue()),
          trace_external_hash_norm: fc.jsonValue(),
          transactions: fc.jsonValue(),
          actions: fc.jsonValue(),
          account: fc.jsonValue(),
          status: fc.jsonValue(),
          error: fc.jsonValue(),
          id: fc.jsonValue(),
        },
        { requiredKeys: [] },
      )
      .map((message) => JSON.stringify(message)),
  );
  fc.assert(
    fc.property(data, (given) => {
      const frame = parseFrame(given);
      expect(['event', 'reply', 'error', 'bad']).toContain(frame.kind);
      if (frame.kind !== 'event') return;
      const names = [frame.trace, ...frame.accounts].filter((name) => name !== undefined);
      expect(names.length).toBeGreaterThan(0);
      for (const name of names) expect(name).toBeTypeOf('string');
    }),
  );
});

test('every name of an event is read, in whatever order its fields are', () => {
  const names = fc.uniqueArray(fc.stringMatching(/^0:[0-9A-F]{8}$/), { maxLength: 8 });
  fc.assert(
    fc.property(names, names, fc.nat(), (accounts, actors, cut) => {
      const fields = Object.entries({
        type: 'actions',
        trace_external_hash_norm: N,
        transactions: accounts.map((account) => ({ account })),
        actions: [{ accounts: actors }],
      });
      const place = cut % fields.length;
      const frame = read(Object.fromEntries([...fields.slice(place), ...fields.slice(0, place)]));
      expect(frame).toMatchObject({ kind: 'event', trace: N });
      expect(frame.kind === 'event' && new Set(frame.accounts)).toEqual(new Set([...accounts, ...actors]));
    }),
  );
});

test('a cut event is bad and never an event of something else', () => {
  const whole = JSON.stringify({ type: 'transactions', trace_external_hash_norm: N, transactions: [{ account: A }] });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: whole.length - 1 }), (length) => {
      expect(parseFrame(whole.slice(0, length)).kind).toBe('bad');
    }),
  );
});
