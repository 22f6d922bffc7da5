import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { UpstreamClient, type UpstreamClientDependencies } from '../../src/indexer/upstream-client.ts';
import { systemNames } from '../../src/names/names.ts';

export const BODY = '{"blocks":[]}';
export const ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`;
const REQUEST = { operation: 'masterchainBlockShards', query: [['seqno', '7']], headers: [] } as const;

export const answers = (socket: Socket) => void socket.write(`${ANSWER}\r\n${BODY}`);

/** A client that is closed when the test ends. */
export function clientOf(url: string, { now = Date.now, ...options }: Partial<UpstreamClientDependencies> = {}) {
  let readingBytes = 0;
  const client = new UpstreamClient({
    now,
    names: systemNames(),
    baseUrl: new URL(url),
    ours: undefined,
    timeoutMs: 20_000,
    maxForwardConnections: 4,
    maxConnections: 8,
    maxBodyBytes: 1024 * 1024,
    keepAliveMs: 10_000,
    connectionLifetimeMs: 600_000,
    onReading: (change) => {
      readingBytes += change;
    },
    report: () => {},
    ...options,
  });
  return {
    fetch: (
      query: readonly (readonly [string, string])[] = REQUEST.query,
      headers: typeof query = [],
      atMostMs?: number,
    ) => client.fetch({ ...REQUEST, query, headers }, atMostMs),
    /** Passes a request through, and reads its answer to the end. */
    forward: async (mayRepeat = false, signal = new AbortController().signal, body?: Buffer) => {
      const target = '/api/v3/masterchainInfo';
      const method = body === undefined ? 'GET' : 'POST';
      const answer = await client.forward({ method, target, headers: [], body, mayRepeat, signal });
      await buffer(answer.body);
      return answer;
    },
    close: () => client.close(),
    get readingBytes() {
      return readingBytes;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export const headersOf = (head: string) =>
  new Map(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.split(':')[0]?.toLowerCase(), line.replace(/^[^:]*: */, '')]),
  );
