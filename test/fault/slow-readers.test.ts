import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newestBlock, parentOfSettled } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { exchange } from '../support/http-client.ts';
import { startFaultyWorld } from './faulty-world.ts';

const MIB = 1024 * 1024;
/** More than the system takes in for a connection. */
const BODY_BYTES = 16 * MIB;
/** Twice the pause of the client that is fast enough: a busy machine must not make it look slow. */
const SLOW_READER_MS = 300;

/** A proxy whose other timeouts are far away: a client that is cut is cut for being slow. */
function startWorld(): Promise<World> {
  return startFaultyWorld({
    env: { UPSTREAM_TIMEOUT: '60s', PASSTHROUGH: 'on' },
    overrides: {
      http: { slowReader: SLOW_READER_MS, drain: 100 },
      memory: { maxSize: 256 * MIB },
      upstream: { maxBodySize: 32 * MIB },
    },
  });
}

/** Reads in this way up to the end of the connection; returns how much came, and in how many reads. */
async function readSlowly(
  url: string,
  target: string,
  { bytes, everyMs }: { readonly bytes: number; readonly everyMs: number },
): Promise<{ readonly received: number; readonly reads: number }> {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let received = 0;
  let reads = 0;
  let left = bytes;
  const socket = connect({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    onread: {
      buffer: Buffer.alloc(2 * 1024),
      callback: (count) => {
        received += count;
        reads++;
        left -= count;
        return left > 0;
      },
    },
  });
  const turn = setInterval(() => {
    left = bytes;
    socket.resume();
  }, everyMs);
  onTestFinished(() => {
    clearInterval(turn);
    socket.destroy();
  });
  // A connection that is cut with unread bytes on it is reset.
  socket.on('error', () => {});
  socket.on('close', resolve);
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await ended;
  return { received, reads };
}

describe.each<[string, (world: World) => string]>([
  ['an answer that is cached', parentOfSettled],
  ['one that is passed through', () => '/api/v3/masterchainInfo'],
])('a client that reads %s', (_, targetIn) => {
  it('a few bytes at a time is cut, though something always moves', async () => {
    await using world = await startWorld();
    world.indexer.faults.inject({ kind: 'huge', bytes: BODY_BYTES });
    const { received, reads } = await readSlowly(world.proxy.url, targetIn(world), { bytes: 2 * 1024, everyMs: 50 });
    expect(received).toBeLessThan(BODY_BYTES);
    expect(reads).toBeGreaterThan(2);
    expect((await world.ask(newestBlock(world))).status).toBe(200);
  });

  it('slowly, but fast enough, gets all of it', async () => {
    await using world = await startWorld();
    world.indexer.faults.inject({ kind: 'huge', bytes: BODY_BYTES });
    const startedAt = performance.now();
    const { received } = await readSlowly(world.proxy.url, targetIn(world), { bytes: MIB, everyMs: 150 });
    expect(received).toBeGreaterThan(BODY_BYTES);
    expect(performance.now() - startedAt).toBeGreaterThan(5 * SLOW_READER_MS);
  });
});

it('large answers to requests that were sent together come whole, in order, on one connection', async () => {
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
