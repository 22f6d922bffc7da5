import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '../../../src/tools/simulator/accounts.ts';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import type { Connections, Heard } from '../support/connections.ts';
import type { Asked, Case } from './cases.ts';

/** A proven answer may lack a commit of this time before the request, ms. */
const MAY_LACK_MS = 1000;

const TARGETS: Readonly<Record<Asked, (address: string) => string>> = {
  transactions: (address) => `transactions?account=${address}&limit=20`,
  'transactions, no address book': (address) => `transactions?account=${address}&limit=20&x_no_address_book=true`,
  addressInformation: (address) => `addressInformation?address=${address}`,
};

/** An account, the client that polls it, and the results of the counted polls. */
export class PolledAccount {
  polls = 0;
  proven = 0;
  /** Answers that lacked an older commit, and the greatest age of such a commit, ms. */
  lacking = 0;
  latestMs = 0;
  refused = 0;
  readonly #chain: Chain;
  readonly #account: Account;
  readonly #case: Case;
  readonly #place: number;
  readonly #target: string;
  readonly #random: SeededRandom;

  constructor(chain: Chain, account: Account, one: Case, place: number) {
    this.#chain = chain;
    this.#account = account;
    this.#case = one;
    this.#place = place;
    this.#random = new SeededRandom('polls', place);
    this.#target = `/api/v3/${TARGETS[this.#random.pick(one.asks)](account.address)}`;
  }

  /** Polls at its pace. Polls count from one instant on (epoch ms). */
  async poll(
    connections: readonly Connections[],
    { countedAt, untilAt }: { readonly countedAt: number; readonly untilAt: number },
  ): Promise<void> {
    const { everyMs, keepsToInstance } = this.#case;
    await delay(this.#random.next() * everyMs);
    for (let polls = 0; Date.now() < untilAt; polls++) {
      const sentAt = Date.now();
      const at = keepsToInstance ? this.#place : this.#place + polls;
      const heard = await connections[at % connections.length]?.ask(this.#target);
      if (heard !== undefined && sentAt >= countedAt) this.#judge(heard, sentAt);
      const pauseMs = everyMs * (0.9 + 0.2 * this.#random.next());
      await delay(Math.max(0, Math.min(sentAt + pauseMs, untilAt) - Date.now()));
    }
  }

  #judge({ status, body, isProven }: Heard, sentAt: number): void {
    this.polls++;
    if (status !== 200) {
      this.refused++;
      return;
    }
    if (isProven) this.proven++;
    const shownLt = Number(/"(?:last_transaction_)?lt":"(\d+)"/.exec(body)?.[1] ?? 0);
    const lacked = this.#chain.history(this.#account.address, sentAt - MAY_LACK_MS).find(({ lt }) => lt > shownLt);
    if (lacked === undefined) return;
    this.lacking++;
    this.latestMs = Math.max(this.latestMs, sentAt - this.#chain.indexedAt(lacked.seqno));
  }
}
