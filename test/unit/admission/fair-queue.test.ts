import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { FairQueue } from '../../../src/admission/fair-queue.ts';
import { NaiveQueue } from './naive-queue.ts';

/** The name of a client adds a member of it, `next` serves the next member, and `end round` ends the round. */
type Step = string | 'next' | 'end round';

interface Member {
  readonly client: string;
  /**
   * The number of its client's visit: a visit begins when the client adds a member while no other member of it waits.
   */
  readonly visit: number;
  readonly addedAt: number;
  /** The number of its client's waiting members when it was added. */
  readonly ownAhead: number;
  servedAt: number;
}

const [added, next] = [fc.constantFrom('a', 'b', 'c', 'greedy', 'greedy', 'greedy'), fc.constant('next')];
const steps = fc.array(fc.oneof({ weight: 2, arbitrary: added }, { weight: 1, arbitrary: next }), { maxLength: 200 });
/** Steps that serve more often than they add: clients come back again and again while others wait. */
const stepsWithEnds = fc.array(fc.oneof(added, next, next, fc.constant('end round')), { maxLength: 200 });

/** Runs the steps, then serves all remaining members; returns all members in the order in which they were added. */
function run(all: readonly Step[]): Member[] {
  const queue = new FairQueue<Member>();
  const members: Member[] = [];
  let at = 0;
  const next = () => {
    const first = queue.next()?.member;
    if (first === undefined) return;
    queue.go(first);
    first.servedAt = at++;
  };
  const visits = new Map<string, number>();
  for (const step of all) {
    if (step === 'next') {
      next();
      continue;
    }
    if (step === 'end round') {
      queue.endJoinedRound();
      continue;
    }
    const waiting = members.filter(({ servedAt }) => servedAt === Number.POSITIVE_INFINITY);
    const ownAhead = waiting.filter(({ client }) => client === step).length;
    if (ownAhead === 0) visits.set(step, (visits.get(step) ?? 0) + 1);
    const visit = visits.get(step) ?? 0;
    const member = { client: step, visit, addedAt: at++, ownAhead, servedAt: Number.POSITIVE_INFINITY };
    members.push(member);
    queue.add(member, step);
  }
  while (queue.size > 0) next();
  return members;
}

describe('a queue that is fair between clients', () => {
  /** For each visit of each other client: how many of its members were added after a member and served before it. */
  const passesOf = (member: Member, members: readonly Member[]) => {
    const passing = members.filter(
      (other) => other.client !== member.client && other.addedAt > member.addedAt && other.servedAt < member.servedAt,
    );
    return [...Map.groupBy(passing, ({ client, visit }) => `${client}, ${visit}`).values()].map(({ length }) => length);
  };

  test.each([
    ['n + 1', 1, steps],
    ['n + 2', 2, stepsWithEnds],
  ])('lets each visit of another client pass a member at most %s times, with n own members ahead', (_, more, any) => {
    fc.assert(
      fc.property(any, (all) => {
        const members = run(all);
        for (const member of members) {
          for (const passes of passesOf(member, members)) expect(passes).toBeLessThanOrEqual(more + member.ownAhead);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('serves all members, and those of one client in order', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const members = run(all);
        expect(members.every(({ servedAt }) => servedAt < Number.POSITIVE_INFINITY)).toBe(true);
        for (const client of ['a', 'b', 'c', 'greedy']) {
          const served = members.filter((member) => member.client === client).map(({ servedAt }) => servedAt);
          expect(served).toEqual(served.toSorted((one, other) => one - other));
        }
      }),
    );
  });

  test('returns how many members go before the next member of a client if no other client comes', () => {
    const clients = fc.constantFrom('a', 'b', 'c', 'greedy', 'new');
    fc.assert(
      fc.property(steps, clients, (all, client) => {
        const queue = new FairQueue<number>();
        for (const [member, step] of all.entries()) {
          if (step !== 'next') queue.add(member, step);
          else queue.go(queue.next()?.member ?? -1);
        }
        const ahead = queue.ahead(client);
        queue.add(-1, client);
        for (let n = 0; n < ahead; n++) queue.go(queue.next()?.member ?? -1);
        expect(queue.next()?.member).toBe(-1);
      }),
    );
  });

  test('gives the same results as the naive queue, which looks at all members each time', () => {
    const client = fc.constantFrom('a', 'b', 'c', 'd');
    const busy = fc.subarray(['a', 'b', 'c', 'd']);
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('add'), client }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('go'), busy }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave'), which: fc.nat(100) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('share'), which: fc.nat(100), client }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('end round') }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (all) => {
        const [queue, model] = [new FairQueue<number>(), new NaiveQueue()];
        for (const [member, one] of all.entries()) {
          const { members } = model;
          if ('busy' in one) {
            const mayGo = (name: string) => !one.busy.includes(name);
            const next = queue.next(mayGo);
            expect(next).toEqual(model.next(mayGo));
            if (next === undefined) continue;
            queue.go(next.member);
            model.go(next.client);
          } else if ('which' in one) {
            const chosen = members[one.which % Math.max(1, members.length)] ?? -1;
            if ('client' in one) {
              queue.share(chosen, one.client);
              model.share(chosen, one.client);
            } else {
              queue.remove(chosen);
              model.leave(chosen);
            }
          } else if ('client' in one) {
            queue.add(member, one.client);
            model.add(member, one.client);
          } else {
            queue.endJoinedRound();
            model.endJoinedRound();
          }
          expect(queue.size).toBe(model.members.length);
          for (const name of ['a', 'b', 'c', 'd', 'new']) expect(queue.ahead(name)).toBe(model.ahead(name));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('does the same work for a decision after 100 000 members have come and left', () => {
    const queue = new FairQueue<number>();
    queue.add(-1, 'waits');
    const readsOf = () => {
      const reads = vi.spyOn(Map.prototype, 'get');
      const walks = vi.spyOn(Map.prototype, Symbol.iterator);
      queue.ahead('new');
      queue.add(-2, 'new');
      queue.remove(-2);
      const counted = reads.mock.calls.length + walks.mock.calls.length;
      vi.restoreAllMocks();
      return counted;
    };
    const before = readsOf();
    for (let n = 0; n < 100_000; n++) {
      queue.add(n, `client ${n % 1000}`);
      queue.remove(n);
    }
    expect(readsOf()).toBe(before);
  });
});
