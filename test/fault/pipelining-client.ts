import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { World } from '../e2e/world.ts';
import { connectTo } from '../support/http-client.ts';

const REQUEST_HEAD = 'HTTP/1.1\r\nHost: x\r\n\r\n';
export const get = (target: string) => `GET ${target} ${REQUEST_HEAD}`;
/** From the first such request on, Node's HTTP server reads the connection. */
export const head = (target: string) => `HEAD ${target} ${REQUEST_HEAD}`;

interface Client {
  readonly socket: Socket;
  /** The status of each answer so far, in order. */
  readonly statuses: string[];
  /** The number of received bytes. */
  bytes(): number;
}

export interface ClientOptions {
  /** True if it reads its answers; otherwise its socket is paused. */
  readonly reads?: boolean;
}

/** A client that sends these bytes and looks at the status of each answer. */
export function connectClient(world: World, sent: string, { reads = true }: ClientOptions = {}): Client {
  const socket = connectTo(world.proxy.url);
  onTestFinished(() => void socket.destroy());
  const statuses: string[] = [];
  let [bytes, rest] = [0, ''];
  socket.setEncoding('latin1').on('data', (part: string) => {
    bytes += part.length;
    const text = rest + part;
    for (const [, status = ''] of text.matchAll(STATUS)) statuses.push(status);
    // A status line may be cut anywhere, and must not be found twice.
    rest = text.slice(Math.max(0, text.length - STATUS_LENGTH + 1));
  });
  if (!reads) socket.pause();
  socket.write(sent, 'latin1');
  return { socket, statuses, bytes: () => bytes };
}

const STATUS = /HTTP\/1\.1 (\d{3})/g;
const STATUS_LENGTH = 'HTTP/1.1 200'.length;

export function requestsInFlight(world: World): Promise<number> {
  return world.proxy.metric('requestsInFlight');
}
