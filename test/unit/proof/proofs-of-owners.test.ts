import { beforeEach, expect, test } from 'vitest';
import { Proofs } from '../../../src/proof/proofs.ts';
import { SettledWallets } from '../../../src/proof/settled-wallets.ts';
import { Touches } from '../../../src/proof/touches.ts';
import type { BlockRow } from '../../../src/ton/block-facts.ts';
import type { Evidence } from '../../../src/ton/evidence.ts';
import { transfersFrom, transfersTo, walletsOf } from '../../../src/ton/owner-keys.ts';

const ROW: BlockRow = { account: 'j', lt: 7n, hash: '7', now: 0, seqno: 7 };

let now: number;
let isAlive: boolean;
let isOn: boolean;
let settled: SettledWallets;
let proofs: Proofs;

const LIST: Evidence = {
  kind: 'wallets',
  accounts: [walletsOf('x')],
  hasClaims: false,
  owner: 'x',
  jetton: undefined,
  omitsZero: false,
  wallets: new Map(),
};
const STATE: Evidence = { kind: 'state', accounts: ['j'], hasClaims: false, lastLt: 9n };

beforeEach(() => {
  now = 1_000_000;
  isAlive = true;
  isOn = true;
  const clock = () => now;
  const touches = new Touches({ now: clock, keptMs: 362_000, maxBytes: 2 ** 25 });
  settled = new SettledWallets({ touches, now: clock });
  const lookUps = {
    get isOn() {
      return isOn;
    },
    get isAlive() {
      return isAlive;
    },
    areReadSince: () => true,
    isUnsettled: () => true,
    oldestUnsettled: 7,
    beginAnew: () => {},
  };
  const blocks = {
    get mark() {
      return now;
    },
    isUnread: () => false,
    oldestUnread: 9,
  };
  const boundsMs = { withClaims: 60_000, plain: 300_000 };
  proofs = new Proofs({ touches, blocks, owners: { lookUps, settled }, now: clock, boundsMs });
  proofs.switched(true);
  proofs.caughtUp();
  now += 1000;
});

const judge = (evidence: Evidence) => proofs.proofOf(evidence, evidence.accounts, now);

test('an answer about an owner is not proven while look-ups are behind, and all others are', () => {
  const [list, state] = [judge(LIST), judge(STATE)];
  expect([list?.doubt, state?.doubt]).toEqual([undefined, undefined]);
  isAlive = false;
  expect([list?.doubt, state?.doubt]).toEqual(['not-settled', undefined]);
});

test('a transaction in an answer ends the proof of every list of an owner until its block is settled', () => {
  const list = judge(LIST);
  now += 10;
  proofs.shown([ROW]);
  const later = judge(LIST);
  expect([list?.doubt, later?.doubt]).toEqual(['touched', 'touched']);
  // Only the list that was requested before it is not served within its lifetime either.
  now += 10;
  const latest = judge(LIST);
  expect([list?.isOutdated(), latest?.isOutdated()]).toEqual([true, false]);
  settled.blockIsSettled(7);
  expect([list?.doubt, later?.doubt, list?.isOutdated()]).toEqual([undefined, undefined, false]);
});

test('a transaction that no client has seen ends no proof', () => {
  const list = judge(LIST);
  proofs.seen([ROW]);
  expect(list?.doubt).toBe(undefined);
});

test('a block that is sent from the cache ends the proof of all answers about owners', () => {
  const page: Evidence = {
    kind: 'transfers',
    accounts: [transfersTo('x'), transfersFrom('x')],
    hasClaims: false,
    hashes: new Set(),
    window: { fromLt: 0n, fromNow: 0 },
    last: undefined,
  };
  const [list, transfers, state] = [judge(LIST), judge(page), judge(STATE)];
  proofs.servedBlock(7);
  expect([list?.doubt, transfers?.doubt, state?.doubt]).toEqual(['touched', 'touched', undefined]);
});

test('a transaction in an answer says nothing about owners while the look-ups are off', () => {
  isOn = false;
  proofs.shown([ROW]);
  proofs.servedBlock(7);
  expect(settled.firstShown([walletsOf('anybody')], 0)).toBe(Number.POSITIVE_INFINITY);
});

test('transactions in answers are of interest from the oldest block that is not settled', () => {
  expect(proofs.unreadFrom).toBe(7);
});

test('an answer from Redis about an owner is outdated by each look-up of its wallets', () => {
  const judged = proofs.proofOf(undefined, [walletsOf('x')], now);
  expect([judged?.doubt, judged?.isOutdated()]).toEqual(['not-checked', false]);
  now += 10;
  settled.settle(new Map([['j', ROW]]), [{ address: 'j', owner: 'x', jetton: 'm', lt: 7n, isZero: false }], [ROW]);
  expect(judged?.isOutdated()).toBe(true);
});
