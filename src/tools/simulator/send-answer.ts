import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { SimulatedAnswer } from './answer.ts';
import type { Fault } from './faults.ts';

/** How an answer goes out. */
export interface Sending {
  /** A fault on the way: `cut`, `huge` or `slow`. Others have no effect here. */
  readonly fault: Fault | undefined;
  readonly gzips: boolean;
  /** Ends a slow body. */
  readonly signal: AbortSignal;
}

function padded(body: Buffer, bytes: number): Buffer {
  const before = Buffer.concat([body.subarray(0, -1), Buffer.from(',"padding":"')]);
  const after = Buffer.from('"}');
  return Buffer.concat([before, Buffer.alloc(Math.max(0, bytes - before.length - after.length), 'x'), after]);
}

async function writeSlowly(response: ServerResponse, body: Buffer, chunkBytes: number, pause: () => Promise<unknown>) {
  for (let start = 0; start < body.length && !response.destroyed; start += chunkBytes) {
    await pause();
    response.write(body.subarray(start, start + chunkBytes));
  }
  response.end();
}

/** Writes an answer out, wrong in the way that its fault says, unless the client has left. Resolves when the last byte was handed to the connection. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: SimulatedAnswer,
  { fault, gzips, signal }: Sending,
): Promise<void> {
  if (response.destroyed) return;
  let body: Buffer = Buffer.from(answer.body);
  if (fault?.kind === 'huge' && body.at(-1) === 0x7d) body = padded(body, fault.bytes);
  response.statusCode = answer.status;
  response.setHeader('Content-Type', 'application/json');
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  const accepted = String(request.headers['accept-encoding'] ?? '').split(/[\s,;]+/);
  if (gzips && accepted.includes('gzip')) {
    body = gzipSync(body);
    response.setHeader('Content-Encoding', 'gzip');
  }
  const chunked = (fault?.kind === 'cut' || fault?.kind === 'huge') && fault.framing === 'chunked';
  if (!chunked) response.setHeader('Content-Length', body.length);

  if (fault?.kind === 'cut') {
    response.write(body.subarray(0, body.length >> 1), () => response.socket?.destroySoon());
  } else if (fault?.kind === 'slow') {
    await writeSlowly(response, body, fault.chunkBytes, () => delay(fault.pauseMs, undefined, { signal }));
  } else if (chunked) {
    // Two writes: a single one would be sent with a Content-Length.
    response.write(body.subarray(0, 1));
    response.end(body.subarray(1));
  } else {
    response.end(body);
  }
}
