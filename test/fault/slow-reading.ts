import { connect } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { newestBlock } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { startFaultyWorld } from './faulty-world.ts';

export const MIB = 1024 * 1024;
/** More bytes than the system buffers for a connection. */
export const BODY_BYTES = 16 * MIB;
export const PASSED_THROUGH = '/api/v3/masterchainInfo';

/** Twice as long as the fast client pauses, so that it does not look slow on a busy machine. */
export const SLOW_READER_MS = 300;

/** A proxy whose other timeouts are long: a client that is cut off was cut off because it read too slowly. */
export function startWorld(): Promise<World> {
  return startFaultyWorld({
    env: { UPSTREAM_TIMEOUT: '60s', PASSTHROUGH: 'on' },
    overrides: {
      http: { sendTimeout: SLOW_READER_MS, drainTimeout: 100 },
      memory: { maxSize: 256 * MIB },
      upstream: { maxBodySize: 32 * MIB },
    },
  });
}

/** Expects that a client which reads this answer a few bytes at a time is cut off, and that others are served. */
export async function expectCut(targetIn: (world: World) => string): Promise<void> {
  await using world = await startWorld();
  world.indexer.faults.inject({ kind: 'huge', bytes: BODY_BYTES });
  const { received, reads } = await readSlowly(world.proxy.url, targetIn(world), { bytes: 2 * 1024, everyMs: 50 });
  expect(received).toBeLessThan(BODY_BYTES);
  expect(reads).toBeGreaterThan(2);
  expect((await world.ask(newestBlock(world))).status).toBe(200);
}

/** Reads slowly up to the end of the connection. Returns the number of bytes and of reads. */
export async function readSlowly(
  url: string,
  target: string,
  { bytes, everyMs }: { readonly bytes: number; readonly everyMs: number },
): Promise<{ readonly received: number; readonly reads: number }> {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let received = 0;
  let reads = 0;
  let remaining = bytes;
  const socket = connect({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    onread: {
      buffer: Buffer.alloc(2 * 1024),
      callback: (count) => {
        received += count;
        reads++;
        remaining -= count;
        return remaining > 0;
      },
    },
  });
  const timer = setInterval(() => {
    remaining = bytes;
    socket.resume();
  }, everyMs);
  onTestFinished(() => {
    clearInterval(timer);
    socket.destroy();
  });
  // A connection that is closed with unread bytes is reset.
  socket.on('error', () => {});
  socket.on('close', resolve);
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await ended;
  return { received, reads };
}
