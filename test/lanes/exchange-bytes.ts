import type { PublicServer } from '../../src/http/public/public-server.ts';
import { MemorySocket } from './memory-socket.ts';

/** What came of a stream. */
export interface Exchanged {
  /** Without `Date`, ids that the server chose, and refusals of what cannot be parsed: those come if nothing else is on its way. */
  readonly answers: readonly string[];
  readonly isClosed: boolean;
}

/** What a client sends, read by read. */
export interface Sending {
  readonly reads: readonly string[];
  /** Whether all that was sent is answered before the next read. */
  readonly isPaced: boolean;
  /** Whether the client closes its end afterwards. */
  readonly ends: boolean;
}

/** Turns of the event loop in which nothing happens any more. */
const QUIET_TURNS = 4;

/** More than one answer takes that needs none. */
const TICKS = 8;

/** Sends a stream on a new connection, and looks at what came when nothing happens any more. */
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

/** What is done between two reads of a socket, before any other event. */
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

/** The answers in what came. */
export function readAnswers(text: string): string[] {
  return (
    text
      // Node sends an interim answer at once, in the middle of another one if that is not out yet.
      .replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '')
      .replace(REFUSAL, '')
      .split(/(?=HTTP\/1\.1 \d{3} )/)
      .filter(isWhole)
      .map(comparable)
  );
}

/** What a client that closes its end is sent of a large answer depends on when that is read. */
function isWhole(answer: string): boolean {
  const length = / 304 /.test(answer.slice(0, 13)) ? 0 : Number(/^Content-Length: (\d+)/m.exec(answer)?.[1]);
  const bytes = answer.length - answer.indexOf('\r\n\r\n') - 4;
  // The answer to a HEAD has none.
  return answer !== '' && (bytes === 0 || !(bytes < length));
}

/** Without what is different each time. */
function comparable(answer: string): string {
  return answer.replace(/^Date: .*\r\n/m, '').replace(/^X-Request-Id: [0-9a-f]{8}-.*\r\n/m, '');
}
