import { setTimeout as delay } from 'node:timers/promises';
import type { Connections } from '../support/connections.ts';

/** Alternates between the scanners. */
const POLLS_MS = [1000, 5000];
const FULL_PAGE = 1000;

/** A scanner polls the head, and reads the pages of each new block. */
export async function scan(
  connections: Connections | undefined,
  form: string,
  place: number,
  untilAt: number,
): Promise<void> {
  const everyMs = POLLS_MS[place % POLLS_MS.length] ?? 0;
  const limit = Number(/limit=(\d+)/.exec(form)?.[1] ?? FULL_PAGE);
  if (connections === undefined) return;
  for (let known = 0; Date.now() < untilAt; ) {
    const nextAt = Date.now() + everyMs;
    const head = seqnoIn((await connections.ask('/api/v3/masterchainInfo')).body);
    for (let seqno = known === 0 ? head : known + 1; seqno <= head; seqno++) {
      let rows = limit;
      for (let offset = 0; rows === limit; offset += limit) {
        const query = `seqno=${seqno}&${form}${offset === 0 ? '' : `&offset=${offset}`}`;
        const { body } = await connections.ask(`/api/v3/transactionsByMasterchainBlock?${query}`);
        rows = body.split('"block_ref":').length - 1;
      }
    }
    known = Math.max(known, head);
    await delay(Math.max(0, Math.min(nextAt, untilAt) - Date.now()));
  }
}

function seqnoIn(text: string): number {
  const body: { readonly last?: { readonly seqno: number } } = JSON.parse(text);
  return body.last?.seqno ?? 0;
}
