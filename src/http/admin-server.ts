import { createServer, type Server, type ServerResponse } from 'node:http';
import { parseTarget } from './parse-request.ts';

export interface AdminServerOptions {
  /** False from the moment the process is told to end: load balancers send no more then. */
  readonly isReady: () => boolean;
  /** The metrics page with its content type. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly onBug: (error: unknown) => void;
}

/**
 * The admin port. `/readyz` fails only while the process ends: without Redis or the indexer there are still answers in
 * the cache, and taking every instance away at once would help nobody.
 */
export function createAdminServer({ isReady, metrics, onBug }: AdminServerOptions): Server {
  return createServer((request, response) => {
    const { path } = parseTarget(request.url ?? '');
    if (!['/healthz', '/readyz', '/metrics'].includes(path)) {
      sendJson(response, 404, { error: 'accepted: /healthz, /readyz, /metrics' });
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      sendJson(response, 405, { error: 'accepted: GET, HEAD' }, ['Allow', 'GET, HEAD']);
    } else if (path === '/healthz') {
      sendJson(response, 200, { status: 'ok' });
    } else if (path === '/readyz') {
      const ready = isReady();
      sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'shutting down' });
    } else {
      metrics()
        .then(({ contentType, body }) => send(response, 200, contentType, body))
        .catch((error: unknown) => {
          onBug(error);
          sendJson(response, 500, { error: 'internal error' });
        });
    }
  });
}

function sendJson(response: ServerResponse, status: number, body: object, headers: readonly string[] = []): void {
  send(response, status, 'application/json', JSON.stringify(body), headers);
}

function send(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string,
  headers: readonly string[] = [],
): void {
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, ['Content-Type', contentType, 'Content-Length', length, ...headers]);
  response.end(body);
}
