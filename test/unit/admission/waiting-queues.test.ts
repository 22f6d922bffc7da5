import { expect, test } from 'vitest';
import type { Lane } from '../../../src/admission/lane.ts';
import { WaitingQueues } from '../../../src/admission/waiting-queues.ts';
import { again, firstTry, overflow, withClientKey, withoutOurKey } from '../../../src/fleet/lanes.ts';

const of = (lane: Lane, operation = 'any') => ({ operation, clients: ['one'], lane });

test.each([
  ['a first try', firstTry(), 3],
  ['a second try, which goes after all others,', again(firstTry()), 3],
  ['a request without our key', withoutOurKey(firstTry()), 3],
  ['a request to a backup', overflow(firstTry()), 1],
])('%s waits behind the queues that use reservations of the same rate', (_, lane, ahead) => {
  const queues = new WaitingQueues<string>();
  const waiting: [Lane, string][] = [
    [firstTry(), 'a'],
    [firstTry(), 'b'],
    [overflow(firstTry()), 'a'],
    [withClientKey(firstTry()), 'a'],
    [withoutOurKey(firstTry()), 'a'],
  ];
  for (const [each, operation] of waiting) queues.of(of(each, operation)).waiting.add('waiter', 'another');
  expect(queues.aheadForReservation(of(lane))).toBe(ahead);
});
