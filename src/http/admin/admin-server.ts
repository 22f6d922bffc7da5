import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ProxyError } from '../../errors.ts';
import type { Ms } from '../../time-units.ts';
import { parseTarget } from '../parse-request.ts';
import { STATUS } from '../public/error-message.ts';
import { type AdminGuardOptions, guardAdmin } from './admin-guard.ts';

/** The status page and all that it reads. */
export interface ServedStatus {
  /** Serves one GET or HEAD. Does nothing and returns `false` for a path that is not one of the pages. */
  serve(path: string, request: IncomingMessage, response: ServerResponse): boolean;
}

/** A path that is served to those alone who may change something or see what is cached. */
export interface GuardedPath {
  readonly method: 'GET' | 'POST';
  /** Rejects with a {@link ProxyError} for a request that is wrong; any other rejection is a bug. */
  readonly serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

export interface AdminServerDependencies {
  /** False from the moment the process begins to shut down: load balancers send no more then. */
  readonly isReady: () => boolean;
  /** The metrics page with its content type. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly purge: GuardedPath;
  readonly explain: GuardedPath;
  readonly guard: AdminGuardOptions;
  readonly status: ServedStatus;
  readonly onBug: (error: unknown) => void;
  /** How long a client may take to send its request. */
  readonly requestTimeoutMs: Ms;
}

/**
 * The admin port. `/readyz` fails only until the public port is open and while the process shuts down. It does not fail
 * without Redis or the indexer: the cache still has answers, and taking every instance away at once would help nobody.
 */
export function createAdminServer(dependencies: AdminServerDependencies): Server {
  const { isReady, metrics, purge, explain, guard, status, onBug, requestTimeoutMs } = dependencies;
  const guarded = new Map([
    ['/purge', purge],
    ['/explain', explain],
  ]);
  const refusalOf = guardAdmin(guard);
  const timeouts = {
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1000,
  };
  return createServer(timeouts, (request, response) => {
    const { path } = parseTarget(request.url ?? '');
    const fail = (error: unknown) => {
      onBug(error);
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: 'internal error' });
    };
    const guardedPath = guarded.get(path);
    if (guardedPath !== undefined) {
      serveGuarded(guardedPath, refusalOf, request, response).catch(fail);
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      sendJson(response, 405, { error: 'accepted: GET, HEAD' }, ['Allow', 'GET, HEAD']);
    } else if (status.serve(path, request, response)) {
      return;
    } else if (!['/healthz', '/readyz', '/metrics'].includes(path)) {
      sendJson(response, 404, { error: 'accepted: /, /status.json, /healthz, /readyz, /metrics, /purge, /explain' });
    } else if (path === '/healthz') {
      sendJson(response, 200, { status: 'ok' });
    } else if (path === '/readyz') {
      const ready = isReady();
      sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'shutting down' });
    } else {
      metrics()
        .then(({ contentType, body }) => sendText(response, 200, contentType, body))
        .catch(fail);
    }
  });
}

async function serveGuarded(
  { method, serve }: GuardedPath,
  refusalOf: ReturnType<typeof guardAdmin>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== method) {
    sendJson(response, 405, { error: `accepted: ${method}` }, ['Allow', method]);
    return;
  }
  const refused = refusalOf(request);
  if (refused !== undefined) {
    sendJson(response, refused.status, { error: refused.error }, refused.headers);
    return;
  }
  try {
    await serve(request, response);
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    const { code, message } = error;
    sendJson(response, STATUS[code], { error: message }, code === 'body-too-large' ? ['Connection', 'close'] : []);
  }
}

/** Sends a small JSON answer of the admin port. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: readonly string[] = [],
): void {
  sendText(response, status, 'application/json', JSON.stringify(body), headers);
}

/** Sends a text as it is. */
export function sendText(
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
