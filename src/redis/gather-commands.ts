import type { Socket } from 'node:net';

/**
 * Lets all commands of one turn of the event loop leave in one write. Call it before each command. ioredis writes each
 * command by itself, and the write is the dearest part of a small one: with 32 concurrent requests, a hit of 20 KB that
 * Redis confirms takes 29 us of CPU instead of 34 (measured). The auto-pipelining of ioredis has the same effect, but
 * costs more than it saves.
 */
export function gatherCommands(socket: Socket): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  setImmediate(() => socket.uncork());
}
