import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/json-object.ts';
import { finalityOf } from '../../../../src/ton/finality.ts';
import { callOf, HASH, HASH_HEX, requestOf } from '../requests.ts';

const NOW = 1_760_000_000;
const INTERNAL = { hash: HASH, source: '0:A', destination: '0:B', created_lt: '7' };
const EXTERNAL = { hash: HASH, source: null, destination: '0:A', created_lt: null };
const LOG = { hash: HASH, source: '0:A', destination: null, created_lt: '7' };

const row = (inMsg: JsonObject | null, outMsgs: readonly JsonObject[], now = NOW) => ({
  ...{ hash: `row ${now}`, now, emulated: false, finality: 'finalized', mc_block_seqno: 7 },
  in_msg: inMsg,
  out_msgs: outMsgs,
});
const received = (message: JsonObject, now?: number) => row(message, [], now);
const sent = (message: JsonObject) => row(null, [{ ...message, hash: 'other' }, message]);

const FINAL = { rule: 'byHashFinal' };
const GROWING = { rule: 'byHashGrowing', newestNow: NOW };

const rated = (more: string, ...transactions: readonly JsonObject[]) =>
  finalityOf(callOf('transactionsByMessage', `msg_hash=${HASH_HEX}${more}`), 200, { transactions });

describe('a list of the transactions of a message is final', () => {
  test('with the sender and the receiver of an internal message', () =>
    expect(rated('', received(INTERNAL), sent(INTERNAL))).toEqual(FINAL));
  test('with the receiver of an internal message, if only the receiver is requested', () =>
    expect(rated('&direction=in', received(INTERNAL))).toEqual(FINAL));
  test('with the sender, if only the sender is requested', () =>
    expect(rated('&direction=out', sent(INTERNAL))).toEqual(FINAL));
  test('with the sender of a log entry', () => expect(rated('', sent(LOG))).toEqual(FINAL));

  test('unless a young row lacks the account state before it', () => {
    const lacking = { ...received(INTERNAL), account_state_before: { hash: 'x', balance: null } };
    expect(rated('&direction=in', lacking)).toEqual({ ...FINAL, whileYoung: 'byHashGrowing', newestNow: NOW });
  });
});

describe('a list of the transactions of a message is growing', () => {
  test.each<[string, string, readonly JsonObject[]]>([
    ['an external message can be accepted again', '', [received(EXTERNAL)]],
    ['an external message can be accepted again', '&direction=in', [received(EXTERNAL)]],
    ['an external message was accepted twice', '', [received(EXTERNAL, NOW - 5), received(EXTERNAL)]],
    [
      'an external message is requested by its normalized hash',
      '',
      [received({ ...EXTERNAL, hash: 'x', hash_norm: HASH })],
    ],
    ['the receiver is missing', '', [sent(INTERNAL)]],
    ['the sender is missing', '', [received(INTERNAL)]],
    ['two transactions received an internal message', '&direction=in', [received(INTERNAL), received(INTERNAL)]],
    [
      'two transactions received an internal message that one transaction sent',
      '',
      [received(INTERNAL), received(INTERNAL), sent(INTERNAL)],
    ],
    ['two transactions sent the message', '&direction=out', [sent(INTERNAL), sent(INTERNAL)]],
    ['a row neither sent nor received the message', '&direction=out', [sent(INTERNAL), row(null, [])]],
    ['the limit may have cut the list', '&limit=2', [received(INTERNAL), sent(INTERNAL)]],
  ])('if %s (%s)', (_, more, rows) => expect(rated(more, ...rows)).toEqual(GROWING));

  test('with an unknown age if a row has no time', () => {
    const undated = { ...received(EXTERNAL), now: undefined };
    expect(rated('', undated, received(EXTERNAL))).toEqual({ rule: 'byHashGrowing' });
  });
});

test('a list of the transactions of a message is live while one of its rows is not final', () => {
  const pending = { ...received(INTERNAL), mc_block_seqno: null };
  expect(rated('&direction=in', pending)).toEqual({ rule: 'byHashLive' });
});

test('the completeness of a growing list contains its hashes, and its chain point is that of the newest row', () => {
  const { operation, request } = callOf('transactionsByMessage', `msg_hash=${HASH_HEX}`);
  const transactions = [received(EXTERNAL, NOW - 5), received(EXTERNAL)];
  const finality = rated('', ...transactions);
  const hashes = transactions.map(({ hash }) => hash);
  expect(finality && operation.completeness(finality, { transactions }, request)).toMatchObject({ hashes, rank: 2 });
  expect(operation.chainPoint({ transactions })).toEqual({ at: NOW * 1000, seqno: 7 });
});

test('the cached form has one hash, with or without a direction, and no other filter', () => {
  expect(requestOf('transactionsByMessage', `msg_hash=${HASH_HEX}&direction=in&offset=0`).query).toEqual([
    ['msg_hash', HASH],
    ['direction', 'in'],
  ]);
  const hash = `msg_hash=${HASH_HEX}`;
  for (const query of [
    '',
    'opcode=1',
    `${hash}&opcode=1`,
    `${hash}&direction=both`,
    `${hash}&direction=`,
    `${hash}&seqno=1`,
  ])
    expect(() => requestOf('transactionsByMessage', query), query).toThrow(
      expect.objectContaining({ code: 'not-cacheable' }),
    );
});
