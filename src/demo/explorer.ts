import type { Chain } from '../simulator/chain.ts';
import type { SeededRandom } from '../simulator/seeded-random.ts';
import type { Client } from './client.ts';
import type { ClientCall } from './client-call.ts';
import type { World } from './crowd.ts';

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
export async function explore(client: Client, { chain, popular, random }: World): Promise<never> {
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
