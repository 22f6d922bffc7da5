import { expect, test } from 'vitest';
import { FIRST_TRY } from '../../../src/admission/send-rules.ts';
import { refusalErrorWith, reportRefused } from '../../../src/answer/refusal-error.ts';
import { failure } from '../../../src/errors.ts';
import type { AppEvent } from '../../../src/event-hub.ts';

const refusalError = refusalErrorWith(() => 0);
const traces = { operation: 'traces' };
const refused = refusalError(traces, { reason: 'memory', retryAfterMs: 0 });

test.each([
  ['a refused load is counted', FIRST_TRY, refused, 1],
  ["a refused request with its client's API key is counted", { ...FIRST_TRY, isOurs: false, rate: 'none' }, refused, 1],
  ['a refused refresh is not counted: clients have an answer', { ...FIRST_TRY, waits: false }, refused, 0],
  ['a load that failed at the indexer is not counted', FIRST_TRY, failure('upstream-unreachable'), 0],
  ['an abandoned load is not counted', FIRST_TRY, refusalError(traces, { reason: 'abandoned', retryAfterMs: 0 }), 0],
  [
    'a load of an operation that is not served is not counted',
    FIRST_TRY,
    refusalError(traces, { reason: 'not-served', retryAfterMs: 0 }),
    0,
  ],
])('%s', (_, { waits }, error, count) => {
  const events: AppEvent[] = [];
  reportRefused({ ...traces, waits }, error, (event) => void events.push(event));
  expect(events).toEqual(
    Array.from({ length: count }, () => ({ name: 'load-refused', operation: 'traces', reason: 'memory' })),
  );
});
