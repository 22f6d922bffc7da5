import type { Account } from '../../../src/tools/simulator/accounts.ts';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../../src/tools/simulator/dialect.ts';
import { type Call, writeCanonically } from '../../truth/call.ts';
import { rowsIn } from '../../truth/rows.ts';
import { States } from '../../truth/states.ts';
import type { Case } from './cases.ts';
import { Poll } from './poll.ts';

/** How often a wallet polls the jetton wallets of its owner, and a deposit scanner the incoming transfers, ms. */
const [WALLETS_EVERY_MS, TRANSFERS_EVERY_MS] = [5000, 10_000];
/** An answer may lack a commit of this time before the request, ms. */
const MAY_LACK_MS = 1000;

const UNNAMED = { noAddressBook: true, noMetadata: true };

interface OwnerCall {
  readonly call: Call;
  readonly everyMs: number;
}

/** Two clients for each owner of jettons of a chain. */
export function ownerPolls(chain: Chain, dialect: Dialect, { keepsToInstance }: Case): readonly Poll[] {
  const states = new States(chain, dialect);
  return chain.jettons.owners.flatMap((owner, place) =>
    ownerCalls(owner, place).map(({ call, everyMs }) => {
      const lackedMs = (body: string, sentAt: number) => lackedSince(states, call, body, sentAt);
      return new Poll({ target: targetOf(call), everyMs, place, keepsToInstance, lackedMs });
    }),
  );
}

/** The wallets of an owner, without names for every second one, and the transfers to it. */
export function ownerCalls(owner: Account, place: number): readonly OwnerCall[] {
  const names = place % 2 === 0 ? {} : UNNAMED;
  return [
    { call: { operation: 'jetton/wallets', owner, limit: 50, ...names }, everyMs: WALLETS_EVERY_MS },
    { call: { operation: 'jetton/transfers', owner, direction: 'in', limit: 50 }, everyMs: TRANSFERS_EVERY_MS },
  ];
}

/** Headers are sent as parameters, which the indexer reads as well. */
export function targetOf(call: Call): string {
  const { target, headers } = writeCanonically(call);
  const parameters = Object.keys(headers).map((header) => `&${header.toLowerCase().replaceAll('-', '_')}=true`);
  return target + parameters.join('');
}

/** How long before the request the state of an answer had ended, ms; 0 if it was a second or less. */
export function lackedSince(states: States, call: Call, body: string, sentAt: number): number {
  const rows = rowsIn(call, body);
  const shown = states.of(call).findLast((state) => rowsIn(call, state.said().text) === rows);
  const untilAt = shown?.untilAt ?? Number.NEGATIVE_INFINITY;
  return untilAt < sentAt - MAY_LACK_MS ? sentAt - untilAt : 0;
}
