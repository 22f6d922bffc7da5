import type { Account } from '../../../src/tools/simulator/accounts.ts';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import type { Asked, Case } from './cases.ts';
import { Poll } from './poll.ts';

/** A proven answer may lack a commit of this time before the request, ms. */
const MAY_LACK_MS = 1000;

const TARGETS: Readonly<Record<Asked, (address: string) => string>> = {
  transactions: (address) => `transactions?account=${address}&limit=20`,
  'transactions, no address book': (address) => `transactions?account=${address}&limit=20&x_no_address_book=true`,
  addressInformation: (address) => `addressInformation?address=${address}`,
};

/** A client for each idle account of a chain, which polls it. */
export function accountPolls(chain: Chain, { asks, everyMs, keepsToInstance }: Case): readonly Poll[] {
  return chain.idle.all.map((account, place) => {
    const asked = new SeededRandom('asks', place).pick(asks);
    const target = `/api/v3/${TARGETS[asked](account.address)}`;
    const lackedMs = (body: string, sentAt: number) => lackedSince(chain, account, body, sentAt);
    return new Poll({ target, everyMs, place, keepsToInstance, lackedMs });
  });
}

function lackedSince(chain: Chain, { address }: Account, body: string, sentAt: number): number {
  const shownLt = Number(/"(?:last_transaction_)?lt":"(\d+)"/.exec(body)?.[1] ?? 0);
  const lacked = chain.history(address, sentAt - MAY_LACK_MS).find(({ lt }) => lt > shownLt);
  return lacked === undefined ? 0 : sentAt - chain.indexedAt(lacked.seqno);
}
