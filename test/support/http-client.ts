import { hash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** An undecoded answer. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** A digest of the bytes, for comparisons whose difference would fill the screen. */
  readonly digest: string;
}

/** The parts of a request in addition to method and target. */
export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

/** A request on its way. */
export interface Sent {
  /** Resolves when the whole request was handed to the system. */
  readonly sent: Promise<void>;
  readonly answer: Promise<Answered>;
  /** Breaks the connection; `answer` rejects. */
  leave(): void;
}

/**
 * Sends a request on its own connection, which ends with the answer. Path and query are sent byte for byte. The request
 * does not ask for that end: like most clients' requests, it reaches the fast lane.
 */
export function send(origin: string, target: string, { method = 'GET', headers = {}, body }: Asking = {}): Sent {
  const { hostname, port } = new URL(origin);
  const given = Object.entries(headers).flatMap(([name, values]) => [values].flat().flatMap((value) => [name, value]));
  const sending = request({
    hostname,
    port,
    path: target,
    method,
    agent: false,
    headers: ['Host', `${hostname}:${port}`, 'Connection', 'keep-alive', ...given],
  });
  const answer = answerTo(sending);
  // A caller that only waits for `sent` must not get an unhandled rejection at the end.
  answer.catch(() => {});
  const sent = once(sending, 'finish').then(() => {});
  sent.catch(() => {});
  sending.end(body);
  return { sent, answer, leave: () => void sending.destroy() };
}

/** Sends a request and waits for its answer; rejects if it does not come, or is incomplete. */
export function ask(origin: string, target: string, asking: Asking = {}): Promise<Answered> {
  return send(origin, target, asking).answer;
}

/** The answer to a request that is on its way. */
export async function answerTo(sending: ClientRequest): Promise<Answered> {
  const [response] = await once(sending, 'response');
  const bytes = await buffer(response);
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes,
    text: bytes.toString(),
    digest: hash('sha256', bytes),
  };
}

/** Opens a connection. Its errors are expected. */
export function connectTo(origin: string): Socket {
  const { hostname, port } = new URL(origin);
  return connect({ port: Number(port), host: hostname, noDelay: true }).on('error', () => {});
}

/** Writes bytes and returns all data until the server ends the connection. */
export async function exchange(origin: string, bytes: string): Promise<string> {
  const socket = connectTo(origin);
  socket.write(bytes, 'latin1');
  return (await buffer(socket)).toString('latin1');
}
