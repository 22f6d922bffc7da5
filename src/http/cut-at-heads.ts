import type { Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';

/** The shortest part, so that a read of empty lines does not become thousands of parts. A request is rarely shorter. */
const SHORTEST_PART_BYTES = 60;

/**
 * Cuts each read of a connection after the head of every request, so that the connection can be paused between two
 * pipelined requests. Parts that come while it is paused stay in its buffer. `onHeld` is called after a read of which a
 * part stayed there.
 */
export function cutAtHeads(socket: Socket, onHeld: () => void): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null) => {
    if (chunk === null) return push(chunk);
    let wantsMore = true;
    for (let start = 0; start < chunk.length && !socket.destroyed; ) {
      const headEnd = chunk.indexOf(HEAD_END, start + SHORTEST_PART_BYTES - HEAD_END.length);
      const end = headEnd < 0 ? chunk.length : headEnd + HEAD_END.length;
      wantsMore = push(end - start === chunk.length ? chunk : chunk.subarray(start, end));
      start = end;
    }
    if (socket.readableLength > 0) onHeld();
    return wantsMore;
  };
}
