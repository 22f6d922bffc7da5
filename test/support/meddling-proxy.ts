import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy between clients and a Redis on this machine that meddles with replies. */
export interface MeddlingProxy extends AsyncDisposable {
  readonly url: string;
  /** Ends one connection with a reset (RST) after this many bytes of replies from now on. */
  resetNextReplyAfterBytes(bytes: number): void;
  /** Delays every reply by this, ms. */
  delay(ms: number): void;
}

/** Starts one on a free port of 127.0.0.1; at first it passes everything on. */
export async function meddlingProxy(redisPort: number): Promise<MeddlingProxy> {
  const sockets = new Set<Socket>();
  let remainingBytes = Number.POSITIVE_INFINITY;
  let delayMs = 0;
  const server = createServer((client) => {
    const upstream = connect(redisPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      if (delayMs > 0) {
        // Timers of one length end in the order of their beginning.
        setTimeout(() => client.write(chunk), delayMs);
      } else if (chunk.byteLength < remainingBytes) {
        remainingBytes -= chunk.byteLength;
        client.write(chunk);
      } else {
        client.write(chunk.subarray(0, remainingBytes), () => client.resetAndDestroy());
        remainingBytes = Number.POSITIVE_INFINITY;
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    resetNextReplyAfterBytes: (bytes) => {
      remainingBytes = bytes;
    },
    delay: (ms) => {
      delayMs = ms;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
