import { expect, test } from 'vitest';
import type { ProxyEvent } from '../../../src/answer/events.ts';
import { refusalErrorWith, reportShed } from '../../../src/answer/refusal-error.ts';
import { failure } from '../../../src/errors.ts';
import { firstTry, ofLoad, withClientKey } from '../../../src/fleet/lanes.ts';

const refusalError = refusalErrorWith(() => 0);
const traces = { operation: 'traces' };
const refused = refusalError(traces, { reason: 'memory', retryAfterMs: 0 });

test.each([
  ['a load that was refused', firstTry(), refused, 1],
  ['a refused request with the API key of its client', withClientKey(firstTry()), refused, 1],
  ['a refresh that was refused', ofLoad(true, 7), refused, 0],
  ['a load that the indexer failed', firstTry(), failure('upstream-unreachable'), 0],
  ['a load that nobody waits for', firstTry(), refusalError(traces, { reason: 'abandoned', retryAfterMs: 0 }), 0],
  ['a load that is not served', firstTry(), refusalError(traces, { reason: 'not-served', retryAfterMs: 0 }), 0],
])('%s is counted as shed %#', (_, lane, error, count) => {
  const events: ProxyEvent[] = [];
  reportShed({ ...traces, lane }, error, (event) => void events.push(event));
  expect(events).toEqual(
    Array.from({ length: count }, () => ({ name: 'shed', operation: 'traces', reason: 'memory' })),
  );
});
