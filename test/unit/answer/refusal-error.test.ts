import { expect, test } from 'vitest';
import type { ProxyEvent } from '../../../src/answer/events.ts';
import { refusalErrorWith } from '../../../src/answer/refusal-error.ts';
import { again, besides, firstTry, ofLoad, withClientKey } from '../../../src/fleet/lanes.ts';

test.each([
  ['a load', firstTry(), 1],
  ['a request with the API key of its client', withClientKey(firstTry()), 1],
  ['a refresh, which is dropped', ofLoad(true, 7), 0],
  ['a second try: the load was sent', again(firstTry()), 0],
  ['a second try at another indexer', again(firstTry(), 1), 0],
  ['a hedge: the load was sent', besides(firstTry(), 0), 0],
])('a refusal of %s is counted as shed: %#', (_, lane, count) => {
  const events: ProxyEvent[] = [];
  const refuse = refusalErrorWith(
    () => 0,
    (event) => void events.push(event),
  );
  expect(refuse({ operation: 'traces', lane }, { reason: 'memory', retryAfterMs: 0 }).code).toBe('overloaded');
  expect(events).toHaveLength(count);
});
