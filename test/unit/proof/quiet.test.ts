import { beforeEach, describe, expect, it } from 'vitest';
import type { Proof } from '../../../src/freshness.ts';
import { Quiet, withStates } from '../../../src/proof/quiet.ts';
import { Touches } from '../../../src/proof/touches.ts';
import type { BlockRow } from '../../../src/ton/block-facts.ts';

const ACCOUNT = '0:AA';
const WALLET_DATA = 'get_wallet_data';
const WALLET_ADDRESS = 'get_wallet_address';
const MINUTE = 60_000;

let now: number;
let touches: Touches;
let quiet: Quiet;
let reading: { isAlive: boolean; areReadSince: (instant: number) => boolean };

beforeEach(() => {
  now = 1_000_000;
  touches = new Touches({ now: () => now, keptMs: 362_000, maxBytes: 1e9 });
  quiet = new Quiet({ touches, methods: [WALLET_DATA, WALLET_ADDRESS], boundMs: 5 * MINUTE, now: () => now });
  reading = { isAlive: true, areReadSince: () => true };
});

let rows = 0;
function row(state: Partial<BlockRow['state']> & object = {}, account = ACCOUNT): BlockRow {
  const n = ++rows;
  const shown = { block: `block ${n}`, before: 'a', after: 'b', ...state };
  return { account, lt: BigInt(n), hash: `hash ${n}`, now: 0, seqno: n, state: shown };
}

function see(...seen: BlockRow[]): void {
  touches.add(withStates(seen));
}

const ran = (method: string, account = ACCOUNT) => ({ accounts: [account], method }) as const;

/** An answer that was requested now. */
const asked = (method = WALLET_DATA, hasFailed = false, equalMs?: number) =>
  quiet.proofOf(reading, { kind: 'method', ...ran(method), hasFailed }, now, equalMs);

/** The last of some answers, requested this long after each other, each equal to the one before. */
function equal(method: string, ...afterMs: number[]): Proof {
  let last = asked(method);
  for (const ms of afterMs) {
    now += ms;
    const next = asked(method);
    next.compare?.(last, true);
    last = next;
  }
  return last;
}

describe('a result of a get-method', () => {
  it('is proven once it was equal twice, at least 3 s apart, for a minute', () => {
    expect(asked().doubt).toBe('asked-once');
    expect(equal(WALLET_DATA, 2999).doubt).toBe('asked-once');
    const proof = equal(WALLET_DATA, 3000);
    expect(proof.doubt).toBeUndefined();
    now += MINUTE - 1;
    expect(proof.doubt).toBeUndefined();
    now += 1;
    expect(proof.doubt).toBe('too-old');
  });

  it('is proven by the first of many equal answers that came in short intervals', () => {
    expect(equal(WALLET_DATA, 1000, 1000, 1000).doubt).toBeUndefined();
    expect(equal(WALLET_DATA, 1000, 1000).doubt).toBe('asked-once');
  });

  it('is proven by the one that it replaces, without a second load', () => {
    expect(equal(WALLET_DATA, 3000, 61_000).doubt).toBeUndefined();
  });

  it('is not proven by an answer from before the last transaction', () => {
    const first = asked();
    now += 1000;
    see(row());
    now += 63_000;
    const second = asked();
    second.compare?.(first, true);
    expect(second.doubt).toBe('asked-once');
  });

  it('ends with a transaction, and for those that were requested 62 s before and after it', () => {
    const before = equal(WALLET_DATA, 3000);
    see(row());
    expect([before.doubt, before.isOutdated()]).toEqual(['touched', true]);
    now += 58_000;
    const within = equal(WALLET_DATA, 3000);
    expect([within.doubt, within.isOutdated()]).toEqual(['touched', false]);
    now += 2000;
    expect(equal(WALLET_DATA, 3000).doubt).toBeUndefined();
  });

  it('is not proven while blocks are not read, or what was seen is forgotten', () => {
    const proof = equal(WALLET_DATA, 3000);
    reading.isAlive = false;
    expect(proof.doubt).toBe('not-alive');
    reading.isAlive = true;
    reading.areReadSince = (instant) => instant >= now;
    now += 1;
    expect(proof.doubt).toBe('asked-too-early');
    reading.areReadSince = () => true;
    const small = new Touches({ now: () => now, keptMs: 362_000, maxBytes: 0 });
    quiet = new Quiet({ touches: small, methods: [WALLET_DATA], boundMs: 60_000, now: () => now });
    const forgotten = equal(WALLET_DATA, 3000);
    small.add([row({}, '0:BB')]);
    expect(forgotten.doubt).toBe('asked-too-early');
  });

  it('with another exit code is never proven, and refutes one with exit code 0', () => {
    const good = equal(WALLET_DATA, 3000);
    const bad = asked(WALLET_DATA, true);
    expect(bad.doubt).toBe('not-checked');
    bad.compare?.(good, false);
    expect(good.doubt).toBe('answers-differ');
  });

  it('carries the instant of its equal predecessor to another instance', () => {
    const proof = equal(WALLET_DATA, 5000);
    expect(proof.equalMs).toBe(5000);
    const there = (equalMs: number | undefined) => asked(WALLET_DATA, false, equalMs);
    expect(there(proof.equalMs).doubt).toBeUndefined();
    expect(there(undefined).doubt).toBe('asked-once');
    const copy = there(proof.equalMs);
    copy.compare?.(there(undefined), true);
    expect(copy.doubt).toBeUndefined();
  });
});

describe('a master that runs in each block', () => {
  const runsTwice = (after = 'a', before = 'a') => {
    const block = `block of ${rows}`;
    see(row({ block, before, after: undefined }), row({ block, before: undefined, after }));
  };

  // Its state is known from an earlier block.
  beforeEach(() => {
    runsTwice();
    now += 62_001;
  });

  it('is quiet if code and data are the same before the first and after the last row of a shard block', () => {
    runsTwice();
    const first = asked(WALLET_ADDRESS);
    runsTwice();
    now += 4000;
    runsTwice();
    const second = asked(WALLET_ADDRESS);
    second.compare?.(first, true);
    runsTwice();
    expect(second.doubt).toBeUndefined();
    runsTwice('b');
    expect(second.doubt).toBe('touched');
  });

  it('is not quiet for a method that may read the balance, nor if a hash is missing', () => {
    const data = equal(WALLET_DATA, 3000);
    const address = equal(WALLET_ADDRESS, 3000);
    runsTwice();
    expect([data.doubt, address.doubt]).toEqual(['touched', undefined]);
    see(row({ before: undefined, after: undefined }));
    expect(address.doubt).toBe('touched');
  });

  it('remembers its last change for as long as it runs', () => {
    runsTwice('b');
    const changedAt = now;
    now += 1000;
    runsTwice('b', 'b');
    expect([touches.lastChangeOf(ACCOUNT), touches.lastOf(ACCOUNT)]).toEqual([changedAt, now]);
  });

  it('is not quiet if its state is unchanged, but not the last known one: a block before is not read yet', () => {
    const proof = equal(WALLET_ADDRESS, 3000);
    runsTwice('b', 'b');
    expect([proof.doubt, proof.isOutdated()]).toEqual(['touched', true]);
  });

  it('is not quiet if no state is known before its first transaction, or the last one is not', () => {
    const other = '0:BB';
    see(row({ before: 'a', after: 'a' }, other));
    expect(touches.lastChangeOf(other)).toBe(now);
    see(row({ before: 'a', after: undefined }, other));
    now += 1000;
    see(row({ before: 'a', after: 'a' }, other));
    expect(touches.lastChangeOf(other)).toBe(now);
  });

  it('is quiet from its first transactions while the blocks of a start are read, unless they change it', () => {
    const unchanged = row({ before: 'b', after: 'b' }, '0:BB');
    touches.add(withStates([unchanged]), true);
    expect(touches.lastChangeOf('0:BB')).toBe(Number.NEGATIVE_INFINITY);
    touches.add(withStates([row({ before: 'a', after: 'b' }, '0:BB')]), true);
    expect(touches.lastChangeOf('0:BB')).toBe(now);
  });

  it('has the state of its newest transaction, in whatever order blocks are read', () => {
    const [older, newer, newest] = [row({ before: 'a', after: 'b' }), row({ before: 'b', after: 'c' }), row()];
    see(newer);
    see(older);
    const readAt = now;
    now += 1000;
    see({ ...newest, state: { block: 'newest', before: 'c', after: 'c' } });
    expect(touches.lastChangeOf(ACCOUNT)).toBe(readAt);
    see(row({ before: 'b', after: 'b' }));
    expect(touches.lastChangeOf(ACCOUNT)).toBe(now);
  });
});

describe('answers that differ', () => {
  const differ = (method = WALLET_DATA) => {
    const first = asked(method);
    now += 5000;
    const second = asked(method);
    second.compare?.(first, false);
    return [first, second] as const;
  };
  const areProven = () => quiet.areDifferent(ran(WALLET_DATA)) === false;

  it('are both not served again, and no answer is proven for 62 s', () => {
    const refuted = differ();
    expect(refuted.map(({ doubt }) => doubt)).toEqual(['answers-differ', 'answers-differ']);
    expect(equal(WALLET_DATA, 3000).doubt).toBe('answers-differ');
    expect(quiet.areDifferent(ran(WALLET_ADDRESS))).toBe(false);
    now += 59_000;
    expect(equal(WALLET_DATA, 3000).doubt).toBeUndefined();
    expect(refuted[1].doubt).not.toBeUndefined();
  });

  it('mean nothing after a transaction', () => {
    const first = asked();
    now += 5000;
    see(row());
    const second = asked();
    second.compare?.(first, false);
    expect(areProven()).toBe(true);
  });

  it('three times in a row without a transaction within 62 s end the proof for 10 minutes', () => {
    for (const [unexplained, isProven] of [
      [1, true],
      [2, true],
      [3, false],
    ] as const) {
      differ();
      see(row({}, '0:BB'));
      expect(areProven(), `${unexplained}`).toBe(false);
      now += 62_000;
      expect(areProven(), `${unexplained} times`).toBe(isProven);
    }
    now += 9 * MINUTE;
    // By now transactions from before are forgotten.
    see(row({}, '0:BB'));
    now += MINUTE - 1;
    expect(areProven()).toBe(false);
    now += 1;
    expect(areProven()).toBe(true);
    differ();
    now += 62_000;
    expect(areProven()).toBe(true);
  });

  it('are explained by a transaction within 62 s, and then not in a row', () => {
    for (let n = 0; n < 5; n++) {
      differ();
      now += 61_000;
      see(row());
      expect(areProven()).toBe(true);
      now += 100_000;
    }
    differ(WALLET_ADDRESS);
    see(row({ before: 'b', after: 'b' }));
    expect(quiet.areDifferent(ran(WALLET_ADDRESS))).toBe(true);
  });

  it('are not explained by a transaction after 62 s', () => {
    for (let n = 0; n < 3; n++) {
      differ();
      now += 62_000;
      see(row());
      expect(areProven()).toBe(n < 2);
      now += 63_000;
    }
    expect(areProven()).toBe(false);
  });

  it('mean nothing while blocks are not read, and if transactions from before are forgotten', () => {
    reading.isAlive = false;
    differ();
    reading.isAlive = true;
    reading.areReadSince = () => false;
    differ();
    expect(areProven()).toBe(true);
    reading.areReadSince = () => true;
    const small = new Touches({ now: () => now, keptMs: 1000, maxBytes: 1e9 });
    quiet = new Quiet({ touches: small, methods: [WALLET_DATA], boundMs: 60_000, now: () => now });
    small.add([row({}, '0:BB')]);
    now += 1000;
    small.add([row({}, '0:BB')]);
    differ();
    expect(areProven()).toBe(true);
    now += 62_000;
    differ();
    expect(areProven()).toBe(false);
  });

  it('are remembered for 1000 accounts and methods', () => {
    differ();
    for (let n = 0; n < 999; n++) quiet.differ(ran(WALLET_DATA, `0:${n}`));
    expect(areProven()).toBe(false);
    quiet.differ(ran(WALLET_DATA, '0:999'));
    expect(areProven()).toBe(true);
  });
});
