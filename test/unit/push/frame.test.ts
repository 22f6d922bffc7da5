import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFrame } from '../../../src/push/frame.ts';

const N = 'kalwLUM980IbWsIXu9dP7+ddFOylRjgrGf8sTYkc0x8=';
const A = '0:68E76DD096348D699EC12186153EAEA52D9A98F7105058CD10A728183797E6EE';
const B = '-1:7C6A362FF21C4F16158EC078563F414EA3088B94FCC4698126AE7B534DD34E94';

const read = (message: unknown) => parseFrame(JSON.stringify(message));

describe('the trace and the accounts are read from an event of type', () => {
  test.each([
    ['transactions', { finality: 'pending', transactions: [{ account: A }, { account: B }] }, [A, B]],
    ['actions', { finality: 'pending', actions: [{ accounts: [A, B] }, { accounts: [B] }] }, [A, B]],
    ['trace', { finality: 'confirmed', trace: {}, transactions: { h: { account: A } } }, [A]],
    ['trace_invalidated', {}, []],
    ['trace', { transactions: { h: { account: A, body: 'x'.repeat(300 * 1024) } } }, [A]],
  ])('%s', (type, body, accounts) => {
    expect(read({ type, trace_external_hash_norm: N, ...body })).toEqual({ kind: 'event', trace: N, accounts });
  });

  test('nft_change, which names no trace', () => {
    expect(read({ type: 'nft_change', account: A })).toEqual({ kind: 'event', trace: undefined, accounts: [A] });
  });
});

test.each([
  [
    { id: 's5', status: 'subscribed' },
    { kind: 'reply', id: 's5', status: 'subscribed' },
  ],
  [{ status: 'pong' }, { kind: 'reply', id: undefined, status: 'pong' }],
  [
    { id: 's4', error: `invalid address: ${A}` },
    { kind: 'error', id: 's4', error: `invalid address: ${A}` },
  ],
  [{ error: 'e'.repeat(500) }, { kind: 'error', id: undefined, error: 'e'.repeat(200) }],
  [
    { id: 7, status: 'pong' },
    { kind: 'reply', id: undefined, status: 'pong' },
  ],
])('%j is read as a reply or an error', (message, frame) => expect(read(message)).toEqual(frame));

test.each([
  ['a binary message', Buffer.from('{}')],
  ['text', 'hello'],
  ['an empty message', ''],
  ['null', 'null'],
  ['an event without names', '{"type":"transactions","transactions":[]}'],
  ['an array', '[{"status":"pong"}]'],
])('parseFrame reports a bad frame for %s', (_, data) => expect(parseFrame(data)).toEqual({ kind: 'bad' }));

test('parseFrame never throws, for any message', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.object().map((it) => JSON.stringify(it)),
      ),
      (data) => {
        expect(['event', 'reply', 'error', 'bad']).toContain(parseFrame(data).kind);
      },
    ),
  );
});
