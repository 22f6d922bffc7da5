import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Ms } from '../../time-units.ts';

/** An answer as HTTP: the same for connections of Node's HTTP server and of the fast lane. */
export interface ResponseMessage {
  readonly status: number;
  /** Names and values, alternating, without those of the connection (`Date`, `Connection`, `Keep-Alive`). */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
}

/** Sends a message through Node's HTTP server, without its body if the request is a HEAD. */
export function sendMessage(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: ResponseMessage,
): void {
  response.writeHead(status, headers as string[]);
  if (body === undefined || request.method === 'HEAD') response.end();
  else writeInSlices(response, body, (slice) => response.end(slice));
}

let renderedSecond = 0;
let renderedDate = '';

/** The value of `Date` (RFC 9110 6.6.1), rendered once a second. */
export function httpDate(): string {
  // eslint-disable-next-line no-restricted-syntax -- this is the time of this machine, as Node itself sends it
  const second = Math.floor(Date.now() / 1000);
  if (second !== renderedSecond) {
    renderedSecond = second;
    renderedDate = new Date(second * 1000).toUTCString();
  }
  return renderedDate;
}

/**
 * Characters that Node's HTTP server refuses in a field value: control characters, which could end the line, and those
 * beyond latin1.
 */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * The head of a message, in latin1, up to the fields of its connection: byte for byte the same as in Node's HTTP server
 * (`_storeHeader` in lib/_http_outgoing.js). Throws, like that, if a value cannot be sent.
 */
export function messageHead({ status, headers }: Pick<ResponseMessage, 'status' | 'headers'>): string {
  return `${statusLine(status)}${fieldLines(headers)}Date: ${httpDate()}\r\n`;
}

export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
}

/** The lines of these headers; throws if a value cannot be sent. */
export function fieldLines(headers: readonly string[]): string {
  let text = '';
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1] ?? '';
    if (UNFIT.test(value)) throw new TypeError(`the value of the header ${headers[i]} cannot be sent`);
    text += `${headers[i]}: ${value}\r\n`;
  }
  return text;
}

/** The end of a head that keeps the connection open for this many milliseconds. */
export function keepAliveEnd(keepAliveMs: Ms): string {
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`;
}

/** The end of the last head of a connection. */
export const CLOSE_END = 'Connection: close\r\n\r\n';

/**
 * The maximum bytes of a body that are handed to its connection at a time. Smaller slices cost more: for a body of 200
 * KB, slices of 64 KiB take a third more CPU time a hit, those of 128 KiB a sixth more (measured).
 */
export const SLICE_BYTES = 256 * 1024;

export function isOneSlice(body: Buffer): boolean {
  return body.length <= SLICE_BYTES;
}

/**
 * Writes a large body in slices, each when the previous one has left the process, so that `AnswerProgress` sees whether
 * the client reads. Calls `onLast` with the last slice instead of writing it. Stops when the connection ends.
 */
export function writeInSlices(
  target: Socket | ServerResponse,
  body: Buffer,
  onLast: (slice: Buffer) => void,
  sliceBytes = SLICE_BYTES,
): void {
  let sent = 0;
  const sendNext = (error?: Error | null) => {
    if (error) return;
    const slice = body.subarray(sent, sent + sliceBytes);
    sent += slice.length;
    if (sent < body.length) target.write(slice, sendNext);
    else onLast(slice);
  };
  sendNext();
}
