import { beforeEach, describe, expect, test } from 'vitest';
import { SettledWallets } from '../../../src/proof/settled-wallets.ts';
import { Touches } from '../../../src/proof/touches.ts';
import type { BlockRow } from '../../../src/ton/block-facts.ts';
import { showsRow } from '../../../src/ton/evidence.ts';
import type { WalletRow } from '../../../src/ton/owned-wallets.ts';
import {
  type OwnerKey,
  ownerOf,
  TRANSFERS_TO_ANYBODY,
  transfersFrom,
  transfersOf,
  transfersTo,
  WALLETS_OF_ANYBODY,
  walletsOf,
} from '../../../src/ton/owner-keys.ts';
import { makeAccount } from '../../../src/tools/simulator/accounts.ts';
import { writeTransfer } from '../../../src/tools/simulator/transfer-body.ts';

const ORDINARY = '/rX/aCDi/w2Ug+fg1iyBfYRniftK5YDIeIZtlZ2r1cA=';
const RECIPIENT = '0:9DA971AF38D2F03ABDF308D5F91636A97E5A2B07A66C39D71D7CBAE3B032EDDC';
const BODY =
  'te6cckEBAQEAVgAAqA+KfqUoqJE5J39m9TLcbAgBO1LjXnGl4HV75hGr8ixtUvy0Vg9M2HOuOvl1x2Bl27kAE42ZPrugU+9tsHLNtcrrFLRXhhsEezWZP4bPxp8/YAdCAoBiKn8=';

let now: number;
let touches: Touches;
let settled: SettledWallets;

function transaction(lt: number, changes: Partial<BlockRow> = {}): BlockRow {
  return { account: 'j', lt: BigInt(lt), hash: `${lt}`, now: 0, seqno: lt, codeHash: 'code', ...changes };
}

const walletOf = (owner: string, lt: number): WalletRow => ({
  address: 'j',
  owner,
  jetton: 'jetton',
  lt: BigInt(lt),
  isZero: false,
});

/** A look-up for the block of a transaction has shown this row of `j`, or none. */
function settle(row: BlockRow, wallet?: WalletRow): void {
  now += 1000;
  settled.settle(new Map([['j', row]]), wallet === undefined ? [] : [wallet], [row]);
}

/** True if a list with `j` at this transaction, or without it, shows everything. */
function shows(owner: string, lt?: number): boolean {
  const wallets = new Map(lt === undefined ? [] : [['j', BigInt(lt)]]);
  const evidence = {
    kind: 'wallets',
    accounts: [walletsOf(owner), ...(lt === undefined ? [] : [ownerOf('j')])],
    hasClaims: false,
    owner,
    jetton: undefined,
    omitsZero: false,
    wallets,
  } as const;
  return evidence.accounts.every((key) => [...touches.since(key, 0)].every((touch) => showsRow(evidence, touch)));
}

const keysTouched = (...keys: readonly string[]) => keys.filter((key) => touches.lastOf(key) !== undefined);

beforeEach(() => {
  now = 1_000_000;
  touches = new Touches({ now: () => now, keptMs: 362_000, maxBytes: 2 ** 25 });
  settled = new SettledWallets({ touches, now: () => now });
});

describe('the wallet of a look-up', () => {
  test('must be in the list of its owner, at its newest transaction', () => {
    settle(transaction(5), walletOf('x', 5));
    expect([shows('x'), shows('x', 4), shows('x', 5), shows('x', 6), shows('y')]).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  test('counts by its row, although it ran later without being confirmed', () => {
    settle(transaction(7), walletOf('x', 5));
    expect([shows('x', 4), shows('x', 5)]).toEqual([false, true]);
  });

  test('leaves the list of its owner before', () => {
    settle(transaction(5), walletOf('x', 5));
    settle(transaction(6), walletOf('y', 6));
    expect([shows('x', 5), shows('x'), shows('y'), shows('y', 6)]).toEqual([false, true, false, true]);
  });

  test('counts by the later row, whatever is looked up later', () => {
    settle(transaction(6), walletOf('y', 6));
    settle(transaction(5), walletOf('x', 5));
    expect([shows('x'), shows('y', 6)]).toEqual([true, true]);
    // The block after it left the row as it was, and this block changes it: they were committed out of order.
    settle(transaction(9), walletOf('y', 6));
    settle(transaction(8), walletOf('y', 8));
    expect([shows('y', 6), shows('y', 8)]).toEqual([false, true]);
  });

  test('by its state may have run after it got its owner, so another owner at any time leaves both in doubt', () => {
    settle(transaction(12), { ...walletOf('x', 12), isByState: true });
    settle(transaction(11), walletOf('y', 11));
    expect([shows('x', 10), shows('x'), shows('y')]).toEqual([false, false, false]);
    settle(transaction(13), walletOf('y', 13));
    expect([shows('x'), shows('y'), shows('y', 13)]).toEqual([true, false, true]);
  });

  test('by its state does not replace another owner, because it may come from a replica that lacks that row', () => {
    settle(transaction(11), walletOf('y', 11));
    settle(transaction(12), { ...walletOf('x', 12), isByState: true });
    expect([shows('y'), shows('x')]).toEqual([false, false]);
  });

  test('that was deleted is in no list', () => {
    settle(transaction(5), walletOf('x', 5));
    settle(transaction(6, { isGone: true }));
    expect([shows('x', 5), shows('x')]).toEqual([false, true]);
  });

  test('that is missing although its account exists proves no list, neither with it nor without', () => {
    settle(transaction(5), walletOf('x', 5));
    settle(transaction(6));
    expect([shows('x', 5), shows('x')]).toEqual([false, false]);
    settle(transaction(8), walletOf('x', 8));
    expect([shows('x', 8), shows('x')]).toEqual([true, false]);
  });

  test('that was missing, and whose block is read later, proves no list without it', () => {
    settle(transaction(6));
    settle(transaction(5), walletOf('x', 5));
    expect(shows('x')).toBe(false);
  });
});

describe('a transfer', () => {
  const transfer = { source: 'x', body: BODY };

  test('touches its recipient, its sender and its wallet once that is known to be one', () => {
    settle(transaction(5, { transfer }), walletOf('x', 5));
    const keys = [transfersTo(RECIPIENT), transfersFrom('x'), transfersOf('j')];
    expect(keysTouched(...keys, TRANSFERS_TO_ANYBODY, walletsOf(RECIPIENT))).toEqual(keys);
  });

  test('to no account touches its sender and its wallet: the indexer lists it for them', () => {
    const options = {
      amount: 1,
      queryId: 1n,
      destination: undefined,
      responseDestination: makeAccount('wallet', Buffer.alloc(32)),
    };
    const toNobody = { source: 'x', body: writeTransfer(options) };
    settle(transaction(5, { transfer: toNobody }), walletOf('x', 5));
    const keys = [transfersFrom('x'), transfersOf('j')];
    expect(keysTouched(...keys, TRANSFERS_TO_ANYBODY, transfersTo(RECIPIENT))).toEqual(keys);
    settled.shown([transaction(6, { transfer: toNobody })]);
    expect(keys.map((key) => settled.firstShown([key], 0) === now)).toEqual([true, true]);
  });

  test('touches nobody in an account that is no jetton wallet: anybody can send it', () => {
    settle(transaction(5, { transfer }));
    expect(keysTouched(transfersTo(RECIPIENT), transfersFrom('x'), transfersOf('j'))).toEqual([]);
  });

  describe('in a wallet whose row disappeared with it before the look-up', () => {
    const received = () => keysTouched(transfersTo(RECIPIENT), transfersFrom('x'), transfersOf('j'));

    test('touches as if the wallet were known, if it was deleted in the same block', () => {
      const rows = [transaction(5, { transfer }), transaction(6, { isGone: true }), transaction(7)];
      settled.settle(new Map([['j', transaction(7)]]), [], rows);
      expect(received()).toHaveLength(3);
    });

    test('touches once a later block shows that it was deleted, and not before', () => {
      settle(transaction(5, { transfer }));
      settle(transaction(6));
      expect(received()).toEqual([]);
      settle(transaction(7, { isGone: true }));
      expect(received()).toHaveLength(3);
      expect([...touches.since(transfersTo(RECIPIENT), now)].map(({ hash }) => hash)).toEqual(['5']);
    });

    test('touches if the later block was settled first', () => {
      settle(transaction(6, { isGone: true }));
      settle(transaction(5, { transfer }));
      expect(received()).toHaveLength(3);
    });

    test('touches if any look-up has shown the wallet, also after it was deleted', () => {
      settle(transaction(4), walletOf('x', 4));
      settle(transaction(6, { isGone: true }));
      settle(transaction(7, { transfer }));
      expect(received()).toHaveLength(3);
    });

    test('does not touch if the account is deleted more than a minute later', () => {
      settle(transaction(5, { transfer }));
      now += 63_000;
      settle(transaction(7, { isGone: true }));
      expect(received()).toEqual([]);
    });
  });

  test('without a body may be to anybody', () => {
    settle(transaction(5, { transfer: { source: undefined, body: null } }), walletOf('x', 5));
    expect(keysTouched(TRANSFERS_TO_ANYBODY, transfersOf('j'))).toHaveLength(2);
  });
});

describe('a transaction in an answer', () => {
  const transfer = { source: 'x', body: BODY };

  test('may change the wallets of anybody, until its block is settled', () => {
    settled.shown([transaction(5)]);
    expect(settled.firstShown([WALLETS_OF_ANYBODY], 0)).toBe(now);
    expect(settled.firstShown([WALLETS_OF_ANYBODY], now + 1)).toBe(Number.POSITIVE_INFINITY);
    settled.blockIsSettled(5);
    expect(settled.firstShown([WALLETS_OF_ANYBODY], 0)).toBe(Number.POSITIVE_INFINITY);
  });

  test('changes nothing in an ordinary wallet', () => {
    settled.shown([transaction(5, { codeHash: ORDINARY })]);
    expect(settled.firstShown([WALLETS_OF_ANYBODY], 0)).toBe(Number.POSITIVE_INFINITY);
  });

  test('that is a transfer may change the transfers of its two parties, and of no other', () => {
    settled.shown([transaction(5, { transfer })]);
    const isShown = (key: OwnerKey) => settled.firstShown([key], 0) === now;
    const keys = [transfersTo(RECIPIENT), transfersFrom('x'), transfersOf('j'), transfersTo('x')];
    expect(keys.map(isShown)).toEqual([true, true, true, false]);
  });

  test('of a block that is sent from the cache may change anything', () => {
    settled.servedBlock(5);
    expect(settled.firstShown([transfersTo('anyone')], 0)).toBe(now);
  });

  test('counts for a minute if its block is never settled', () => {
    settled.shown([transaction(5)]);
    now += 63_000;
    settled.shown([]);
    expect(settled.firstShown([WALLETS_OF_ANYBODY], 0)).toBe(Number.POSITIVE_INFINITY);
  });
});
