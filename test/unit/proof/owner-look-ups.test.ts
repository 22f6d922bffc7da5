import { beforeEach, describe, expect, test } from 'vitest';
import { OwnerLookUps } from '../../../src/proof/owner-look-ups.ts';
import { SettledWallets } from '../../../src/proof/settled-wallets.ts';
import { Touches } from '../../../src/proof/touches.ts';
import type { BlockRow } from '../../../src/ton/block-facts.ts';
import { ownerOf, walletsOf } from '../../../src/ton/owner-keys.ts';

const ORDINARY = '/rX/aCDi/w2Ug+fg1iyBfYRniftK5YDIeIZtlZ2r1cA=';

/** The newest transaction of each jetton wallet in the database that answers; all of them belong to one owner. */
let database: Map<string, bigint>;
/** The same for all accounts. */
let states: Map<string, bigint>;
let indexer: string;
let isSilent: boolean;
let asked: string[];
/** Those of them that instances share. */
let shared: string[];
/** The blocks of the requests. */
let seqnos: number[];
let mark: number;
let now: number;
let touches: Touches;
let lookUps: OwnerLookUps;

const clock = () => now;

function row(account: string, lt: number, seqno: number, codeHash?: string): BlockRow {
  return { account, lt: BigInt(lt), hash: `${lt}`, now: 0, seqno, codeHash };
}

/** A block with these transactions is read. */
function read(
  seqno: number,
  transactions: readonly (readonly [account: string, lt: number, codeHash?: string])[],
): void {
  const rows = transactions.map(([account, lt, codeHash]) => row(account, lt, seqno, codeHash));
  lookUps.read({ seqno, rows, mark: now - 100, indexer: 'one' });
}

function rowsFor(accounts: readonly string[], lts: ReadonlyMap<string, bigint>) {
  const found = accounts.filter((account) => database.has(account));
  const rows = found.map((address) => ({
    address,
    owner: 'owner',
    jetton: 'jetton',
    lt: database.get(address) ?? 0n,
    isZero: false,
  }));
  return isSilent
    ? undefined
    : { rows, lts: new Map([...lts].filter(([account]) => accounts.includes(account))), indexer };
}

/** Advances the time in steps of the timer, with the blocks read all the time. */
async function pass(ms: number): Promise<void> {
  for (const end = now + ms; now < end; now += 50) {
    lookUps.tick();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    mark = now;
  }
}

const owns = (wallet: string) =>
  touches.lastOf(walletsOf('owner')) !== undefined && touches.lastOf(ownerOf(wallet)) !== undefined;

beforeEach(() => {
  now = 100_000;
  mark = now;
  database = new Map();
  states = new Map();
  indexer = 'one';
  isSilent = false;
  asked = [];
  shared = [];
  seqnos = [];
  touches = new Touches({ now: clock, keptMs: 362_000, maxBytes: 2 ** 25 });
  lookUps = new OwnerLookUps({
    source: {
      wallets: async (accounts, seqno, isShared) => {
        seqnos.push(seqno);
        if (isShared) shared.push(accounts.join());
        asked.push(accounts.join());
        return rowsFor(accounts, database);
      },
      states: async (accounts, seqno) => {
        seqnos.push(seqno);
        asked.push(`states ${accounts.join()}`);
        return rowsFor(accounts, states);
      },
    },
    settled: new SettledWallets({ touches, now: clock }),
    blocks: {
      get mark() {
        return mark;
      },
    },
    now: clock,
    onBug: (error) => {
      throw error;
    },
  });
  lookUps.switched(true);
});

describe('the first look-up of a block', () => {
  test('is never merged with that of another one, because instances share it; repetitions are not shared', async () => {
    read(1, [['j', 7]]);
    read(2, [['k', 8]]);
    await pass(200);
    expect(asked).toEqual(['j', 'states j', 'k', 'states k']);
    await pass(600);
    expect(shared).toEqual(['j', 'k']);
  });

  test('goes along with others after a second, and is not shared', async () => {
    isSilent = true;
    read(1, [['j', 7]]);
    await pass(1000);
    asked = [];
    shared = [];
    read(2, [['k', 8]]);
    now += 1000;
    isSilent = false;
    await pass(50);
    expect([asked, shared]).toEqual([['j,k'], []]);
  });
});

describe('a block is settled', () => {
  test('by a row with exactly the newest transaction of its account', async () => {
    database.set('j', 7n);
    read(1, [
      ['x', 5],
      ['j', 6],
      ['j', 7],
    ]);
    expect(lookUps.isUnsettled(1)).toBe(true);
    await pass(50);
    expect([asked, lookUps.isUnsettled(1), owns('j')]).toEqual([['x,j'], false, true]);
  });

  test('at once if all of its accounts are ordinary wallets, which are not asked for', async () => {
    read(1, [
      ['x', 5, ORDINARY],
      ['y', 6, ORDINARY],
    ]);
    expect(lookUps.isUnsettled(1)).toBe(false);
    await pass(1000);
    expect([asked, touches.lastOf(ownerOf('x'))]).toEqual([[], undefined]);
  });

  test('only with all its accounts, at most a hundred in a request', async () => {
    const accounts = Array.from({ length: 150 }, (_, n) => `j${n}`);
    for (const account of accounts) database.set(account, 7n);
    read(
      1,
      accounts.map((account) => [account, 7] as const),
    );
    await pass(50);
    expect(lookUps.isUnsettled(1)).toBe(true);
    await pass(50);
    expect(lookUps.isUnsettled(1)).toBe(false);
    expect(asked.map((request) => request.split(',').length)).toEqual([100, 50]);
  });

  test('not by a later transaction: a replica may have the next block and lack this one', async () => {
    database.set('j', 9n);
    read(1, [['j', 7]]);
    await pass(1000);
    expect([lookUps.isUnsettled(1), touches.lastOf(ownerOf('j'))]).toEqual([true, undefined]);
  });

  test('not by an answer without its wallets: its states are requested at once, and its wallets after 0.4 and 0.8 s', async () => {
    read(1, [['j', 7]]);
    const at: [what: string, ms: number][] = [];
    for (let known = 0; now < 104_000; known = asked.length) {
      await pass(50);
      if (asked.length > known) at.push([asked.at(-1) ?? '', now - 50 - 100_000]);
    }
    expect(at).toEqual([
      ['j', 0],
      ['states j', 50],
      ['j', 450],
      ['j', 1250],
    ]);
  });

  test('with the next block, if that was looked up after it', async () => {
    read(1, [['x', 5]]);
    await pass(2000);
    lookUps.headIs(1, now, 'one');
    database.set('j', 7n);
    read(2, [['j', 7]]);
    await pass(50);
    expect([asked.at(-1), lookUps.isUnsettled(1), lookUps.isUnsettled(2)]).toEqual(['j,x', false, false]);
  });

  test.each([
    ['if its indexer named no head before', () => {}],
    ['if that block may have been there before', () => lookUps.headIs(2, now, 'one')],
    ['if the head is one of a replica that is behind', () => lookUps.headIs(0, now, 'one')],
    ['if another indexer named the head', () => lookUps.headIs(1, now, 'two')],
    ['if the head was requested before it was read', () => lookUps.headIs(1, now - 5000, 'one')],
    [
      'if another indexer answers',
      () => {
        lookUps.headIs(1, now, 'one');
        indexer = 'two';
      },
    ],
  ])('not with the next block, %s', async (_, before) => {
    read(1, [['x', 5]]);
    await pass(2000);
    before();
    database.set('j', 7n);
    read(2, [['j', 7]]);
    await pass(50);
    expect([lookUps.isUnsettled(1), lookUps.isUnsettled(2)]).toEqual([true, false]);
  });

  test('not with an earlier block of a replica that is behind, and named a head below both', async () => {
    read(3, [['j', 7]]);
    read(4, [['x', 8]]);
    lookUps.headIs(2, now, 'one');
    database.set('j', 7n);
    now += 1000;
    await pass(50);
    expect([asked.at(-1), lookUps.isUnsettled(3), lookUps.isUnsettled(4)]).toEqual(['j,x', false, true]);
  });

  test('without a jetton wallet by the states of its accounts, if one of them is exactly that of the block', async () => {
    await pass(33_000);
    asked.length = 0;
    states = new Map([
      ['x', 5n],
      ['y', 9n],
    ]);
    read(1, [
      ['x', 5],
      ['y', 6],
    ]);
    await pass(150);
    expect([asked, lookUps.isUnsettled(1)]).toEqual([['x,y', 'states x,y'], false]);
    expect([lookUps.isAlive, lookUps.areReadSince(now)]).toEqual([true, true]);
  });

  test('not by its states, if none of them is exactly that of the block: nothing begins anew', async () => {
    await pass(33_000);
    states = new Map([['x', 6n]]);
    read(1, [['x', 5]]);
    await pass(5100);
    expect(asked.filter((what) => what.startsWith('states'))).toEqual(['states x']);
    expect([lookUps.isAlive, lookUps.areReadSince(now), lookUps.isUnsettled(1)]).toEqual([false, true, true]);
    lookUps.headIs(1, now, 'one');
    database.set('j', 7n);
    read(2, [['j', 7]]);
    await pass(100);
    expect([lookUps.isAlive, lookUps.isUnsettled(1)]).toEqual([true, false]);
  });

  test('by its states together with other such blocks, in one request', async () => {
    states = new Map([
      ['x', 5n],
      ['y', 6n],
    ]);
    read(1, [['x', 5]]);
    read(2, [['y', 6]]);
    now += 1000;
    await pass(100);
    expect([asked, seqnos]).toEqual([
      ['x,y', 'states x,y'],
      [2, 2],
    ]);
  });
});

describe('the look-ups', () => {
  test('are alive after 32 s of settled blocks, and prove nothing that was requested before', async () => {
    await pass(31_900);
    expect([lookUps.isAlive, lookUps.isBeginning]).toEqual([false, true]);
    await pass(200);
    expect([lookUps.isAlive, lookUps.areReadSince(now), lookUps.areReadSince(131_000)]).toEqual([true, true, false]);
    expect(lookUps.isBeginning).toBe(false);
  });

  test('count no block that was read before they were switched on, however old the mark is', async () => {
    mark = now - 31_900;
    lookUps.tick();
    await pass(31_900);
    expect(lookUps.isBeginning).toBe(true);
  });

  test('are not alive with a block that is not settled for a second', async () => {
    await pass(33_000);
    read(1, [['x', 5]]);
    await pass(800);
    expect(lookUps.isAlive).toBe(true);
    await pass(200);
    expect(lookUps.isAlive).toBe(false);
  });

  test('leave out the blocks that were there when blocks began to be followed', async () => {
    lookUps.read({ seqno: 1, rows: [row('x', 5, 1)], mark: Number.NEGATIVE_INFINITY, indexer: 'one' });
    await pass(1000);
    expect([asked, lookUps.isUnsettled(1)]).toEqual([[], false]);
  });

  test('are sent again after a failure, one at a time', async () => {
    isSilent = true;
    read(1, [['x', 5]]);
    read(2, [['y', 6]]);
    await pass(300);
    expect(asked).toEqual(['x', 'y', 'x']);
  });

  test('ask for nothing while they are off', async () => {
    lookUps.switched(false);
    read(1, [['x', 5]]);
    await pass(1000);
    expect([asked, lookUps.isAlive]).toEqual([[], false]);
  });
});
