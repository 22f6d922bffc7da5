import type { Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';

/** The shortest part, so that a read of empty lines does not become thousands of parts. A request is rarely shorter. */
const SHORTEST_PART_BYTES = 60;

/**
 * Cuts each read of a connection after the head of every request, so that the connection can be paused between two
 * pipelined requests. Parts that come while it is paused stay in its buffer: before that, `onHeld` is called with how many bytes
 * they have, and may destroy the connection.
 */
export function cutAtHeads(socket: Socket, onHeld: (bytes: number) => void): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null) => {
    if (chunk === null) return push(chunk);
    let wantsMore = true;
    let isReported = false;
    for (let start = 0; start < chunk.length; ) {
      if (!isReported && socket.isPaused()) {
        isReported = true;
        onHeld(chunk.length - start);
      }
      if (socket.destroyed) return false;
      const headEnd = chunk.indexOf(HEAD_END, start + SHORTEST_PART_BYTES - HEAD_END.length);
      const end = headEnd < 0 ? chunk.length : headEnd + HEAD_END.length;
      wantsMore = push(end - start === chunk.length ? chunk : chunk.subarray(start, end));
      start = end;
    }
    return wantsMore;
  };
}
