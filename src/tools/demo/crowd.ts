import type { Account } from '../simulator/accounts.ts';
import type { Chain } from '../simulator/chain.ts';
import { SeededRandom } from '../simulator/seeded-random.ts';
import { Client, type CrowdClientOptions, spellingOf } from './client.ts';

/** What a crowd is made from. */
export interface CrowdOptions extends Pick<CrowdClientOptions, 'proxyUrl' | 'signal' | 'heard'> {
  /** The chain, advanced to the present: where messages are sent to, and what people have heard of. */
  readonly chain: () => Chain;
  /** Accounts that send often and are looked at often. */
  readonly popular: readonly Account[];
}

/** What the clients know of the world beside the proxy's answers. */
interface Surroundings extends Pick<CrowdOptions, 'chain' | 'popular'> {
  readonly random: SeededRandom;
}

/** What a client does until it ends; it ends by rejection. */
type Habit = (client: Client, world: Surroundings) => Promise<never>;

const MEMBERS: readonly (readonly [name: string, count: number, habit: Habit])[] = [
  ['wallet', 8, transfer],
  ['scanner', 3, scan],
  ['explorer', 8, explore],
];

/**
 * Some wallets, scanners and explorers at work: each asks when it has its last answer, so their load is bounded. Rejects
 * on the signal, and when a client fails for a reason of its own, a bug.
 */
export async function runCrowd({ chain, popular, ...options }: CrowdOptions): Promise<unknown> {
  const world = { chain, popular, random: new SeededRandom('crowd', Date.now()) };
  // No two of a kind write alike, so that a key which tells spellings apart would show.
  const client = (name: string, n: number) =>
    new Client({ name: `${name} ${n + 1}`, spelling: spellingOf(n), ...options });
  return await Promise.all(
    MEMBERS.flatMap(([name, count, habit]) => Array.from({ length: count }, (_, n) => habit(client(name, n), world))),
  );
}

const POLL_MESSAGE_MS = 100;
/** For 2.5 s: so long it takes until a message is final. */
const MESSAGE_POLLS = 25;
const LOOKS_AT_HOME = 8;
const BETWEEN_LOOKS_MS = 250;

/** A wallet sends a message, asks every 100 ms as the SDKs do what became of it, and then shows its account for a while. */
async function transfer(client: Client, { chain, popular, random }: Surroundings): Promise<never> {
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
async function scan(client: Client, { chain, random }: Surroundings): Promise<never> {
  for (let seqno = chain().headSeqno - random.int(0, MOST_BEHIND); ; ) {
    const answer = await client.ask({ about: 'block', seqno });
    const isThere = answer?.status === 200;
    if (isThere) seqno++;
    await client.pause(isThere ? CATCH_UP_MS : POLL_MS);
  }
}

const BETWEEN_CLICKS_MS = 150;
/** The newest traces, as everybody sees them on a front page; some are in no block yet. */
const FRONT_PAGE_TRACES = 3;
/** Most explorers show both neighbours of a transaction at once. */
const DIRECTIONS = [{}, {}, { direction: 'in' }, { direction: 'out' }] as const;

/** Somebody clicks around in an explorer, on popular accounts and on how the newest traces begin. */
async function explore(client: Client, { chain, popular, random }: Surroundings): Promise<never> {
  for (;;) {
    await client.pause(BETWEEN_CLICKS_MS);
    if (random.chance(0.5)) {
      await client.ask({ about: 'account', account: random.pick(popular) });
    } else {
      const { id: hash } = random.pick(chain().recentTraces(FRONT_PAGE_TRACES));
      await client.ask({ about: 'transaction', hash, ...random.pick(DIRECTIONS) });
    }
  }
}
