import type { Client, HeardAnswer } from './client.ts';
import type { World } from './crowd.ts';

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
export async function transfer(client: Client, { chain, popular, random }: World): Promise<never> {
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
