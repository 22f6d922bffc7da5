import type { ServerResponse } from 'node:http';

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
