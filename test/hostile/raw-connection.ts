import type { Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';

/** Writes bytes (latin1) in pieces that are cut anywhere, with pauses of up to 3 ms; stops when the connection is closed. */
export async function writeInPieces(socket: Socket, bytes: string, random: SeededRandom): Promise<void> {
  const longest = random.pick([3, 50, 2000, 100_000]);
  for (let at = 0; at < bytes.length && !socket.destroyed; ) {
    const end = at + random.int(1, longest);
    socket.write(bytes.slice(at, end), 'latin1');
    at = end;
    if (random.chance(0.05)) await setTimeout(random.int(0, 3));
    else await setImmediate();
  }
}

/**
 * All that comes, in latin1, until the connection is closed by the other side. `quietMs`: when nothing came for so long,
 * this side says that it sends no more. `undefined` when the connection is still open after `deadlineMs`.
 */
export function receiveAll(
  socket: Socket,
  { deadlineMs, quietMs }: { readonly deadlineMs: number; readonly quietMs?: number },
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const parts: string[] = [];
  const deadline = globalThis.setTimeout(() => {
    resolve(undefined);
    socket.destroy();
  }, deadlineMs);
  socket.setEncoding('latin1').on('data', (part: string) => parts.push(part));
  if (quietMs !== undefined) socket.setTimeout(quietMs, () => socket.end());
  socket.on('close', () => {
    clearTimeout(deadline);
    resolve(parts.join(''));
  });
  return promise;
}
