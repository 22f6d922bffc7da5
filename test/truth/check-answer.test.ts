import { expect, test } from 'vitest';
import type { Call } from './call.ts';
import { checkAnswer } from './check-answer.ts';
import type { State } from './states.ts';

const NOW = Date.UTC(2026, 0, 1);
const NOTHING = '{"traces":[]}';
const SOMETHING = '{"traces":[{}]}';

/** States by what the indexer says and how long ago each one began, ms; the first one has no beginning. */
function statesOf(...said: readonly (readonly [text: string, sinceMs: number])[]): State[] {
  return said.map(([text, sinceMs], place) => ({
    fromAt: NOW - sinceMs,
    untilAt: NOW - (said[place + 1]?.[1] ?? Number.NEGATIVE_INFINITY),
    said: () => ({ status: 200, text }),
  }));
}

/** The verdict on an answer that lists nothing, to a client that has seen the state that began so long ago. */
function verdictOn(states: readonly State[], seenSinceMs: number) {
  const call: Call = { operation: 'pendingTraces', hashes: ['x'] };
  const answer = { call, sentAt: NOW - 5, receivedAt: NOW, status: 200, text: NOTHING, age: '0' };
  const granted = { machineDelayMs: 0, lagMs: 0, staleIfError: false, emptyWatchedMs: 0, falls: [] };
  const seen = { notBefore: Number.NEGATIVE_INFINITY, seenFrom: NOW - seenSinceMs };
  return checkAnswer({ ...answer, cacheStatus: 'toncache; hit; ttl=0; detail=memory' }, states, {
    ...granted,
    ...seen,
  });
}

test('a client that saw a newer state is told of a regression', () => {
  const states = statesOf([NOTHING, Number.POSITIVE_INFINITY], [SOMETHING, 100]);
  expect(verdictOn(states, 100)).toMatchObject({ verdict: 'regression' });
  expect(verdictOn(states, Number.POSITIVE_INFINITY)).toMatchObject({ verdict: 'true', isOver: true });
});

test('a state that the chain no longer tells from the one before it is no newer one', () => {
  const known = statesOf([NOTHING, Number.POSITIVE_INFINITY], [NOTHING, 65_000], [SOMETHING, 100]);
  const forgotten = statesOf([NOTHING, Number.POSITIVE_INFINITY], [SOMETHING, 100]);
  for (const states of [known, forgotten]) expect(verdictOn(states, 65_000)).toMatchObject({ verdict: 'true' });
});
