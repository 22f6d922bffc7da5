import { describe, expect, it } from 'vitest';
import { checkAnswer } from '../../../src/demo/check-answer.ts';
import { type ClientCall, headersOf, targetOf } from '../../../src/demo/client.ts';
import { answer } from '../../../src/simulator/answer.ts';
import { Chain, type ChainOptions } from '../../../src/simulator/chain.ts';
import { Question } from '../../../src/simulator/question.ts';
import type { Trace, Transaction } from '../../../src/simulator/trace.ts';

const START = 1_800_000_000_000;
const DIRECTIONS = [{}, { direction: 'in' }, { direction: 'out' }] as const;

function chainAt(blocks: number, options: Partial<ChainOptions> = {}): Chain {
  const chain = new Chain({ startAt: START, ...options });
  chain.advanceTo(START + blocks * 400);
  return chain;
}

/** What the indexer itself says now. */
function answerOf(chain: Chain, call: ClientCall): { status: number; text: string } {
  const target = targetOf(call, { address: 'raw', hash: 'base64', style: 'encoded' });
  const headers = Object.fromEntries(Object.entries(headersOf(call)).map(([name, it]) => [name.toLowerCase(), it]));
  const { status, body } = answer(
    new Question({ method: 'GET', target, headers, body: Buffer.alloc(0) }, chain, '1.3'),
  );
  return { status, text: String(body) };
}

/** What the checker says to an answer that comes now. */
function check(chain: Chain, call: ClientCall, answered: { status: number; text: string }): string | undefined {
  return checkAnswer({ call, sentAt: chain.now, receivedAt: chain.now, ...answered }, chain);
}

/** Right `allowedMs` after the answer's last moment of truth, wrong one millisecond later. */
function expectToAge(chain: Chain, call: ClientCall, lastTrueAt: number, allowedMs: number): void {
  chain.advanceTo(lastTrueAt);
  const answered = answerOf(chain, call);
  chain.advanceTo(lastTrueAt + 1);
  expect(answerOf(chain, call)).not.toEqual(answered);
  chain.advanceTo(lastTrueAt + 1 + allowedMs);
  expect(check(chain, call, answered)).toBeUndefined();
  chain.advanceTo(chain.now + 1);
  expect(check(chain, call, answered)).toContain(`true until ${allowedMs + 1} ms before`);
}

function sentTrace(chain: Chain): Trace {
  const trace = chain.trace(chain.send());
  if (trace === undefined) throw new Error('not sent');
  return trace;
}

function settledTransactions(chain: Chain): readonly Transaction[] {
  return chain
    .recentTraces(100)
    .filter(({ goneAt }) => goneAt <= chain.now)
    .flatMap(({ transactions }) => transactions);
}

/** A flight of one second on top of what the class allows. */
const FLIGHT_MS = 1000;

describe('an answer of the simulated indexer', () => {
  it('is right at the instant at which it is given, for any request', () => {
    const chain = chainAt(20);
    let answers = 0;
    for (; chain.now < START + 20_000; chain.advanceTo(chain.now + 260)) {
      const [trace, older] = chain.recentTraces(2);
      if (trace === undefined || older === undefined) throw new Error('no traces');
      const calls: ClientCall[] = [
        { about: 'block', seqno: chain.headSeqno },
        { about: 'block', seqno: chain.headSeqno + 1 },
        { about: 'message', externalHash: trace.externalHash },
        ...[trace, older].flatMap(({ transactions }) =>
          transactions
            .slice(-2)
            .flatMap(({ hash, account }): ClientCall[] => [
              { about: 'account', account },
              { about: 'account', account, actionsVersion: 'latest' },
              ...DIRECTIONS.map((direction) => ({ about: 'transaction', hash, ...direction }) as const),
            ]),
        ),
      ];
      for (const call of calls) {
        answers++;
        expect(check(chain, call, answerOf(chain, call))).toBeUndefined();
      }
    }
    expect(answers).toBeGreaterThan(500);
  });

  it('may have become true while it was under way', () => {
    const chain = chainAt(20);
    const call: ClientCall = { about: 'block', seqno: chain.headSeqno + 1 };
    const sentAt = chain.now;
    const before = answerOf(chain, call);
    chain.advanceTo(chain.now + 400);
    const after = answerOf(chain, call);
    expect([before.status, after.status]).toEqual([404, 200]);
    for (const answered of [before, after]) {
      expect(checkAnswer({ call, sentAt, receivedAt: chain.now, ...answered }, chain)).toBeUndefined();
    }
    expect(checkAnswer({ call, sentAt, receivedAt: chain.now - 1, ...after }, chain)).toContain('says this only later');
  });
});

describe('an older answer', () => {
  it('is right for 300 ms when it is a 404', () => {
    const chain = chainAt(20);
    const seqno = chain.headSeqno + 1;
    expectToAge(chain, { about: 'block', seqno }, chain.clock.committedAt(seqno) - 1, 300 + FLIGHT_MS);
  });

  it('is right for 250 ms when nothing was pending', () => {
    const chain = chainAt(20);
    const { externalHash, emulatedAt } = sentTrace(chain);
    expectToAge(chain, { about: 'message', externalHash }, emulatedAt - 1, 250 + FLIGHT_MS);
  });

  it('is right for twice 400 ms when something was under way', () => {
    const chain = chainAt(20);
    const { externalHash, transactions } = sentTrace(chain);
    const firstConfirmedAt = Math.min(...transactions.map(({ confirmedAt }) => confirmedAt));
    expectToAge(chain, { about: 'message', externalHash }, firstConfirmedAt - 1, 800 + FLIGHT_MS);
  });

  it('is right for twice a second when all of its transactions were final', () => {
    const chain = chainAt(20);
    const { externalHash, goneAt } = sentTrace(chain);
    expectToAge(chain, { about: 'message', externalHash }, goneAt - 1, 2000 + FLIGHT_MS);
  });

  it('is right for twice a second when young transactions were still to gain children', () => {
    const chain = chainAt(60, { lateShare: 1 });
    const child = Array.from({ length: 20 }, () => sentTrace(chain))
      .flatMap(({ transactions }) => transactions)
      .find(({ parent, seqno }) => parent?.children.some((sibling) => sibling.seqno + 3 < seqno));
    if (child?.parent === undefined) throw new Error('nobody has a late child');
    const call: ClientCall = { about: 'transaction', hash: child.parent.hash, direction: 'out' };
    expectToAge(chain, call, child.finalizedAt - 1, 2000 + FLIGHT_MS);
  });

  it('is right for ever when it was final', () => {
    const chain = chainAt(60, { historyBlocks: 2000 });
    const child = settledTransactions(chain).find(({ parent }) => parent !== undefined);
    const calls: ClientCall[] = [
      { about: 'block', seqno: chain.headSeqno },
      { about: 'transaction', hash: child?.hash ?? '', direction: 'in' },
    ];
    const answered = calls.map((call) => ({ call, ...answerOf(chain, call) }));
    chain.advanceTo(chain.now + 600_000);
    expect(answered.map(({ status }) => status)).toEqual([200, 200]);
    expect(answered.map(({ call, ...then }) => check(chain, call, then))).toEqual([undefined, undefined]);
  });
});

describe('a wrong answer', () => {
  const chain = chainAt(200);
  const child = settledTransactions(chain).find(({ parent, children }) => parent !== undefined && children.length > 0);
  if (child === undefined) throw new Error('no such transaction');
  const call: ClientCall = { about: 'transaction', hash: child.hash, direction: 'in' };
  const right = answerOf(chain, call);

  it('is the answer to another request', () => {
    const [pending] = chain.pendingTraces();
    const account = pending?.transactions[0]?.account;
    if (pending === undefined || account === undefined) throw new Error('nothing pending');
    const calls: ClientCall[] = [
      call,
      { ...call, direction: 'out' },
      { about: 'transaction', hash: child.hash },
      { about: 'transaction', hash: child.parent?.hash ?? '', direction: 'out' },
      { about: 'message', externalHash: pending.externalHash },
      { about: 'message', externalHash: child.hash },
      { about: 'block', seqno: chain.headSeqno - 10 },
      { about: 'block', seqno: chain.headSeqno - 11 },
      { about: 'block', seqno: chain.headSeqno + 1 },
    ];
    for (const asked of calls) {
      for (const other of calls) {
        const reason = check(chain, asked, answerOf(chain, other));
        if (asked === other) expect(reason).toBeUndefined();
        else expect(reason, `${JSON.stringify(other)} for ${JSON.stringify(asked)}`).toBeTypeOf('string');
      }
    }
  });

  it('is the answer for another version of the actions', () => {
    const trace = chain.recentTraces(200).find(({ transactions }) => transactions.length > 5);
    const account = trace?.transactions[0]?.account;
    if (trace === undefined || account === undefined) throw new Error('no such trace');
    const then = chainAt(0);
    then.advanceTo(trace.goneAt - 1);
    const latest: ClientCall = { about: 'account', account, actionsVersion: 'latest' };
    expect(check(then, latest, answerOf(then, { about: 'account', account }))).toMatch(/never says.*actions/);
    expect(check(then, { about: 'account', account }, answerOf(then, latest))).toMatch(/never says.*actions/);
  });

  it('lacks a member, or has another value', () => {
    const body = JSON.parse(right.text);
    const { lt: _, ...shorter } = body.transactions[0];
    const short = JSON.stringify({ ...body, transactions: [shorter] });
    expect(check(chain, call, { status: 200, text: short })).toMatch(
      /never says this; transactions\.0\.lt is missing, /,
    );
    const other = JSON.stringify({ ...body, transactions: [{ ...body.transactions[0], now: 1 }] });
    expect(check(chain, call, { status: 200, text: other })).toContain('transactions.0.now is 1, expected is 18');
    const none = JSON.stringify({ ...body, address_book: {} });
    expect(check(chain, call, { status: 200, text: none })).toContain('address_book.');
  });

  it('is a 404 where there is something', () => {
    const absent = { status: 404, text: '{"error":"adjacent transactions not found"}' };
    expect(check(chain, call, absent)).toContain('expected is 200 {"transactions":');
  });

  it('is not JSON, has another status, or never came', () => {
    expect(check(chain, call, { ...right, text: right.text.slice(0, -1) })).toBe('the body is not JSON');
    for (const status of [204, 304, 422, 429, 500, 502, 503, 504]) {
      expect(check(chain, call, { ...right, status })).toBe('only 200 and 404 can be right');
    }
    expect(check(chain, call, { ...right, status: 0 })).toBe('no answer came');
  });
});
