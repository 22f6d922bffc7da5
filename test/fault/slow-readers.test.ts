import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { newestBlock, parentOfSettled } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { exchange } from '../support/http-client.ts';
import { startFaultyWorld } from './faulty-world.ts';

const MIB = 1024 * 1024;
/** More bytes than the system buffers for a connection. */
const BODY_BYTES = 16 * MIB;

const SLOW_READER_MS = 300;

/** A proxy whose other timeouts are long: a client that is cut off was cut off because it read too slowly. */
function startWorld(): Promise<World> {
  return startFaultyWorld({
    env: { UPSTREAM_TIMEOUT: '60s', PASSTHROUGH: 'on' },
    overrides: {
      http: { sendTimeout: SLOW_READER_MS, drainTimeout: 100 },
      memory: { maxSize: 256 * MIB },
      upstream: { maxBodySize: 32 * MIB },
    },
  });
}

/** Expects that a client which reads a passed answer a few bytes at a time is cut off, and that others are served. */
async function expectCut(): Promise<void> {
  await using world = await startWorld();
  world.indexer.faults.inject({ kind: 'huge', bytes: BODY_BYTES });
  const slow = { bytes: 2 * 1024, everyMs: 50 };
  const { received, reads } = await readSlowly(world.proxy.url, '/api/v3/masterchainInfo', slow);
  expect(received).toBeLessThan(BODY_BYTES);
  expect(reads).toBeGreaterThan(2);
  expect((await world.ask(newestBlock(world))).status).toBe(200);
}

/** Reads slowly up to the end of the connection. Returns the number of bytes and of reads. */
async function readSlowly(
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

it('a client that reads a passed-through answer a few bytes at a time is cut, although it never stops reading', () =>
  expectCut());

it('pipelined requests get large answers whole, in order, on one connection', async () => {
  await using world = await startWorld();
  const target = parentOfSettled(world);
  world.indexer.faults.inject({ kind: 'huge', bytes: 700_000 }, { times: 1 });
  const { text } = await world.ask(target);
  const get = (method: string, last = '') => `${method} ${target} HTTP/1.1\r\nHost: x\r\n${last}\r\n`;
  const heard = await exchange(
    world.proxy.url,
    get('GET') + get('HEAD') + get('GET') + get('GET', 'Connection: close\r\n'),
  );
  const [nothing, ...answers] = heard.split('HTTP/1.1 200 OK\r\n');
  expect(nothing).toBe('');
  const bodies = answers.map((answer) => answer.slice(answer.indexOf('\r\n\r\n') + 4));
  expect(bodies.map((body) => body.length)).toEqual([700_000, 0, 700_000, 700_000]);
  expect(bodies.filter((body) => body !== '' && body !== text)).toEqual([]);
});
