import { type IncomingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Chain } from '../../../src/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';

/** An answer as it came over the wire, not decompressed. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

/** What a test sends beside path and query. */
export interface Asking {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** Asks on a connection of its own; rejects when the answer does not come or not whole. */
export function ask(indexer: Indexer, target: string, asking: Asking = {}): Promise<Answered> {
  const { method = 'GET', headers = {}, body, signal } = asking;
  return new Promise((resolve, reject) => {
    const options = { method, headers, agent: false, ...(signal === undefined ? {} : { signal }) };
    const sent = request(`${indexer.url}${target}`, options, (response) => {
      buffer(response).then((bytes) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** What the tests read of any JSON body of the indexer. */
export interface Body {
  readonly error?: string;
  readonly traces?: readonly TraceBody[] | null;
  readonly transactions?: readonly TransactionBody[];
  readonly blocks?: readonly { workchain: number; shard: string; seqno: number }[];
  readonly address_book?: Readonly<Record<string, object>>;
  readonly metadata?: Readonly<Record<string, object>>;
  readonly last?: { seqno: number };
  readonly first?: { seqno: number };
  readonly message_hash?: string;
}

/** A trace of `pendingTraces`. */
interface TraceBody {
  readonly external_hash: string;
  readonly trace_info: { readonly transactions: number; readonly pending_messages: number };
  readonly is_incomplete: boolean;
  readonly actions: readonly { readonly type: string }[];
  readonly transactions_order: readonly string[];
  readonly transactions: Readonly<Record<string, TransactionBody>>;
}

/** A transaction of any operation. */
interface TransactionBody {
  readonly hash: string;
  readonly account: string;
  readonly lt: string;
  readonly now: number;
  readonly mc_block_seqno?: number | null;
  readonly emulated: boolean;
  readonly finality?: string;
}

/** Asks and reads the JSON body. */
export async function askJson(
  indexer: Indexer,
  target: string,
  asking: Asking = {},
): Promise<Answered & { body: Body }> {
  const answered = await ask(indexer, target, asking);
  const body: Body = JSON.parse(answered.text);
  return { ...answered, body };
}

/** An indexer that was asked nothing yet, a request for the shards of its newest block, and the answer to that. */
export async function startWithShards(): Promise<{ indexer: Indexer; shards: string; wholeShards: string }> {
  const chain = new Chain({ startAt: 1_800_000_000_000 });
  const indexer = await startIndexer({ chain, now: () => 1_800_000_060_000 });
  const shards = `/api/v3/masterchainBlockShards?seqno=${indexer.chain.headSeqno}`;
  const wholeShards = (await ask(indexer, shards)).text;
  indexer.requests.reset();
  return { indexer, shards, wholeShards };
}
