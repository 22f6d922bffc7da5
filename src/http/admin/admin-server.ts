import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ProxyError } from '../../errors.ts';
import { FAILURES } from '../../failures/codes.ts';
import type { Ms } from '../../time-units.ts';
import { HEALTH } from '../health.ts';
import { parseTarget } from '../parse-request.ts';
import { type AdminAccessOptions, adminAccess, readingAccess } from './admin-access.ts';

export interface AdminPath {
  /** GET includes HEAD. */
  readonly method: 'GET' | 'POST';
  /**
   * The clients that may use it: all; all but web pages of other sites; only those that may change something or see
   * cached answers.
   */
  readonly access: keyof ReturnType<typeof accessChecksOf>;
  /** Rejects with a {@link ProxyError} for a request that is wrong; any other rejection is a bug. */
  readonly serve: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;
}

export interface AdminServerDependencies {
  /**
   * False until the public port is open, and from the beginning of the shutdown: load balancers then send no requests.
   */
  readonly isReady: () => boolean;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  /** The paths in addition to {@link HEALTH} and `/metrics`; below `/status/`, the files of the page. */
  readonly paths: Readonly<Record<string, AdminPath>>;
  readonly access: AdminAccessOptions;
  readonly onBug: (error: unknown) => void;
  /** The time in which a client must send its request. */
  readonly requestTimeoutMs: Ms;
}

const accessChecksOf = (access: AdminAccessOptions) => ({
  any: () => undefined,
  ownPages: readingAccess(access),
  operators: adminAccess(access),
});

export function createAdminServer(dependencies: AdminServerDependencies): Server {
  const { isReady, metrics, onBug, requestTimeoutMs } = dependencies;
  const forAny = (serve: AdminPath['serve']): AdminPath => ({ method: 'GET', access: 'any', serve });
  const health = [...HEALTH].map(([path, answer]) => {
    const serve = (_: IncomingMessage, response: ServerResponse) => {
      const { status, body } = answer(isReady());
      sendJson(response, status, body);
    };
    return [path, forAny(serve)] as const;
  });
  const paths: ReadonlyMap<string, AdminPath> = new Map(
    Object.entries({
      ...dependencies.paths,
      ...Object.fromEntries(health),
      '/metrics': forAny(async (_, response) => {
        const { contentType, body } = await metrics();
        sendText(response, 200, contentType, body);
      }),
    }),
  );
  const checks = accessChecksOf(dependencies.access);
  const timeouts = {
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1000,
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = paths.get(parseTarget(request.url ?? '').path);
    if (path === undefined) {
      const accepted = [...paths.keys()].filter((each) => !each.startsWith('/status/'));
      sendJson(response, 404, { error: `accepted: ${accepted.join(', ')}` });
      return;
    }
    const { method, access } = path;
    const allowed = method === 'GET' ? ['GET', 'HEAD'] : [method];
    if (!allowed.includes(request.method ?? '')) {
      sendJson(response, 405, { error: `accepted: ${allowed.join(', ')}` }, ['Allow', allowed.join(', ')]);
      return;
    }
    const refused = checks[access](request);
    if (refused === undefined) await path.serve(request, response);
    else sendJson(response, refused.status, { error: refused.error }, refused.headers);
  };
  const fail = (error: unknown, response: ServerResponse) => {
    if (error instanceof ProxyError) {
      const { code, message } = error;
      const headers = code === 'body-too-large' ? ['Connection', 'close'] : [];
      sendJson(response, FAILURES[code].status, { error: message }, headers);
      return;
    }
    onBug(error);
    if (response.headersSent) response.destroy();
    else sendJson(response, FAILURES.internal.status, { error: FAILURES.internal.clientReads.usual });
  };
  return createServer(timeouts, (request, response) => {
    serve(request, response).catch((error: unknown) => fail(error, response));
  });
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

/** Sends a body unchanged; no body for HEAD. */
export function sendText(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers: readonly string[] = [],
): void {
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, ['Content-Type', contentType, 'Content-Length', length, ...headers]);
  response.end(body);
}
