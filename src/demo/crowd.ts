import type { Account } from '../simulator/accounts.ts';
import type { Chain } from '../simulator/chain.ts';
import type { SeededRandom } from '../simulator/seeded-random.ts';
import { Client, type ClientCall, type HeardAnswer, type Spelling } from './client.ts';

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

type Member = readonly [
  name: string,
  habit: Habit,
  address: Spelling['address'],
  hash: Spelling['hash'],
  style: Spelling['style'],
];

// No two of a kind write alike, so that a key which tells spellings apart would show.
const MEMBERS: readonly Member[] = [
  ['wallet 1', transfer, 'raw', 'base64', 'encoded'],
  ['wallet 2', transfer, 'bounceableUrl', 'hex', 'encoded'],
  ['wallet 3', transfer, 'nonBounceableUrl', 'base64', 'raw'],
  ['wallet 4', transfer, 'nonBounceable', 'base64url', 'axios'],
  ['wallet 5', transfer, 'rawLower', 'hexPrefixed', 'loud'],
  ['wallet 6', transfer, 'bounceable', 'base64Unpadded', 'encoded'],
  ['wallet 7', transfer, 'testnetBounceable', 'hexUpper', 'encoded'],
  ['wallet 8', transfer, 'testnetNonBounceableUrl', 'base64urlUnpadded', 'raw'],
  ['scanner 1', scan, 'raw', 'base64', 'encoded'],
  ['scanner 2', scan, 'raw', 'base64', 'loud'],
  ['scanner 3', scan, 'raw', 'base64', 'axios'],
  ['explorer 1', explore, 'raw', 'hex', 'encoded'],
  ['explorer 2', explore, 'bounceable', 'base64', 'raw'],
  ['explorer 3', explore, 'rawLower', 'hexUpper', 'loud'],
  ['explorer 4', explore, 'nonBounceableUrl', 'base64url', 'axios'],
  ['explorer 5', explore, 'testnetBounceableUrl', 'base64urlUnpadded', 'encoded'],
  ['explorer 6', explore, 'testnetNonBounceable', 'hexPrefixed', 'encoded'],
  ['explorer 7', explore, 'bounceableUrl', 'base64', 'encoded'],
  ['explorer 8', explore, 'nonBounceable', 'base64Unpadded', 'raw'],
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
    this.#atWork = MEMBERS.map(async ([name, habit, address, hash, style]) => {
      const client = new Client({ name, spelling: { address, hash, style }, proxyUrl, signal, heard });
      await habit(client, world).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    });
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

const RETRY_MS = 100;
const MOST_TRIES = 150;
const LOOKS_AT_HOME = 8;
const BETWEEN_LOOKS_MS = 250;

/** What a wallet reads of a trace. */
interface SeenTrace {
  readonly is_incomplete: boolean;
  readonly transactions: Readonly<Record<string, { readonly finality: string }>>;
}

/**
 * A wallet sends a message, asks every 100 ms as the SDKs do whether it was executed, and then shows its account for a
 * while.
 */
async function transfer(client: Client, { chain, popular, random }: World): Promise<never> {
  for (;;) {
    const account = random.pick(popular);
    await untilExecuted(client, chain().send(account));
    for (let looks = 0; looks < LOOKS_AT_HOME; looks++) {
      await client.ask({ about: 'account', account });
      await client.pause(BETWEEN_LOOKS_MS);
    }
  }
}

async function untilExecuted(client: Client, externalHash: string): Promise<void> {
  let wasSeen = false;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const trace = traceIn(await client.ask({ about: 'message', externalHash }));
    // What was pending and is not any more is final.
    if (trace === undefined ? wasSeen : isExecuted(trace)) return;
    wasSeen ||= trace !== undefined;
    await client.pause(RETRY_MS);
  }
}

function traceIn(answer: HeardAnswer | undefined): SeenTrace | undefined {
  if (answer?.status !== 200) return undefined;
  const { traces }: { traces: readonly SeenTrace[] } = JSON.parse(answer.text);
  return traces[0];
}

function isExecuted({ is_incomplete, transactions }: SeenTrace): boolean {
  return !is_incomplete && Object.values(transactions).every(({ finality }) => finality === 'finalized');
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
const MOST_CLICKS = 4;
const FRONT_PAGE_MS = 5000;
const FRONT_PAGE_TRACES = 3;
const TRACES_BACK = 100;
const ACCOUNT_SHARE = 0.5;
/** Most explorers show both neighbours of a transaction at once. */
const DIRECTIONS: readonly Pick<ClientCall & { about: 'transaction' }, 'direction'>[] = [
  {},
  {},
  { direction: 'in' },
  { direction: 'out' },
];

/** Somebody clicks around in an explorer: popular accounts, and from transaction to transaction. */
async function explore(client: Client, { chain, popular, random }: World): Promise<never> {
  for (;;) {
    await client.pause(BETWEEN_CLICKS_MS);
    if (random.chance(ACCOUNT_SHARE)) {
      await client.ask({ about: 'account', account: random.pick(popular), actionsVersion: 'latest' });
    } else {
      await follow(client, random.pick(frontPage(chain())), random);
    }
  }
}

/** From a transaction to one next to it, and on from there. */
async function follow(client: Client, start: string, random: SeededRandom): Promise<void> {
  let hash = start;
  for (let clicks = 0; clicks < MOST_CLICKS; clicks++) {
    const answer = await client.ask({ about: 'transaction', hash, ...random.pick(DIRECTIONS) });
    if (answer?.status !== 200) return;
    const { transactions }: { transactions: readonly { readonly hash: string }[] } = JSON.parse(answer.text);
    hash = random.pick(transactions).hash;
    await client.pause(BETWEEN_CLICKS_MS);
  }
}

/** How the newest traces begin, the same for everybody until the next edition; some are in no block yet. */
function frontPage(chain: Chain): readonly string[] {
  const editionAt = chain.now - (chain.now % FRONT_PAGE_MS);
  const before = chain.recentTraces(TRACES_BACK).filter(({ emulatedAt }) => emulatedAt < editionAt);
  return before.slice(0, FRONT_PAGE_TRACES).map(({ id }) => id);
}
