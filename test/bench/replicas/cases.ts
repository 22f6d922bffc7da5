import { failed, rateLimited } from '../../../src/tools/simulator/faults.ts';
import type { Member } from '../support/members.ts';

/** What happens to several indexers under a load of some seconds. */
export interface Case {
  readonly name: string;
  /** Default 2. */
  readonly members?: number;
  /** Whether the last of them is a backup with a key of its own; not with nginx. */
  readonly hasBackup?: true;
  /** What is so from the start. */
  readonly prepare?: (members: readonly Member[]) => unknown;
  /** What happens, by the second of the load. */
  readonly events?: readonly (readonly [
    second: number,
    happens: (members: readonly Member[]) => Promise<void> | void,
  ])[];
}

const MINUTE_MS = 60_000;

const first = (happens: (member: Member) => Promise<void> | void) => (members: readonly Member[]) => {
  const [member] = members;
  return member && happens(member);
};

/** Each begins in the second second of the load; where it ends, it ends three seconds later. */
export const CASES: readonly Case[] = [
  { name: 'both well' },
  {
    name: 'one killed, back after 3 s',
    events: [
      [2, first((one) => one.kill())],
      [5, first((one) => one.revive())],
    ],
  },
  { name: 'one hangs', events: [[2, first((one) => void one.faults.inject({ kind: 'hang' }))]] },
  { name: 'one answers 500', events: [[2, first((one) => void one.faults.inject(failed(500)))]] },
  {
    name: 'one answers 429 for 3 s, Retry-After: 3',
    events: [
      [2, first((one) => void one.faults.inject(rateLimited('json', '3')))],
      [5, first((one) => one.faults.clear())],
    ],
  },
  { name: 'one ten times slower', events: [[2, first((one) => one.slow())]] },
  { name: 'one a minute behind', prepare: first((one) => one.lag(MINUTE_MS)) },
  { name: 'both a minute behind', prepare: (members) => members.map((each) => each.lag(MINUTE_MS)) },
  {
    name: 'three restarted one after the other',
    members: 3,
    events: [0, 1, 2].flatMap((number) => [
      [1 + 2 * number, (members: readonly Member[]) => members[number]?.kill()] as const,
      [2 + 2 * number, (members: readonly Member[]) => members[number]?.revive()] as const,
    ]),
  },
  {
    name: 'the backup, while the only one is killed for 3 s',
    hasBackup: true,
    events: [
      [2, first((one) => one.kill())],
      [5, first((one) => one.revive())],
    ],
  },
];
