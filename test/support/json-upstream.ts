import { SCRIPTED_SEQNO, type Script } from './scripted-upstream.ts';

export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: readonly string[];
}

/**
 * The script of an indexer that answers each target, path and query, in JSON and in its own time. Its chain is at the
 * present time, at this block.
 */
export function answeringJson(
  answer: (target: string) => JsonAnswer | Promise<JsonAnswer>,
  seqno = SCRIPTED_SEQNO,
): Script {
  return (socket, head) => {
    const [, target = ''] = head.split(' ');
    const said = asksForHead(head) ? headAt(Date.now(), seqno) : answer(target);
    void Promise.resolve(said).then(({ status, body, headers = [] }) => {
      const text = JSON.stringify(body);
      const lines = [
        `HTTP/1.1 ${status} X`,
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(text)}`,
        ...headers,
      ];
      if (!socket.destroyed) socket.write(`${lines.join('\r\n')}\r\n\r\n${text}`);
    });
  };
}

/** An indexer that holds its answers until the test releases them, the oldest first. */
export class GatedAnswers {
  readonly #waiting: ((answer: JsonAnswer) => void)[] = [];

  readonly answer = (): Promise<JsonAnswer> => {
    const { promise, resolve } = Promise.withResolvers<JsonAnswer>();
    this.#waiting.push(resolve);
    return promise;
  };

  give(answer: JsonAnswer): void {
    this.#waiting.shift()?.(answer);
  }
}

/** True if a request, by its head, is the proxy's own head poll. */
export function asksForHead(head: string): boolean {
  return head.startsWith('GET /api/v3/masterchainInfo ');
}

/** The answer to a head poll of a chain whose newest block has this time, in epoch milliseconds. */
export function headAt(instant: number, seqno = SCRIPTED_SEQNO): JsonAnswer {
  return { status: 200, body: { last: { seqno, gen_utime: String(Math.floor(instant / 1000)) } } };
}

/** The children of a transaction, all final. */
export function children(...hashes: string[]): JsonAnswer {
  return { status: 200, body: { transactions: hashes.map(finalTransaction) } };
}

export function pendingTrace(...hashes: string[]): JsonAnswer {
  const transactions = Object.fromEntries(hashes.map((hash) => [hash, { hash, emulated: true, mc_block_seqno: null }]));
  return { status: 200, body: { traces: [{ trace_id: 'x', transactions }] } };
}

/** The indexer's answer for unknown data. */
export const NOT_FOUND: JsonAnswer = { status: 404, body: { error: 'not found' } };

/** The answer of an unhealthy indexer. */
export const NO_DATABASE: JsonAnswer = { status: 500, body: { error: 'no database' } };

function finalTransaction(hash: string) {
  return { hash, now: 1_700_000_000, mc_block_seqno: 7, emulated: false };
}
