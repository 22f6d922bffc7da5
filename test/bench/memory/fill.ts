import type { Heard, Lost } from '../overload/connection.ts';
import { Connections } from '../overload/connections.ts';
import { hitTarget } from '../peers/targets.ts';

/** Which answers to ask for: those of the numbers from `from` up to, and without, `until`. */
export interface FillOrder {
  readonly port: number;
  readonly indexerPort: number;
  readonly sizeKb: number;
  readonly from: number;
  readonly until: number;
}

const CONNECTIONS = 32;
/** So many of the answers are asked for once more: they have to be hits, or not all of them are kept. */
const CHECKED = 500;

/**
 * Asks a server for answers that it does not have; gives how many bytes their bodies have. Rejects when one fails, and
 * when they are not kept.
 */
export async function fill({ port, indexerPort, sizeKb, from, until }: FillOrder): Promise<number> {
  const connections = new Connections(port);
  const ask = async (number: number) => {
    const { promise, resolve } = Promise.withResolvers<Heard | Lost>();
    connections.ask(hitTarget(sizeKb, number), resolve);
    const heard = await promise;
    if ('lost' in heard) throw new Error(`no answer: ${heard.lost}`);
    if (heard.status !== 200) throw new Error(`status ${heard.status}: ${heard.body.slice(0, 100)}`);
    return heard.body.length;
  };
  // The newest block first: the others cannot be beyond the head then.
  let next = until;
  let bytes = 0;
  const worker = async () => {
    while (next > from) {
      const length = await ask(--next);
      bytes += length;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));

  const before = await indexerRequests(indexerPort);
  const step = Math.max(1, Math.floor((until - from) / CHECKED));
  let checked = 0;
  for (let number = from; number < until; number += step, checked++) await ask(number);
  const missing = (await indexerRequests(indexerPort)) - before;
  connections.close();
  if (missing > checked / 100) throw new Error(`${missing} of ${checked} answers were not kept`);
  return bytes;
}

async function indexerRequests(port: number): Promise<number> {
  const told = (await (await fetch(`http://127.0.0.1:${port}/requests`)).json()) as { readonly requests: number };
  return told.requests;
}
