import { STATUS_CODES } from 'node:http';
import { httpDate } from './http-date.ts';
import type { ResponseMessage } from './response-message.ts';

/**
 * Characters that Node's HTTP server refuses in a field value: control characters, which could end the line, and those
 * beyond latin1.
 */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * The head of a message, in latin1, up to the fields of its connection: byte for byte what Node's HTTP server writes
 * (`_storeHeader` in lib/_http_outgoing.js). Throws, as that does, when a value cannot be sent.
 */
export function messageHead({ status, headers }: ResponseMessage): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1] ?? '';
    if (UNFIT.test(value)) throw new TypeError(`the value of the header ${headers[i]} cannot be sent`);
    text += `${headers[i]}: ${value}\r\n`;
  }
  return `${text}Date: ${httpDate()}\r\n`;
}

/** The end of a head after which the connection is kept for so many milliseconds. */
export function keepAliveEnd(keepAliveMs: number): string {
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`;
}

/** The end of the last head of a connection. */
export const CLOSE_END = 'Connection: close\r\n\r\n';
