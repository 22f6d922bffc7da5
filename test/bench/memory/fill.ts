import type { Heard, Lost } from '../overload/connection.ts';
import { Connections } from '../overload/connections.ts';
import { indexerRequests } from '../peers/measure.ts';
import { hitTarget } from '../peers/targets.ts';

/** The answers to request: numbers from `from` up to, and without, `until`. */
interface FillOrder {
  readonly port: number;
  readonly indexerPort: number;
  readonly sizeKb: number;
  readonly from: number;
  readonly until: number;
}

const CONNECTIONS = 32;
/** Answers that are requested once more afterwards; they must be hits. */
const CHECKED = 500;

/** Requests answers that a cache does not have yet, and resolves with the bytes of their bodies. Rejects when a request fails. */
export async function fill({ port, sizeKb, from, until }: FillOrder): Promise<number> {
  const connections = new Connections(port);
  const ask = async (number: number) => {
    const { promise, resolve } = Promise.withResolvers<Heard | Lost>();
    connections.ask(hitTarget(sizeKb, number), resolve);
    const heard = await promise;
    if ('lost' in heard) throw new Error(`no answer: ${heard.lost}`);
    if (heard.status !== 200) throw new Error(`status ${heard.status}: ${heard.body.slice(0, 100)}`);
    return heard.body.length;
  };
  let next = until;
  let bytes = 0;
  const worker = async () => {
    while (next > from) {
      const length = await ask(--next);
      bytes += length;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  connections.close();
  return bytes;
}

/** Rejects when a cache did not keep the answers that it was filled with. */
export async function checkKept({ port, indexerPort, sizeKb, from, until }: FillOrder): Promise<void> {
  const before = await indexerRequests(indexerPort);
  const step = Math.max(1, Math.floor((until - from) / CHECKED));
  let checked = 0;
  for (let number = from; number < until; number += step, checked++) {
    await fill({ port, indexerPort, sizeKb, from: number, until: number + 1 });
  }
  const missing = (await indexerRequests(indexerPort)) - before;
  if (missing > checked / 100) throw new Error(`${missing} of ${checked} answers were not kept`);
}
