import { expect, test } from 'vitest';
// @ts-expect-error -- a script of the page, which has no types
import { operationState, worstFirst } from '../../../../src/operate/status/page/tables.js';
// @ts-expect-error -- a script of the page, which has no types
import * as all from '../../../../src/operate/status/page/words.js';

const words: Readonly<Record<string, (...values: unknown[]) => string>> = all;

test.each([
  [{ seconds: 0.4, requests: 0 }, 'Nothing has been answered yet.'],
  // Requests may have come, and failed.
  [{ seconds: 15.9, requests: 0 }, 'Nothing was answered in the last 15.9 s.'],
  [{ seconds: 3599, requests: 0 }, 'Nothing was answered in the last hour.'],
  [
    { seconds: 61, requests: 1200, saved: 900, olderAnswers: 0 },
    'Saved 900 of 1,200 requests in the last 61 s; no response was older than an earlier one.',
  ],
  [
    { seconds: 600, requests: 2, saved: 0, olderAnswers: 1 },
    'Saved 0 of 2 requests in the last 10 min; 1 response was older than an earlier one.',
  ],
  [
    { seconds: 3600, requests: 12_037, saved: 8716, olderAnswers: 1500 },
    'Saved 8,716 of 12,037 requests in the last hour; 1,500 responses were older than an earlier one.',
  ],
])('the savings of %j are told in one sentence', (hour, sentence) => {
  expect(words['savedOf']?.(hour)).toBe(sentence);
});

test.each([
  ['queuedOf', { queued: 0, expectedWaitSeconds: 0 }, '0'],
  ['queuedOf', { queued: 1200, expectedWaitSeconds: 1.5 }, '1,200, for 1.5 s'],
  ['redisOf', 'used', 'connected'],
  ['redisOf', 'failed', 'not used'],
  ['redisOf', 'not configured', 'not configured'],
  ['proofOf', undefined, 'not configured'],
  ['proofOf', { state: 'idle', block: 0, entries: 0 }, 'idle'],
  ['proofOf', { state: 'resting', block: 7, entries: 0 }, 'resting'],
  ['proofOf', { state: 'alive', block: 62_000_331, entries: 1203 }, '1,203 to 62,000,331'],
  ['statusesOf', {}, '–'],
  ['statusesOf', { 200: 9.1, 'upstream-timeout': 0.2, 500: 120 }, '500: 120, 200: 9.1, timeout: 0.2'],
  ['duration', 0.9949, '990 ms'],
  ['duration', 0.9996, '1 s'],
  ['noClientsOf', undefined, 'Nothing queued; memory serves everything.'],
  ['noClientsOf', 1, 'Nothing queued; memory serves everything.'],
  ['noClientsOf', 0.99, 'Nothing queued.'],
  ['percent', undefined, '–'],
  ['percent', 0.5, '50.0 %'],
] as const)('%s of %j is %s', (name, value, text) => {
  expect(words[name]?.(value)).toBe(text);
});

test.each([
  ['not configured', 'Purge in this instance: {"seqno":7}?'],
  ['used', 'Purge in all instances: {"seqno":7}?'],
  // The others read it when Redis is back.
  ['failed', 'Purge in all instances: {"seqno":7}?'],
])('the question before a purge, with Redis "%s", is: %s', (redis, question) => {
  expect(words['purgeQuestion']?.({ seqno: 7 }, redis)).toBe(question);
});

test('a page without new numbers names the time of its last ones, if there are any, or why they are refused', () => {
  const at = new Date(2026, 10, 28, 3, 14, 7).getTime();
  expect(words['lostOf']?.('connecting again', at)).toBe('Connection lost; last update 03:14:07');
  expect(words['lostOf']?.('connecting again', undefined)).toBe('Connection lost');
  expect(words['lostOf']?.('refused: accepted: localhost', at)).toBe(
    'refused: accepted: localhost; last update 03:14:07',
  );
});

test('operations with problems come first, and the others keep their order', () => {
  const operation = (name: string, its: object) => ({
    name,
    perSecond: 10,
    failedPerSecond: 0,
    breakersOpenAt: [],
    breakersHalfOpenAt: [],
    notServedBy: [],
    ...its,
  });
  const rows = [
    operation('a', {}),
    operation('few fail', { failedPerSecond: 0.05 }),
    operation('b', { breakersHalfOpenAt: ['x:1'] }),
    operation('fails', { failedPerSecond: 5 }),
    operation('not served', { notServedBy: ['x:1'] }),
    operation('open', { breakersOpenAt: ['x:1'] }),
  ];
  const names = worstFirst(rows, operationState).map(({ name }: { name: string }) => name);
  expect(names).toEqual(['fails', 'open', 'few fail', 'not served', 'a', 'b']);
});
