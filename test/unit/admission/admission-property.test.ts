import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PRIORITIES } from '../../../src/admission/backlog.ts';
import type { Outcome } from '../../../src/admission/outcome.ts';
import { RateLimit } from '../../../src/admission/rate-limit.ts';
import { Slots } from '../../../src/admission/slots.ts';
import { Client, FakeGuard, HOLD_MS, openAdmission, PATIENCE_MS, settle } from '../../support/open-admission.ts';

const OPERATIONS = ['pending', 'adjacent', 'shards', 'other'];
const SHARES = { pending: 0.4, adjacent: 0.3, shards: 0.2 };
const OUTCOMES: readonly Outcome[] = [
  'answered',
  'answered',
  'answered',
  'client-error',
  'server-error',
  'rate-limited',
  'timeout',
  'unreachable',
  'abandoned',
];
const TIMER_MS = 1;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const now = () => performance.now();

const which = fc.nat(1000);
const aStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('come' as const),
      operation: fc.constantFrom(...OPERATIONS),
      priority: fc.constantFrom(...PRIORITIES),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('leave' as const, 'raise' as const), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('send' as const), which }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('end' as const), which, outcome: fc.constantFrom(...OUTCOMES) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('guard' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 300 }) }) },
);

interface Visit {
  readonly client: Client;
  readonly cameAt: number;
  enteredAt?: number;
  hasEnded: boolean;
}

test('whatever comes, leaves and ends, slots and counts are right, no request starves, and all end', async () => {
  const options = fc.record({
    max: fc.integer({ min: 1, max: 12 }),
    maxWaiting: fc.constantFrom(0, 3, 1000),
    perSecond: fc.constantFrom(undefined, 5, 100),
  });
  await fc.assert(
    fc.asyncProperty(options, fc.array(aStep, { maxLength: 120, size: 'max' }), async (chosen, steps) => {
      const { max, maxWaiting, perSecond } = chosen;
      const slots = new Slots({ now }, { max, shares: SHARES });
      const guard = new FakeGuard('breaker-open');
      const rate = perSecond === undefined ? undefined : new RateLimit({ now }, { perSecond });
      const admission = openAdmission({ slots, maxWaiting, rate, guardsOf: () => [guard] });
      const visits: Visit[] = [];

      const waiting = () => visits.filter(({ client }) => client.entered === undefined);
      const granted = () => visits.filter(({ client, hasEnded }) => client.said === 'ticket' && !hasEnded);
      const sent = () => granted().filter(({ client }) => client.sent === 'go');
      const pick = (among: Visit[], index: number) => among[index % Math.max(1, among.length)];

      for (const step of steps) {
        if (step.kind === 'come') {
          const visit: Visit = { client: new Client(admission, step), cameAt: now(), hasEnded: false };
          visits.push(visit);
        } else if (step.kind === 'pass') {
          await vi.advanceTimersByTimeAsync(step.ms);
        } else if (step.kind === 'guard') {
          guard.refusesTickets = !guard.refusesTickets;
        } else if (step.kind === 'leave') {
          pick(visits, step.which)?.client.leave();
        } else if (step.kind === 'raise') {
          const raised = pick(waiting(), step.which);
          if (raised !== undefined) admission.raise(raised.client.request);
        } else if (step.kind === 'send') {
          const unsent = granted().filter(({ client }) => !client.isSending);
          pick(unsent, step.which)?.client.send();
        } else if (step.kind === 'end') {
          const ending = pick(sent(), step.which);
          ending?.client.ticket.end(step.outcome);
          if (ending !== undefined) ending.hasEnded = true;
        }
        await settle();
        for (const visit of visits) {
          if (visit.client.sent !== undefined && visit.client.sent !== 'go') visit.hasEnded = true;
        }
        expect([admission.waiting, admission.inFlight]).toEqual([waiting().length, sent().length]);
        expect(admission.slotsInUse).toBeGreaterThanOrEqual(granted().length);
        expect(admission.slotsInUse).toBeLessThanOrEqual(max);
        // No request waits while there is a slot for it, nor longer than its patience.
        for (const { client, cameAt } of waiting()) {
          expect(slots.mayTake(client.request.operation)).toBe(false);
          const isRaised = client.request.priority === 'refresh';
          expect(now() - cameAt).toBeLessThanOrEqual(PATIENCE_MS * (isRaised ? 2 : 1) + TIMER_MS);
        }
        expect(guard.ended.length).toBe(guard.keys.length - sent().length);
      }
      guard.refusesTickets = false;
      // All remaining requests are admitted or give up; held slots become free one by one where nothing was answered.
      for (let turn = 0; turn < max + 5; turn++) {
        for (const visit of granted()) {
          if (visit.client.isSending && visit.client.sent === undefined) continue;
          visit.client.ticket.end('unsent');
          visit.hasEnded = true;
        }
        await vi.advanceTimersByTimeAsync(HOLD_MS);
      }
      expect(waiting()).toEqual([]);
      expect([admission.slotsInUse, admission.waiting]).toEqual([0, 0]);
    }),
    { numRuns: 150 },
  );
});

test('misses of an operation are admitted in the order in which they came', async () => {
  const aTurn = fc.oneof(fc.constant('come' as const), fc.constant('end' as const), fc.nat(50));
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(aTurn, { maxLength: 80 }), async (max, turns) => {
      const admission = openAdmission({ max });
      const clients: Client[] = [];
      const order: Client[] = [];
      for (const turn of turns) {
        if (turn === 'come') clients.push(new Client(admission));
        else if (turn === 'end') order.find((client) => client.sent === undefined)?.send();
        else await vi.advanceTimersByTimeAsync(turn);
        await settle();
        for (const client of order) if (client.sent === 'go') client.ticket.end('answered');
        await settle();
        for (const client of clients) if (client.said === 'ticket' && !order.includes(client)) order.push(client);
      }
      expect(order).toEqual(clients.filter((client) => order.includes(client)));
    }),
  );
});
