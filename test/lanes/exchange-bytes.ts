import type { PublicServer } from '../../src/http/public/public-server.ts';
import { MemorySocket } from './memory-socket.ts';

/** The outcome of a stream. */
export interface Exchanged {
  /**
   * Without `Date`, ids of the server, and refusals of malformed requests, which are sent only when no other answer is
   * pending.
   */
  readonly answers: readonly string[];
  readonly isClosed: boolean;
}

/** The bytes that a client sends, by read. */
export interface Sending {
  readonly reads: readonly string[];
  /** True if every answer is awaited before the next read. */
  readonly isPaced: boolean;
  /** True if the client closes its end afterwards. */
  readonly ends: boolean;
}

/** After this many turns of the event loop without a write, the exchange is over. */
const QUIET_TURNS = 4;

/** More ticks than an immediate answer takes. */
const TICKS = 8;

/** Sends a stream on a new connection. Returns what was received once nothing is written any more. */
export async function exchangeBytes({ server }: PublicServer, { reads, isPaced, ends }: Sending): Promise<Exchanged> {
  const socket = new MemorySocket();
  server.emit('connection', socket);
  await untilQuiet(socket);
  for (const read of reads) {
    if (!socket.isClosed) socket.push(Buffer.from(read, 'latin1'));
    await (isPaced ? untilQuiet(socket) : ticks());
  }
  if (ends && !socket.destroyed) {
    socket.push(null);
    // As a socket does at its end, paused or not.
    socket.read(0);
  }
  await untilQuiet(socket);
  const exchanged = { answers: readAnswers(socket.text), isClosed: socket.isClosed };
  socket.destroy();
  return exchanged;
}

/** Runs what would run between two reads of a socket, before any other event. */
async function ticks(): Promise<void> {
  for (let tick = 0; tick < TICKS; tick++) await new Promise((resolve) => void process.nextTick(resolve));
}

async function untilQuiet(socket: MemorySocket): Promise<void> {
  let before = -1;
  for (let quiet = 0; quiet < QUIET_TURNS; ) {
    await new Promise((resolve) => void setImmediate(resolve));
    quiet = socket.writes === before ? quiet + 1 : 0;
    before = socket.writes;
  }
}

const REFUSAL =
  /HTTP\/1\.1 (?:[^\r]+\r\n)+\r\n\{"error":"(?:the request is malformed|the extensions of a chunk|the head of the request|HTTP\/2)[^"]*"\}$/;

export function readAnswers(text: string): string[] {
  return (
    text
      // Node sends an interim answer at once, possibly in the middle of another answer.
      .replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '')
      .replace(REFUSAL, '')
      .split(/(?=HTTP\/1\.1 \d{3} )/)
      .filter(isWhole)
      .map(comparable)
  );
}

/** How much of a large answer a client gets that has closed its end depends on when the end is read. */
function isWhole(answer: string): boolean {
  const length = / 304 /.test(answer.slice(0, 13)) ? 0 : Number(/^Content-Length: (\d+)/m.exec(answer)?.[1]);
  const bytes = answer.length - answer.indexOf('\r\n\r\n') - 4;
  // The answer to a HEAD has no body.
  return answer !== '' && (bytes === 0 || !(bytes < length));
}

/** Without the parts that differ each time. */
function comparable(answer: string): string {
  return answer.replace(/^Date: .*\r\n/m, '').replace(/^X-Request-Id: [0-9a-f]{8}-.*\r\n/m, '');
}
