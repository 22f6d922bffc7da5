import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Changes a body; gets the number of the request for its target, from 1. */
export type Tamper = (body: string, target: string, time: number) => string;

/** A server before an indexer, on 127.0.0.1, that changes answers. */
export interface TamperingProxy extends AsyncDisposable {
  readonly url: string;
}

/** Changes a status. */
export type TamperStatus = (status: number, target: string) => number;

/** Starts a proxy that asks the indexer at `indexerUrl` and changes what it says. */
export async function startTamperingProxy(
  indexerUrl: string,
  tamper: Tamper,
  tamperStatus: TamperStatus = (status) => status,
): Promise<TamperingProxy> {
  const times = new Map<string, number>();
  const answer = async (target: string): Promise<{ status: number; body: string }> => {
    const time = (times.get(target) ?? 0) + 1;
    times.set(target, time);
    const response = await fetch(indexerUrl + target);
    return { status: tamperStatus(response.status, target), body: tamper(await response.text(), target, time) };
  };
  const server = createServer((request, response) => {
    answer(request.url ?? '').then(
      ({ status, body }) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(body),
      () => request.socket.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
