import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFrame } from '../../../src/push/frame.ts';

const N = 'kalwLUM980IbWsIXu9dP7+ddFOylRjgrGf8sTYkc0x8=';
const A = '0:68E76DD096348D699EC12186153EAEA52D9A98F7105058CD10A728183797E6EE';
const B = '-1:7C6A362FF21C4F16158EC078563F414EA3088B94FCC4698126AE7B534DD34E94';

const read = (message: unknown) => parseFrame(JSON.stringify(message));

describe('an event names its trace and its accounts:', () => {
  test.each([
    ['transactions', { finality: 'pending', transactions: [{ account: A }, { account: B }] }, [A, B]],
    ['actions', { finality: 'pending', actions: [{ accounts: [A, B] }, { accounts: [B] }] }, [A, B]],
    ['trace', { finality: 'confirmed', trace: {}, transactions: { h: { account: A } } }, [A]],
    ['trace_invalidated', {}, []],
    ['trace', { transactions: { h: { account: A, body: 'x'.repeat(300 * 1024) } } }, [A]],
  ])('%s', (type, body, accounts) => {
    expect(read({ type, trace_external_hash_norm: N, ...body })).toEqual({ kind: 'event', trace: N, accounts });
  });

  test('or accounts alone', () => {
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
])('%j is an answer', (message, frame) => expect(read(message)).toEqual(frame));

test.each([
  ['a binary message', Buffer.from('{}')],
  ['text', 'hello'],
  ['nothing', ''],
  ['null', 'null'],
  ['an event that names nothing', '{"type":"transactions","transactions":[]}'],
  ['no object', '[{"status":"pong"}]'],
])('%s is neither', (_, data) => expect(parseFrame(data)).toEqual({ kind: 'bad' }));

test('no message makes it throw', () => {
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
