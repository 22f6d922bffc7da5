import type { Account } from '../simulator/accounts.ts';
import type { Chain } from '../simulator/chain.ts';
import type { SeededRandom } from '../simulator/seeded-random.ts';
import { Client, type ClientCall, type CrowdClientOptions, spellingOf } from './client.ts';

/** The options of a crowd, and its knowledge of the world besides the proxy's answers. */
export interface CrowdOptions extends Pick<CrowdClientOptions, 'proxyUrl' | 'signal' | 'heard'> {
  /** The chain, advanced to the present: the receiver of messages, and the source of known accounts. */
  readonly chain: () => Chain;
  readonly popular: readonly Account[];
  readonly random: SeededRandom;
}

/** The behaviour of a client until its end, which is a rejection. */
type Habit = (client: Client, options: CrowdOptions) => Promise<never>;

/** Some clients at work, each with one request at a time. Rejects on the signal, and without an answer. */
export async function runCrowd(options: CrowdOptions): Promise<unknown> {
  // No two clients of a kind use the same spelling, so that a key which distinguishes spellings would show.
  const several = (count: number, name: string, habit: Habit) =>
    Array.from({ length: count }, (_, n) =>
      habit(new Client({ ...options, name: `${name} ${n + 1}`, spelling: spellingOf(n) }), options),
    );
  return await Promise.all([
    ...several(8, 'wallet', transfer),
    ...several(3, 'scanner', scan),
    ...several(3, 'follower', follow),
    ...several(8, 'explorer', explore),
  ]);
}

/** A wallet sends a message, polls its result every 100 ms like the SDKs, and then shows its account for a while. */
async function transfer(client: Client, { chain, popular, random }: CrowdOptions): Promise<never> {
  for (;;) {
    const account = random.pick(popular);
    const externalHash = chain().send(account);
    // For 2.5 s, the time until a message is final.
    for (let polls = 0; polls < 25; polls++) {
      await client.ask({ about: 'message', externalHash });
      await client.pause(100);
    }
    await client.ask({ about: 'message-trace', messageHash: externalHash });
    await client.ask({ about: 'message-rows', messageHash: externalHash });
    for (let looks = 0; looks < 8; looks++) {
      await client.ask({ about: 'account', account });
      await client.pause(250);
    }
  }
}

/** A scanner walks the masterchain, block by block; at the head it requests the next block until it exists. */
async function scan(client: Client, { chain, random }: CrowdOptions): Promise<never> {
  for (let seqno = chain().headSeqno - random.int(0, 20); ; ) {
    const answer = await client.ask({ about: 'block', seqno });
    const isThere = answer?.status === 200;
    if (isThere) seqno++;
    await client.pause(isThere ? 30 : 150);
  }
}

/** A follower polls the head, and reads everything of each new block. */
async function follow(client: Client, { chain }: CrowdOptions): Promise<never> {
  for (let next = chain().headSeqno; ; await client.pause(400)) {
    const head = await client.ask({ about: 'head' });
    const newest = head === undefined ? 0 : JSON.parse(head.text).last.seqno;
    for (; next <= newest; next++) {
      await client.ask({ about: 'blocks', seqno: next });
      await client.ask({ about: 'block-transactions', seqno: next });
    }
  }
}

/** Most explorers show both neighbours of a transaction at once. */
const DIRECTIONS = [{}, {}, { direction: 'in' }, { direction: 'out' }] as const;

/**
 * Somebody clicks around in an explorer: on popular accounts, and on the newest traces; some are not in a block yet.
 */
async function explore(client: Client, { chain, popular, random }: CrowdOptions): Promise<never> {
  for (;;) {
    await client.pause(150);
    const { id: hash } = random.pick(chain().recentTraces(3));
    const looks: readonly ClientCall[] = [
      { about: 'account', account: random.pick(popular) },
      { about: 'transaction', hash, ...random.pick(DIRECTIONS) },
      { about: random.pick(['row', 'trace']), hash },
    ];
    await client.ask(random.pick(looks));
  }
}
