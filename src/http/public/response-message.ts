import type { IncomingMessage, ServerResponse } from 'node:http';
import { type CacheStatus, renderCacheStatus } from '../../answer/cache-status.ts';
import { writeInSlices } from './send-body.ts';

/** Methods of the public port. */
export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';

/** On every answer: browser wallets read answers from any origin. A flat list, as `writeHead` takes it. */
const CORS_HEADERS: readonly string[] = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'Cache-Status, Age, ETag, RateLimit, RateLimit-Policy, Retry-After, X-API-Version, X-Request-Id',
];

/** An answer as HTTP: the same for a client whose connection Node's HTTP server reads and for one in the fast lane. */
export interface ResponseMessage {
  readonly status: number;
  /** Names and values in turn, without those of the connection (`Date`, `Connection`, `Keep-Alive`). */
  readonly headers: readonly string[];
  /** Node's HTTP server writes a string together with its head, and a buffer apart from it. */
  readonly body: Buffer | string | undefined;
}

/** What an answer needs beside its entry or failure. */
export interface ResponseContext {
  readonly cacheStatus: CacheStatus;
  /** The operation's `Vary`; empty for none. */
  readonly vary: string;
  /** Absent on a memory hit. */
  readonly requestId: string | undefined;
}

/** Headers that every answer has, in the flat form that `writeHead` takes: half the cost of `setHeader` (measured). */
export function commonHeaders({ cacheStatus, vary, requestId }: ResponseContext): string[] {
  const headers = [
    'Cache-Status',
    renderCacheStatus(cacheStatus),
    ...CORS_HEADERS,
    'X-Content-Type-Options',
    'nosniff',
  ];
  if (vary !== '') headers.push('Vary', vary);
  if (requestId !== undefined) headers.push('X-Request-Id', requestId);
  return headers;
}

/** Answers a CORS preflight. */
export function preflightMessage(passesThrough: boolean, requestId: string): ResponseMessage {
  const headers = ['Cache-Status', 'toncache; detail=preflight', 'X-Request-Id', requestId];
  return { status: 204, headers: [...headers, ...preflightHeaders(passesThrough)], body: undefined };
}

/** Sends a message through Node's HTTP server, without its body if the request is a HEAD. */
export function sendMessage(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: ResponseMessage,
): void {
  response.writeHead(status, headers as string[]);
  if (body === undefined || request.method === 'HEAD') response.end();
  else if (typeof body === 'string') response.end(body);
  else writeInSlices(response, body, (slice) => response.end(slice));
}

/** Headers of the answer to a preflight (Fetch standard 3.2.2). Pass-through also accepts POST. */
function preflightHeaders(passesThrough: boolean): readonly string[] {
  return [
    ...CORS_HEADERS,
    'Access-Control-Allow-Methods',
    passesThrough ? `${ALLOWED_METHODS}, POST` : ALLOWED_METHODS,
    'Access-Control-Allow-Headers',
    `X-Api-Key, X-Actions-Version, X-No-Address-Book, X-No-Metadata, If-None-Match${passesThrough ? ', Content-Type' : ''}`,
    'Access-Control-Max-Age',
    '86400',
  ];
}
