import type { Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';

/** The shortest part, so that a read of empty lines does not become thousands of parts. A request is rarely shorter. */
const SHORTEST_PART_BYTES = 60;

export interface Cutting {
  /** True if the next read is to be cut; otherwise it is passed on unchanged. */
  readonly isCut: () => boolean;
  /**
   * Called with the size of a part before it is kept in the buffer of a paused connection. May destroy the connection.
   */
  readonly onUnread: (bytes: number) => void;
}

/**
 * Cuts each read of a connection after the head of every request, so that the connection can be paused between two
 * pipelined requests. Parts that arrive during a pause stay in its buffer.
 */
export function cutAtHeads(socket: Socket, { isCut, onUnread }: Cutting): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null) => {
    if (chunk === null || !isCut()) return push(chunk);
    let wantsMore = true;
    for (const part of partsOf(chunk)) {
      if (socket.isPaused()) onUnread(part.length);
      if (socket.destroyed) return false;
      wantsMore = push(part);
    }
    return wantsMore;
  };
}

/** Cuts bytes after each head; only the last part may end elsewhere. */
export function partsOf(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const headEnd = bytes.indexOf(HEAD_END, start + SHORTEST_PART_BYTES - HEAD_END.length);
    const end = headEnd < 0 ? bytes.length : headEnd + HEAD_END.length;
    parts.push(bytes.subarray(start, end));
    start = end;
  }
  return parts;
}
