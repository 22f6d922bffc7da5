import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';

/** The request as the indexer received it. */
export interface Echo {
  readonly method: string;
  /** Path and query, byte for byte. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyBytes: number;
  /** Tells apart two answers to equal requests. */
  readonly serial: number;
}

/** An indexer whose answers contain the request, in a body that is valid for the operation. */
export interface EchoIndexer extends AsyncDisposable {
  readonly url: string;
  /** The targets of all received requests that are still watched, see {@link EchoIndexer.watch}. */
  watch(mark: string): () => readonly string[];
  /** Why received bytes were not a request, one entry for each. */
  readonly malformed: readonly string[];
  /** How long each request waits for its answer, ms. */
  latencyMs: () => number;
}

const HEADERS = ['x-actions-version', 'x-no-address-book', 'x-no-metadata'];

/** Starts one on a free port of 127.0.0.1. */
export async function startEchoIndexer(): Promise<EchoIndexer> {
  const watched = new Map<string, string[]>();
  const malformed: string[] = [];
  let serial = 0;
  const server = createServer({ maxHeaderSize: 1024 * 1024 }, (request, response) => {
    const target = request.url ?? '';
    for (const [mark, targets] of watched) if (target.includes(mark)) targets.push(target);
    let bodyBytes = 0;
    request.on('data', (part: Buffer) => {
      bodyBytes += part.length;
    });
    request.on('error', () => {});
    request.on('end', () => {
      const echo = { method: request.method ?? '', target, headers: headersOf(request), bodyBytes, serial: serial++ };
      const { status, body } = target.startsWith('/api/v3/masterchainInfo') ? headOfChain() : answerTo(echo);
      const send = () => {
        response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
        response.end(request.method === 'HEAD' ? undefined : body);
      };
      const waitMs = indexer.latencyMs();
      if (waitMs === 0) send();
      else setTimeout(send, waitMs);
    });
  });
  // A connection that is cut within a request does not count as malformed.
  server.on('clientError', (error: Error & { code?: string }, socket) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'HPE_INVALID_EOF_STATE')
      malformed.push(`${error.code} ${error.message}`);
    socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const indexer: EchoIndexer = {
    url: `http://127.0.0.1:${port}`,
    malformed,
    latencyMs: () => 0,
    watch: (mark) => {
      const targets: string[] = [];
      watched.set(mark, targets);
      return () => {
        watched.delete(mark);
        return targets;
      };
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return indexer;
}

/** The echo in an answer, or `undefined` if body and status are not exactly what the indexer sends for that echo. */
export function readEcho(status: number, body: string): Echo | undefined {
  let echo: Echo | undefined;
  try {
    const parsed = JSON.parse(body);
    echo = status === 404 ? JSON.parse(parsed.error).echo : parsed.echo;
  } catch {
    return undefined;
  }
  if (echo === undefined) return undefined;
  const sent = answerTo(echo);
  return sent.status === status && sent.body === body ? echo : undefined;
}

/** Depends only on the echo: the request decides the class of the answer, the serial number its length. */
function answerTo(echo: Echo): { readonly status: number; readonly body: string } {
  const { target, serial } = echo;
  const random = new SeededRandom(target);
  const padding = new SeededRandom(target, serial);
  const ending = { echo, padding: digestOf(padding.next()).repeat(padding.pick([0, 0, 1, 50, 1000])) };
  const row = { hash: digestOf(target), now: 1_700_000_000, mc_block_seqno: 7, emulated: random.chance(0.2) };
  const [path = ''] = target.split('?');
  switch (path) {
    case '/api/v3/pendingTraces':
    case '/api/v3/traces':
      return found({ traces: random.chance(0.2) ? [] : [{ trace_id: 'x', transactions: { x: row } }], ...ending });
    case '/api/v3/adjacentTransactions':
      // The indexer's own 404 has a single text member.
      if (random.chance(0.2)) return { status: 404, body: JSON.stringify({ error: JSON.stringify(ending) }) };
      return found({ transactions: [row], ...ending });
    case '/api/v3/masterchainBlockShards': {
      const seqno = Number(new URLSearchParams(target.slice(path.length + 1)).get('seqno'));
      const block = { workchain: -1, shard: '8000000000000000', seqno };
      const blocks = random.chance(0.2) ? [] : Array.from({ length: 10 }, () => block);
      return found({ blocks, ...ending });
    }
    case '/api/v3/blocks':
      return found({ blocks: [{ workchain: 0, seqno: 7 }], ...ending });
    case '/api/v3/addressInformation':
    case '/api/v3/walletInformation':
      return found({ balance: '1', last_transaction_lt: '7', ...ending });
    case '/api/v3/transactionsByMasterchainBlock':
    case '/api/v3/transactions':
    case '/api/v3/transactionsByMessage':
      return found({ transactions: random.chance(0.2) ? [] : [row], ...ending });
    default:
      return found(ending);
  }
}

function found(body: object): { readonly status: number; readonly body: string } {
  return { status: 200, body: JSON.stringify(body) };
}

function headOfChain(): { readonly status: number; readonly body: string } {
  return found({ last: { seqno: 2_147_483_647, gen_utime: String(Math.floor(Date.now() / 1000)) } });
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

function digestOf(value: string | number): string {
  return hash('sha256', String(value), 'base64');
}
