import { expect, test } from 'vitest';
import { FIRST_TRY, type SendRules } from '../../../src/admission/send-rules.ts';
import { WaitingQueues } from '../../../src/admission/waiting-queues.ts';

const of = (rules: SendRules, operation = 'any') => ({ ...rules, operation, clients: ['one'] });

test.each<[string, SendRules, number]>([
  ['a first try', FIRST_TRY, 3],
  ['a second try, which goes after all others,', { ...FIRST_TRY, isSecondTry: true }, 3],
  ['a request without our key', { ...FIRST_TRY, isOurs: false }, 3],
  ['a request to a backup', { ...FIRST_TRY, rate: 'backup' }, 1],
])('%s waits behind the queues that use reservations of the same rate', (_, rules, ahead) => {
  const queues = new WaitingQueues<string>();
  const waiting: [SendRules, string][] = [
    [FIRST_TRY, 'a'],
    [FIRST_TRY, 'b'],
    [{ ...FIRST_TRY, rate: 'backup' }, 'a'],
    [{ ...FIRST_TRY, isOurs: false, rate: 'none' }, 'a'],
    [{ ...FIRST_TRY, isOurs: false }, 'a'],
  ];
  for (const [each, operation] of waiting) queues.of(of(each, operation)).waiting.add('waiter', 'another');
  expect(queues.aheadForReservation(of(rules))).toBe(ahead);
});

test.each<[string, Partial<SendRules>, boolean]>([
  ['about another block', { seqno: 8 }, true],
  ['that does not wait', { waits: false }, true],
  ['that is a second try', { isSecondTry: true }, false],
  ['that one indexer must not get', { not: 0 }, false],
  ['that only one indexer may get', { at: 0 }, false],
  ['to a backup', { rate: 'backup' }, false],
  ['without our key', { isOurs: false }, false],
  ['with its own key', { isOurs: false, rate: 'none' }, false],
])('a request %s shares the queue of an ordinary one (%j): %s', (_, rules, isShared) => {
  const queues = new WaitingQueues<string>();
  const ordinary = queues.of(of({ ...FIRST_TRY, seqno: 7 }));
  expect(queues.of(of({ ...FIRST_TRY, seqno: 7, ...rules })) === ordinary).toBe(isShared);
});
