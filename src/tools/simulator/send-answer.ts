import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { SimulatedAnswer } from './answer.ts';
import type { Fault } from './faults.ts';

function padded(body: Buffer, bytes: number): Buffer {
  const before = Buffer.concat([body.subarray(0, -1), Buffer.from(',"padding":"')]);
  const after = Buffer.from('"}');
  return Buffer.concat([before, Buffer.alloc(Math.max(0, bytes - before.length - after.length), 'x'), after]);
}

/**
 * Writes an answer out, wrong in the way that its fault says (`cut`, `huge` or `slow`; others have no effect here), unless
 * the client has left. Resolves when the last byte was handed to the connection. The signal ends a slow body.
 */
export async function sendAnswer(
  response: ServerResponse,
  answer: SimulatedAnswer,
  fault: Fault | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (response.destroyed) return;
  let body: Buffer = Buffer.from(answer.body);
  if (fault?.kind === 'huge' && body.at(-1) === 0x7d) body = padded(body, fault.bytes);
  response.statusCode = answer.status;
  response.setHeader('Content-Type', 'application/json');
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  const chunked = (fault?.kind === 'cut' || fault?.kind === 'huge') && fault.framing === 'chunked';
  if (!chunked) response.setHeader('Content-Length', body.length);

  if (fault?.kind === 'cut') {
    response.write(body.subarray(0, body.length >> 1), () => response.socket?.destroySoon());
    return;
  }
  const { chunkBytes, pauseMs } = fault?.kind === 'slow' ? fault : { chunkBytes: body.length, pauseMs: 0 };
  for (let start = 0; start < body.length && !response.destroyed; start += chunkBytes) {
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal });
    response.write(body.subarray(start, start + chunkBytes));
  }
  response.end();
}
