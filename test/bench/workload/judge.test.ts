import { describe, expect, it } from 'vitest';
import type { ClientCall } from '../../../src/demo/client.ts';
import { truthsOf } from '../../../src/demo/ground-truth.ts';
import { Chain } from '../../../src/simulator/chain.ts';
import { judge, type Verdict } from './judge.ts';
import { sightsOf } from './sights.ts';

const START = 1_700_000_000_000;
const chainAt = (instant: number) => {
  const chain = new Chain({ startAt: START });
  chain.advanceTo(instant);
  return chain;
};
const late = chainAt(START + 60_000);
const externalHash = late.recentTraces(1000).at(-5)?.externalHash ?? '';
const call: ClientCall = { about: 'message', externalHash };
const truths = truthsOf(call, late);

/** What the chain says from one of its changes on, as somebody has it who asks that long after the next one. */
function answered(place: number, askedAfterMs: number, tookMs = 10) {
  const truth = truths[place];
  const sentAt = (truth?.untilAt ?? 0) + askedAfterMs;
  const text = Buffer.from(JSON.stringify(truth?.body())).toString('latin1');
  return { call, sentAt, receivedAt: sentAt + tookMs, status: truth?.status ?? 0, text };
}

const kinds = (verdicts: readonly Verdict[]) => verdicts.map(({ kind }) => kind);

describe('a verdict', () => {
  it('is right for what was true while the client waited, or within its lifetime before', () => {
    const verdicts = judge([answered(1, -5), answered(1, 0), answered(1, 700)], chainAt(START));
    expect(kinds(verdicts)).toEqual(['right', 'right', 'right']);
    expect(verdicts.map(({ staleMs }) => staleMs)).toEqual([0, 0, 700]);
    expect(verdicts[0]?.trueFrom).toBe(truths[1]?.fromAt);
  });

  it('is a lie for what was true too long ago, was never true, is no JSON, or is not true yet', () => {
    const never = { ...answered(1, -5), text: '{"traces":[]}' };
    const cut = { ...answered(1, -5), text: '{"traces":[' };
    const tooEarly = { ...answered(2, 0), sentAt: START + 1, receivedAt: START + 2 };
    const answers = [answered(1, 2500), never, cut, tooEarly];
    expect(kinds(judge(answers, chainAt(START)))).toEqual(['lie', 'lie', 'lie', 'lie']);
  });

  it('is a failure for every other status', () => {
    const verdicts = judge(
      [
        { ...answered(1, 0), status: 503 },
        { ...answered(1, 0), status: 0 },
      ],
      chainAt(START),
    );
    expect(kinds(verdicts)).toEqual(['failed', 'failed']);
  });
});

describe('the time until a change is seen', () => {
  it('counts from the change to the first who polled and has it', () => {
    // Asked 300 ms before the change, and again 200 and 400 ms after it: the later truth comes with the second.
    const change = truths[2]?.fromAt ?? 0;
    const before = answered(1, -300);
    const old = { ...answered(1, 200), receivedAt: change + 210 };
    const seen = { ...answered(2, 0), sentAt: change + 400, receivedAt: change + 410 };
    expect(change).toBe(truths[1]?.untilAt);
    expect(sightsOf(judge([before, old, seen], chainAt(START)), late, 'message')).toEqual([410]);
  });

  it('does not count where nobody polled', () => {
    expect(sightsOf(judge([answered(2, 0)], chainAt(START)), late, 'message')).toEqual([]);
  });
});
