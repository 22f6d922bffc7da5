import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairQueue } from '../../../src/admission/fair-queue.ts';

/** A client adds a member, or the next one goes. */
type Step = string | 'next';

interface Member {
  readonly client: string;
  readonly addedAt: number;
  /** Members of its client that were waiting when it was added. */
  readonly ownAhead: number;
  servedAt: number;
}

const steps = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('a', 'b', 'c', 'greedy', 'greedy', 'greedy') },
    { weight: 1, arbitrary: fc.constant('next') },
  ),
  { maxLength: 200 },
);

/** Runs the steps, then serves all that is left; all members in the order in which they were added. */
function run(all: readonly Step[]): Member[] {
  const queue = new FairQueue<Member>();
  const members: Member[] = [];
  let at = 0;
  const next = () => {
    const { first } = queue;
    if (first === undefined) return;
    queue.remove(first);
    first.servedAt = at++;
  };
  for (const step of all) {
    if (step === 'next') {
      next();
      continue;
    }
    const waiting = members.filter(({ servedAt }) => servedAt === Number.POSITIVE_INFINITY);
    const ownAhead = waiting.filter(({ client }) => client === step).length;
    const member = { client: step, addedAt: at++, ownAhead, servedAt: Number.POSITIVE_INFINITY };
    members.push(member);
    queue.add(member, step);
  }
  while (queue.size > 0) next();
  return members;
}

describe('a queue that is fair between clients', () => {
  test('lets nobody be passed by more than one member of each other client for each of its own ahead', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const members = run(all);
        for (const member of members) {
          const passing = members.filter(
            (other) =>
              other.client !== member.client && other.addedAt > member.addedAt && other.servedAt < member.servedAt,
          );
          for (const client of new Set(passing.map((other) => other.client))) {
            const times = passing.filter((other) => other.client === client).length;
            expect(times).toBeLessThanOrEqual(1 + member.ownAhead);
          }
        }
      }),
    );
  });

  test('serves all, and those of one client in the order in which they came', () => {
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

  test('tells a client how many go before its next member if nobody else comes', () => {
    const clients = fc.constantFrom('a', 'b', 'c', 'greedy', 'new');
    fc.assert(
      fc.property(steps, clients, (all, client) => {
        const queue = new FairQueue<number>();
        for (const [member, step] of all.entries()) {
          if (step !== 'next') queue.add(member, step);
          else if (queue.first !== undefined) queue.remove(queue.first);
        }
        const ahead = queue.ahead(client);
        queue.add(-1, client);
        for (let n = 0; n < ahead; n++) queue.remove(queue.first ?? -1);
        expect(queue.first).toBe(-1);
      }),
    );
  });

  test('a member that others wait for too takes the best of their places', () => {
    const queue = new FairQueue<string>();
    for (const member of ['first', 'second', 'third']) queue.add(member, 'greedy');
    queue.share('third', 'greedy');
    expect(queue.ahead('new')).toBe(1);
    queue.share('third', 'other');
    expect([queue.ahead('new'), queue.ahead('greedy'), queue.size]).toEqual([2, 3, 3]);
    queue.share('unknown', 'other');
    expect(queue.size).toBe(3);
  });
});
