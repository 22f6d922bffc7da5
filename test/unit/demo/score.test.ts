import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HeardAnswer } from '../../../src/demo/client.ts';
import { Score, type WrongAnswer } from '../../../src/demo/score.ts';
import { answer } from '../../../src/simulator/answer.ts';
import { Chain } from '../../../src/simulator/chain.ts';
import { Question } from '../../../src/simulator/question.ts';

const START = 1_800_000_000_000;

let chain: Chain;
let score: Score;
let wrong: WrongAnswer[];

beforeEach(() => {
  vi.useFakeTimers({ now: START + 60_000 });
  chain = new Chain({ startAt: START });
  wrong = [];
  score = new Score({
    chain: () => {
      chain.advanceTo(Date.now());
      return chain;
    },
    onWrong: (it) => wrong.push(it),
  });
  chain.advanceTo(Date.now());
});

afterEach(() => {
  score[Symbol.dispose]();
  vi.useRealTimers();
});

function heard(rest: Partial<HeardAnswer> = {}): HeardAnswer {
  const target = `/api/v3/masterchainBlockShards?seqno=${chain.clock.firstSeqno}`;
  const question = new Question({ method: 'GET', target, headers: {}, body: Buffer.alloc(0) }, chain, '1.3');
  return {
    client: 'somebody',
    call: { about: 'block', seqno: chain.clock.firstSeqno },
    url: `http://127.0.0.1${target}`,
    cacheStatus: 'toncache; hit; ttl=3; detail=memory',
    sentAt: Date.now(),
    receivedAt: Date.now(),
    tookMs: 1,
    status: 200,
    text: String(answer(question).body),
    ...rest,
  };
}

describe('the score of the crowd', () => {
  it('counts answers, and as hits those that Cache-Status calls so', () => {
    expect(score.add(heard())).toBe(true);
    expect(score.add(heard({ cacheStatus: 'toncache; fwd=miss; fwd-status=200; stored' }))).toBe(true);
    expect([score.answers, score.hits, score.wrong, score.unchecked]).toEqual([2, 1, 0, 0]);
    expect(wrong).toEqual([]);
  });

  it('reports a wrong answer and why it is wrong', () => {
    const bad = heard({ status: 503, text: '{"error":"overloaded"}' });
    expect(score.add(bad)).toBe(false);
    expect([score.answers, score.wrong]).toEqual([1, 1]);
    expect(wrong).toEqual([{ answer: bad, reason: 'only 200 and 404 can be right' }]);
  });

  it('does not check answers that were under way while this process stood still, nor soon after', () => {
    const underWay = heard({ status: 504 });
    vi.advanceTimersByTime(5000);
    expect(score.add(heard({ status: 504 })), 'time that goes on is no standstill').toBe(false);
    vi.setSystemTime(Date.now() + 5000);
    expect(score.add(underWay)).toBe(true);
    vi.advanceTimersByTime(10_000);
    expect(score.add(heard({ status: 504 }))).toBe(true);
    vi.advanceTimersByTime(1);
    expect(score.add(heard({ status: 504 }))).toBe(false);
    expect([score.answers, score.wrong, score.unchecked]).toEqual([4, 2, 2]);
  });
});
