import type { Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';

/** Writes bytes (latin1) in pieces cut at any byte, with pauses of up to 3 ms. Stops when the connection is closed. */
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
 * All received bytes, in latin1, up to the close by the other side. After `quietMs` without a byte, this side closes
 * its end. `undefined` if the connection is still open after `deadlineMs`.
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
