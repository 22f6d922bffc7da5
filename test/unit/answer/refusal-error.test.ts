import { expect, test } from 'vitest';
import { refusalErrorWith, reportRefused } from '../../../src/answer/refusal-error.ts';
import { failure } from '../../../src/errors.ts';
import type { AppEvent } from '../../../src/event-hub.ts';
import { firstTry, ofLoad, withClientKey } from '../../../src/fleet/lanes.ts';

const refusalError = refusalErrorWith(() => 0);
const traces = { operation: 'traces' };
const refused = refusalError(traces, { reason: 'memory', retryAfterMs: 0 });

test.each([
  ['a refused load is counted', firstTry(), refused, 1],
  ["a refused request with its client's API key is counted", withClientKey(firstTry()), refused, 1],
  ['a refused refresh is not counted: clients have an answer', ofLoad(true, 7), refused, 0],
  ['a load that failed at the indexer is not counted', firstTry(), failure('upstream-unreachable'), 0],
  ['an abandoned load is not counted', firstTry(), refusalError(traces, { reason: 'abandoned', retryAfterMs: 0 }), 0],
  [
    'a load of an operation that is not served is not counted',
    firstTry(),
    refusalError(traces, { reason: 'not-served', retryAfterMs: 0 }),
    0,
  ],
])('%s', (_, lane, error, count) => {
  const events: AppEvent[] = [];
  reportRefused({ ...traces, lane }, error, (event) => void events.push(event));
  expect(events).toEqual(
    Array.from({ length: count }, () => ({ name: 'load-refused', operation: 'traces', reason: 'memory' })),
  );
});
