import type { Client } from './client.ts';
import type { World } from './crowd.ts';

const MOST_BEHIND = 20;
const CATCH_UP_MS = 30;
const POLL_MS = 150;

/** A scanner walks the masterchain, block by block; at the head it asks for the next block until it is there. */
export async function scan(client: Client, { chain, random }: World): Promise<never> {
  for (let seqno = chain().headSeqno - random.int(0, MOST_BEHIND); ; ) {
    const answer = await client.ask({ about: 'block', seqno });
    const isThere = answer?.status === 200;
    if (isThere) seqno++;
    await client.pause(isThere ? CATCH_UP_MS : POLL_MS);
  }
}
