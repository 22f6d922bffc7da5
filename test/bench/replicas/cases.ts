import { setTimeout as delay } from 'node:timers/promises';
import { failed, rateLimited, refusedKey, withoutBlocks } from '../../../src/tools/simulator/faults.ts';
import type { Member } from '../support/members.ts';

/** Events at several indexers under a load of some seconds. */
export interface Case {
  readonly name: string;
  /** Default 2. */
  readonly members?: number;
  /** True if the last one is a backup with its own key; not with nginx. */
  readonly hasBackup?: true;
  /** The requests of the clients. Default: neighbours of transactions, and pages of blocks, each once. */
  readonly asks?: 'ended traces';
  /** The state from the start. */
  readonly prepare?: (members: readonly Member[]) => unknown;
  /** Begins two seconds after the load. */
  readonly begin?: (first: Member, members: readonly Member[]) => unknown;
  /** Ends it, three seconds later. */
  readonly end?: (first: Member) => unknown;
}

const MINUTE_MS = 60_000;
const FIVE_BLOCKS_MS = 2000;
const KILLED: Pick<Case, 'begin' | 'end'> = { begin: (one) => one.kill(), end: (one) => one.revive() };

export const CASES: readonly Case[] = [
  { name: 'both well' },
  { name: 'one killed, back after 3 s', ...KILLED },
  { name: 'one hangs', begin: ({ faults }) => faults.inject({ kind: 'hang' }) },
  { name: 'one answers 500', begin: ({ faults }) => faults.inject(failed(500)) },
  { name: 'one refuses the key', begin: ({ faults }) => faults.inject(refusedKey(401)) },
  {
    name: 'one answers 429 for 3 s, Retry-After: 3',
    begin: ({ faults }) => faults.inject(rateLimited('json', '3')),
    end: ({ faults }) => faults.clear(),
  },
  { name: 'one ten times slower', begin: ({ faults }) => Object.assign(faults.workers ?? {}, { serviceMs: 1000 }) },
  { name: 'one a minute behind', prepare: ([one]) => one?.lag(MINUTE_MS) },
  { name: 'both a minute behind', prepare: (members) => members.map((each) => each.lag(MINUTE_MS)) },
  {
    name: 'one without history',
    prepare: ([one]) => {
      for (const operation of ['masterchainBlockShards', 'adjacentTransactions'] as const)
        one?.faults.inject(withoutBlocks(), { operation });
    },
  },
  {
    name: 'the database of one five blocks behind, traces that have just ended',
    asks: 'ended traces',
    prepare: ([one]) => one?.lagDatabase(FIVE_BLOCKS_MS),
  },
  { name: 'three restarted one after the other', members: 3, begin: (_, members) => restart(members) },
  { name: 'the backup, while the only one is killed for 3 s', hasBackup: true, ...KILLED },
];

/** Each indexer is down for a second, with a second in between. */
async function restart(members: readonly Member[]): Promise<void> {
  for (const member of members) {
    await member.kill();
    await delay(1000);
    await member.revive();
    await delay(1000);
  }
}
