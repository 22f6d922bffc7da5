import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { asksForHead, headAt } from './json-upstream.ts';

/** A request at the server, with its body. */
export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

/** A server in place of the indexer, on Node's HTTP server: for requests with bodies, HEAD, and answers of any status. */
export interface HttpUpstream extends AsyncDisposable {
  readonly url: string;
  /** Host and port. */
  readonly name: string;
  /** The requests to it without head polls, oldest first. */
  readonly asked: readonly HttpRequest[];
}

/** Starts one that answers each request but head polls by `answer`, with a chain at the present time. */
export async function startHttpUpstream(
  answer: (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>,
): Promise<HttpUpstream> {
  const asked: HttpRequest[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url: target = '', headers } = request;
      const one = { method, target, headers, body: await text(request) };
      const isOfHead = asksForHead(`${method} ${target} `);
      if (!isOfHead) asked.push(one);
      const json: HttpAnswer = { status: 200, body: JSON.stringify(headAt(Date.now()).body) };
      const { status, headers: its = {}, body = '' } = isOfHead ? json : await answer(one);
      response.writeHead(status, { 'Content-Type': 'application/json', ...its }).end(body);
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    name: `127.0.0.1:${port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server.close(), 'close');
      server.closeAllConnections();
      await closed;
    },
  };
}
