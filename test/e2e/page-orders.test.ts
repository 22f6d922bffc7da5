import { afterEach, expect, it } from 'vitest';
import { Fleet } from '../support/fleet.ts';
import type { JsonAnswer } from '../support/json-upstream.ts';

const START = 1_800_000_000_000;
/** Live answers are of use for less than this, and are kept for at least as much longer; growing ones of young rows. */
const AFTER_USE_MS = 5000;
const AFTER_USE_OF_GROWING_MS = 60_000;

let fleet: Fleet | undefined;
let answer: JsonAnswer;
let now: number;
let accounts = 0;

const someAccount = () => `0:${(++accounts).toString(16).padStart(64, '0')}`;
const someHash = () => (++accounts).toString(16).padStart(64, '0');
const row = (lt: number, more: object = {}) => ({
  hash: `row ${lt}`,
  lt: `${lt}`,
  prev_trans_lt: '1',
  now: 1_700_000_000,
  mc_block_seqno: 7,
  emulated: false,
  ...more,
});
const rows = (...list: object[]): JsonAnswer => ({ status: 200, body: { transactions: list } });
const state = (lt: unknown): JsonAnswer => ({ status: 200, body: { balance: '1', last_transaction_lt: lt } });

afterEach(async () => {
  await fleet?.[Symbol.asyncDispose]();
  fleet = undefined;
});

/** A later answer that replaces the kept one: a question and both answers. */
const LATER: [string, () => string, JsonAnswer, JsonAnswer][] = [
  [
    'a full ascending page that gained a row below its newest, and lost its newest',
    () => `transactions?account=${someAccount()}&limit=2&sort=asc`,
    rows(row(1), row(3)),
    rows(row(1), row(2)),
  ],
  [
    'a full ascending page of one row that an older row has displaced',
    () => `transactions?account=${someAccount()}&start_lt=1&limit=1&sort=asc`,
    rows(row(3)),
    rows(row(2)),
  ],
  [
    'an ascending page that is not full, and gained a row below its newest',
    () => `transactions?account=${someAccount()}&limit=3&sort=asc`,
    rows(row(1), row(3)),
    rows(row(1), row(2), row(3)),
  ],
  [
    'a full page of the newest rows that lost its oldest row',
    () => `transactions?account=${someAccount()}&limit=2`,
    rows(row(3), row(1)),
    rows(row(3), row(2)),
  ],
  [
    'a full ascending page of the transactions of a message that lost its newest row',
    () => `transactionsByMessage?msg_hash=${someHash()}&limit=1&sort=asc`,
    rows(row(3, { now: START / 1000 })),
    rows(row(2, { now: START / 1000 })),
  ],
];

/** A later answer whose order, or that of the kept one, cannot be read. */
const UNREADABLE: [string, () => string, JsonAnswer, JsonAnswer][] = [
  [
    'a page with a number instead of a logical time as text',
    () => `transactions?account=${someAccount()}`,
    rows(row(1)),
    rows(row(2, { lt: 2 }), row(1)),
  ],
  [
    'a page with a row that is not final',
    () => `transactions?account=${someAccount()}`,
    rows(row(1)),
    rows(row(2, { mc_block_seqno: null, emulated: true }), row(1)),
  ],
  ['a state with a number', () => `addressInformation?address=${someAccount()}`, state('5'), state(6)],
  ['a state without a logical time', () => `walletInformation?address=${someAccount()}`, state('5'), state(undefined)],
];

async function start(): Promise<Fleet> {
  now = START;
  const env = { CACHE_OPERATIONS: 'all' };
  fleet = await Fleet.start(() => answer, { instances: 2, env, now: () => now });
  return fleet;
}

async function ask(target: string, instance: number): Promise<unknown> {
  const { text } = (await fleet?.get(instance).reply(`/api/v3/${target}`)) ?? {};
  return JSON.parse(text ?? '');
}

/** Sent by each instance in turn, each time after the use of the kept answer. */
async function everyAnswer(target: string, sent: JsonAnswer): Promise<unknown[]> {
  answer = sent;
  const answers: unknown[] = [];
  for (const instance of [1, 0]) {
    await Promise.all(fleet?.proxies.map((proxy) => proxy.untilRedisHasAll()) ?? []);
    now += target.startsWith('transactionsByMessage') ? AFTER_USE_OF_GROWING_MS : AFTER_USE_MS;
    answers.push(await ask(target, instance));
  }
  return answers;
}

it.each(LATER)('serves %s, and no longer the earlier page', async (_, someTarget, earlier, later) => {
  await start();
  const target = someTarget();
  answer = earlier;
  expect(await ask(target, 0)).toEqual(earlier.body);
  expect(await everyAnswer(target, later)).toEqual([later.body, later.body]);
  expect(await everyAnswer(target, earlier)).toEqual([later.body, later.body]);
});

it.each(UNREADABLE)('serves %s instead of the kept answer, and the reverse', async (_, someTarget, one, other) => {
  await start();
  const target = someTarget();
  answer = one;
  expect(await ask(target, 0)).toEqual(one.body);
  const [later, earlier] = [JSON.parse(JSON.stringify(other.body)), one.body];
  expect(await everyAnswer(target, other)).toEqual([later, later]);
  expect(await everyAnswer(target, one)).toEqual([earlier, earlier]);
});

it('serves a state with a logical time instead of one of a replica that does not know the account yet', async () => {
  await start();
  const target = `addressInformation?address=${someAccount()}`;
  answer = state('5');
  expect(await ask(target, 0)).toEqual(state('5').body);
  expect(await everyAnswer(target, state('0'))).toEqual([state('5').body, state('5').body]);
});
