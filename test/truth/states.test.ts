import { expect, test } from 'vitest';
import { answer } from '../../src/tools/simulator/answer.ts';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { Question } from '../../src/tools/simulator/question.ts';
import { type Call, writeCanonically } from './call.ts';
import { States } from './states.ts';

const START = 1_800_000_000_000;
const AHEAD_MS = 6000;

/** Of a trace from before it is known until it is over, and of the blocks in that time. */
function callsAbout(chain: Chain): readonly Call[] {
  const [trace] = chain.recentTraces(40).filter(({ transactions }) => transactions.length > 2);
  const [first, second] = trace?.transactions ?? [];
  if (trace === undefined || first === undefined || second === undefined) throw new Error('no trace of any size');
  return [
    { operation: 'pendingTraces', hashes: [trace.externalHash] },
    { operation: 'pendingTraces', accounts: [first.account], actionsVersion: 'latest' },
    { operation: 'pendingTraces', accounts: [second.account], noMetadata: true },
    { operation: 'adjacentTransactions', hashes: [first.hash] },
    { operation: 'adjacentTransactions', hashes: [second.hash], direction: 'in' },
    { operation: 'masterchainBlockShards', seqno: first.seqno, limit: 2 },
  ];
}

test.each([
  ['1.2', undefined],
  ['1.3', undefined],
  ['1.3', 100],
] as const)(
  'the states of a call are what indexer %s said at every instant, classifier %s',
  (dialect, classifierDelayMs) => {
    const options = {
      startAt: START,
      seed: 7,
      lateShare: 0.5,
      invalidatedShare: 0.1,
      ...(classifierDelayMs === undefined ? {} : { classifierDelayMs }),
    };
    const [live, ahead] = [new Chain(options), new Chain(options)];
    ahead.advanceTo(START + 20_000);
    const calls = callsAbout(ahead);
    const states = new States(ahead, dialect);
    const seen = new Set<string>();
    for (let now = START + 10_000; now < START + 40_000; now += 130) {
      live.advanceTo(now);
      ahead.advanceTo(now + AHEAD_MS);
      for (const [place, call] of calls.entries()) {
        const { target, headers } = writeCanonically(call);
        const lowered = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
        const asked = { method: 'GET', target, headers: lowered, body: Buffer.alloc(0) };
        const { status, body } = answer(new Question(asked, live, dialect));
        const state = states.of(call).find(({ fromAt, untilAt }) => fromAt <= now && now < untilAt);
        expect(state?.said()).toEqual({ status, text: body });
        seen.add(`${place} ${body}`);
      }
    }
    // Each of them changed at least once.
    expect(seen.size).toBeGreaterThan(2 * calls.length);
  },
);
