import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeAccount } from '../../src/tools/simulator/accounts.ts';
import { Failover, Restore } from '../../src/tools/simulator/database-fall.ts';
import type { Call } from './call.ts';
import { checkAnswer } from './check-answer.ts';
import type { State } from './states.ts';

const SECOND = 1000;
/** The database falls back by 200 s at this instant, and catches up within 100 s. */
const FELL_AT = Date.UTC(2026, 0, 1);
const FALL = new Restore(FELL_AT, 200 * SECOND, 3);

describe('a database that falls back', () => {
  test("has the chain's state before the fall and after it has caught up, and less in between", () => {
    const lacksMs = (passedMs: number) => FELL_AT + passedMs - FALL.databaseAt(FELL_AT + passedMs);
    expect([-1, 0, 50, 99, 100, 200].map((second) => lacksMs(second * SECOND) / SECOND)).toEqual([
      0, 200, 100, 2, 0, 0,
    ]);
  });

  test('commits each lost instant again at one moment', () => {
    fc.assert(
      fc.property(fc.integer({ min: -300, max: 300 }), (second) => {
        const instant = FELL_AT + second * SECOND;
        const again = FALL.committedAgainAt(instant);
        if (second <= -200 || second >= 100) expect(again).toBe(instant);
        else expect(FALL.databaseAt(again)).toBeCloseTo(instant, 0);
      }),
    );
  });
});

test('a failover has an older state until it has everything at once', () => {
  const failover = new Failover(FELL_AT, 36 * SECOND, 54 * SECOND);
  const lacksMs = (second: number) => {
    const instant = FELL_AT + second * SECOND;
    return (instant - failover.databaseAt(instant)) / SECOND;
  };
  expect([-1, 0, 53, 54].map(lacksMs)).toEqual([0, 36, 89, 0]);
  const againAt = (second: number) => (failover.committedAgainAt(FELL_AT + second * SECOND) - FELL_AT) / SECOND;
  expect([-36, -35, 53, 54].map(againAt)).toEqual([-36, 54, 54, 54]);
});

describe('the checker', () => {
  const HEAD: Call = { operation: 'masterchainInfo' };
  const PAGE: Call = { operation: 'masterchainBlockShards', seqno: 1 };

  /** A new head each second, or a block that is committed this many seconds after the fall. */
  const heads: readonly State[] = Array.from({ length: 600 }, (_, place) => ({
    fromAt: FELL_AT + (place - 300) * SECOND,
    untilAt: FELL_AT + (place - 299) * SECOND,
    said: () => ({ status: 200, text: `{"last":{"seqno":${place - 300}}}` }),
  }));
  const blockOf = (second: number): readonly State[] => {
    const at = FELL_AT + second * SECOND;
    return [
      { fromAt: Number.NEGATIVE_INFINITY, untilAt: at, said: () => ({ status: 404, text: '{}' }) },
      { fromAt: at, untilAt: Number.POSITIVE_INFINITY, said: () => ({ status: 200, text: '{"blocks":[]}' }) },
    ];
  };

  function verdictOn(
    call: Call,
    states: readonly State[],
    place: number,
    second: number,
    { detail = 'regressed', falls = [FALL] } = {},
  ) {
    const { status, text } = states[place]?.said() ?? { status: 0, text: '' };
    const at = FELL_AT + second * SECOND;
    const cacheStatus = `toncache; fwd=stale; fwd-status=200; detail=${detail}`;
    const answer = { call, sentAt: at - 5, receivedAt: at, status, text, age: undefined, cacheStatus };
    const granted = { machineDelayMs: 0, lagMs: 0, staleIfError: false, falls };
    const seen = { notBefore: Number.NEGATIVE_INFINITY, seenFrom: Number.NEGATIVE_INFINITY };
    return checkAnswer(answer, states, { ...granted, ...seen }).verdict;
  }
  const verdictOnHead = (seqno: number, second: number) => verdictOn(HEAD, heads, seqno + 300, second);
  const verdictOnBlock = (place: number, committed: number, second: number) =>
    verdictOn(PAGE, blockOf(committed), place, second);

  test.each([
    ['from before the fall may be served for a minute', -1, 59, 'true'],
    ['from before the fall may not be served for longer', -1, 64, 'lie'],
    ['from before the fall may be served once the database has it again', -1, 66.5, 'true'],
    ['from before the fall may be served if it was still kept for comparison at the fall', -9, 30, 'true'],
    ['from before the fall may not be served if it was no longer kept at the fall', -12, 30, 'lie'],
    ['that the database has may be served', -170, 10.1, 'true'],
    ['that the database had long before may not be served', -170, 13, 'lie'],
    ['that the database does not have again yet may not be served', -160, 10, 'lie'],
    ['that the chain has and the database never had may not be served', 20, 30, 'lie'],
    ['that the database has caught up to may be served', 110, 110.1, 'true'],
  ])('a head %s', (_, seqno, second, verdict) => expect(verdictOnHead(seqno, second)).toBe(verdict));

  /** Two states of one list with rows of 150 s before the fall: one row, and from `untilSecond` on two rows. */
  const growingList = (untilSecond: number): readonly State[] => {
    const listOf = (rows: number) =>
      JSON.stringify({
        transactions: Array.from({ length: rows }, () => ({ now: FELL_AT / SECOND - 150, emulated: false })),
      });
    const until = FELL_AT + untilSecond * SECOND;
    return [
      { fromAt: FELL_AT - 150 * SECOND, untilAt: until, said: () => ({ status: 200, text: listOf(1) }) },
      { fromAt: until, untilAt: Number.POSITIVE_INFINITY, said: () => ({ status: 200, text: listOf(2) }) },
    ];
  };
  const ADJACENT: Call = { operation: 'adjacentTransactions', direction: 'out' };

  test.each([
    ['was replaced a minute before the fall may be served instead of less complete ones', -60, 10, 'regressed', 'true'],
    ['was replaced a minute before the fall may not come from the indexer', -60, 10, 'expired', 'lie'],
  ])('a state of a growing list that %s', (_, untilSecond, second, detail, verdict) => {
    expect(verdictOn(ADJACENT, growingList(untilSecond), 0, second, { detail })).toBe(verdict);
  });

  const ACCOUNT: Call = { operation: 'addressInformation', accounts: [makeAccount('wallet', Buffer.alloc(32, 7))] };
  const TRACE: Call = { operation: 'traces', by: 'trace_id', hashes: ['AB'] };
  /** Two states of an account or trace: the second follows at `untilSecond`. */
  const balances = (untilSecond: number, fromSecond = -150): readonly State[] => {
    const until = FELL_AT + untilSecond * SECOND;
    const saying = (balance: number) => () => ({ status: 200, text: `{"balance":"${balance}","traces":[]}` });
    return [
      { fromAt: FELL_AT + fromSecond * SECOND, untilAt: until, said: saying(1) },
      { fromAt: until, untilAt: Number.POSITIVE_INFINITY, said: saying(2) },
    ];
  };

  test.each([
    ['an account that changed 55 s before the answer may be served instead of an older one', ACCOUNT, -45, 10, 'true'],
    ['an account that changed more than a minute before the answer may not be served', ACCOUNT, -55, 10, 'lie'],
    ['a trace that changed 55 s before the answer may not be served', TRACE, -45, 10, 'lie'],
    ['a trace that changed 15 s before the answer may be served instead of an older one', TRACE, -5, 10, 'true'],
  ])('a lost state of %s', (_, call, untilSecond, second, verdict) => {
    expect(verdictOn(call, balances(untilSecond), 0, second)).toBe(verdict);
  });

  test('counts from when the database last showed a state, even if that was after an earlier fall', () => {
    const again = new Restore(FELL_AT + 110 * SECOND, 200 * SECOND, 3);
    // Committed again 65 s after the first fall, which is 55 s before the answer.
    const states = balances(-5, -20);
    expect(verdictOn(ACCOUNT, states, 0, 120, { falls: [FALL, again] })).toBe('true');
    expect(verdictOn(ACCOUNT, states, 0, 130, { falls: [FALL, again] })).toBe('lie');
  });

  test.each([
    ['is lost may still be served', 1, -100, 10, 'true'],
    ['is lost may be absent', 0, -100, 10, 'true'],
    ['is there again may not be absent', 0, -100, 40, 'lie'],
    ['was not lost may not be absent', 0, -201, 1, 'lie'],
    ['is committed after the fall may not be served before the database has it', 1, 5, 20, 'lie'],
    ['is committed after the fall may be served once the database has it', 1, 5, 70, 'true'],
  ])('a block that %s', (_, place, committed, second, verdict) => {
    expect(verdictOnBlock(place, committed, second)).toBe(verdict);
  });
});
