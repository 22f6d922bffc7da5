import type { Socket } from 'node:net';

const gathering = new WeakSet<Socket>();

/**
 * Lets all commands that are sent before the event loop has handled its pending I/O leave in one write. To be called before
 * each command. ioredis writes each by itself, and a write costs more than the rest of a small command: at 32 concurrent
 * requests a hit of 20 KB confirmed by Redis takes 29 us of CPU instead of 34 (measured). Its own auto-pipelining does the
 * same, and costs more than it saves.
 */
export function gatherCommands(socket: Socket): void {
  if (gathering.has(socket)) return;
  gathering.add(socket);
  socket.cork();
  setImmediate(() => {
    gathering.delete(socket);
    socket.uncork();
  });
}
