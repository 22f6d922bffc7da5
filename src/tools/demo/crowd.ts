import type { Account } from '../simulator/accounts.ts';
import type { Chain } from '../simulator/chain.ts';
import type { SeededRandom } from '../simulator/seeded-random.ts';
import { Client, type ClientCall, type HeardAnswer, spellingOf } from './client.ts';

/** What the clients know of the world beside the proxy's answers. */
interface World {
  /** The chain, advanced to the present: where messages are sent to, and what people have heard of. */
  readonly chain: () => Chain;
  /** Accounts that send often and are looked at often. */
  readonly popular: readonly Account[];
  readonly random: SeededRandom;
}

/** What a client does until it ends; it ends by rejection. */
type Habit = (client: Client, world: World) => Promise<never>;

const MEMBERS: readonly (readonly [name: string, count: number, habit: Habit])[] = [
  ['wallet', 8, transfer],
  ['scanner', 3, scan],
  ['explorer', 8, explore],
];

/** What a crowd is made from. */
export interface CrowdOptions extends World {
  /** `http://host:port` of the proxy. */
  readonly proxyUrl: string;
  /** Told of every answer that a client got; says whether it was right. */
  readonly heard: (answer: HeardAnswer) => boolean;
}

/** Some wallets, scanners and explorers at work: each asks when it has its last answer, so their load is bounded. */
export class Crowd implements AsyncDisposable {
  readonly #leaving = new AbortController();
  readonly #atWork: readonly Promise<void>[];

  /** Starts them. */
  constructor({ proxyUrl, heard, ...world }: CrowdOptions) {
    const { signal } = this.#leaving;
    const work = async (name: string, n: number, habit: Habit) => {
      // No two of a kind write alike, so that a key which tells spellings apart would show.
      const client = new Client({ name: `${name} ${n + 1}`, spelling: spellingOf(n), proxyUrl, signal, heard });
      await habit(client, world).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    };
    this.#atWork = MEMBERS.flatMap(([name, count, habit]) =>
      Array.from({ length: count }, (_, n) => work(name, n, habit)),
    );
  }

  /** Rejects when a client fails for a reason of its own, a bug; never resolves before the crowd has left. */
  get work(): Promise<unknown> {
    return Promise.all(this.#atWork);
  }

  /** Sends everybody home; answers that were under way are not waited for. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaving.abort();
    await Promise.allSettled(this.#atWork);
  }
}

const POLL_MESSAGE_MS = 100;
/** For 2.5 s: so long it takes until a message is final. */
const MESSAGE_POLLS = 25;
const LOOKS_AT_HOME = 8;
const BETWEEN_LOOKS_MS = 250;

/** A wallet sends a message, asks every 100 ms as the SDKs do what became of it, and then shows its account for a while. */
async function transfer(client: Client, { chain, popular, random }: World): Promise<never> {
  for (;;) {
    const account = random.pick(popular);
    const externalHash = chain().send(account);
    for (let polls = 0; polls < MESSAGE_POLLS; polls++) {
      await client.ask({ about: 'message', externalHash });
      await client.pause(POLL_MESSAGE_MS);
    }
    for (let looks = 0; looks < LOOKS_AT_HOME; looks++) {
      await client.ask({ about: 'account', account });
      await client.pause(BETWEEN_LOOKS_MS);
    }
  }
}

const MOST_BEHIND = 20;
const CATCH_UP_MS = 30;
const POLL_MS = 150;

/** A scanner walks the masterchain, block by block; at the head it asks for the next block until it is there. */
async function scan(client: Client, { chain, random }: World): Promise<never> {
  for (let seqno = chain().headSeqno - random.int(0, MOST_BEHIND); ; ) {
    const answer = await client.ask({ about: 'block', seqno });
    const isThere = answer?.status === 200;
    if (isThere) seqno++;
    await client.pause(isThere ? CATCH_UP_MS : POLL_MS);
  }
}

const BETWEEN_CLICKS_MS = 150;
const ACCOUNT_SHARE = 0.5;
/** The newest traces, as everybody sees them on a front page; some are in no block yet. */
const FRONT_PAGE_TRACES = 3;
/** Most explorers show both neighbours of a transaction at once. */
const DIRECTIONS: readonly Pick<ClientCall & { about: 'transaction' }, 'direction'>[] = [
  {},
  {},
  { direction: 'in' },
  { direction: 'out' },
];

/** Somebody clicks around in an explorer, on popular accounts and on how the newest traces begin. */
async function explore(client: Client, { chain, popular, random }: World): Promise<never> {
  for (;;) {
    await client.pause(BETWEEN_CLICKS_MS);
    if (random.chance(ACCOUNT_SHARE)) {
      await client.ask({ about: 'account', account: random.pick(popular), actionsVersion: 'latest' });
    } else {
      const { id: hash } = random.pick(chain().recentTraces(FRONT_PAGE_TRACES));
      await client.ask({ about: 'transaction', hash, ...random.pick(DIRECTIONS) });
    }
  }
}
