import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, connectTo, exchange, send } from '../support/http-client.ts';
import { DRAIN_MS, ProcessWorld, REQUEST, refusal, TARGET } from './process-world.ts';

let world: ProcessWorld;

beforeEach(async () => {
  world = await ProcessWorld.start();
});

afterEach(() => world[Symbol.asyncDispose]());

describe('a signal to end', () => {
  it('refuses new connections after http.shutdownDelay, and ends the process', async () => {
    await using started = await world.startWithDrain('5min', {}, '400ms');
    const gate = world.indexer.hold('adjacentTransactions');
    const inFlight = exchange(started.url, REQUEST);
    await gate.arrived(1);
    const signalledAt = performance.now();
    started.signal('SIGTERM');
    await expect.poll(() => refusal(started.url), { interval: 5 }).toBe('ECONNREFUSED');
    expect(performance.now() - signalledAt).toBeGreaterThanOrEqual(400);
    gate.release();
    expect(await inFlight).toMatch(/^HTTP\/1\.1 404 /);
    expect(await started.ended).toEqual({ code: 0, signal: null });
  });
});

describe('after http.drainTimeout', () => {
  it('a request that waits for a slot gets 503', async () => {
    await using started = await world.startWithDrain(`${DRAIN_MS}ms`, { maxConcurrency: 1 });
    const gate = world.indexer.hold('adjacentTransactions');
    const first = send(started.url, TARGET);
    await gate.arrived(1);
    const queued = send(started.url, `${TARGET}&direction=in`);
    await expect.poll(() => started.metric('upstreamQueued')).toBe(1);
    started.signal('SIGTERM');
    expect([(await first.answer).status, (await queued.answer).status]).toEqual([503, 503]);
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(gate.arrivals).toBe(1);
  });
});

it('with default settings, a process ends within 10 s of the signal, with any clients and indexer', async () => {
  await using started = await world.startProcess({ UPSTREAM_TIMEOUT: '5min' });
  const gate = world.indexer.hold('adjacentTransactions');
  const silent = connectTo(started.url);
  const half = connectTo(started.url);
  half.write(`GET ${TARGET} HTTP/1.1\r\nHost:`);
  const inFlight = exchange(started.url, `GET ${TARGET} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const follower = send(started.url, TARGET);
  await gate.arrived(1);
  await ask(started.url, '/no/such/path');
  const signalledAt = performance.now();
  started.signal('SIGTERM');
  expect(await inFlight).toMatch(/^HTTP\/1\.1 503 (?:.|\s)*connection: close/i);
  expect((await follower.answer).status).toBe(503);
  expect(await started.ended).toEqual({ code: 0, signal: null });
  // The limit of the requirement itself: a supervisor kills the process after it.
  expect(performance.now() - signalledAt).toBeLessThan(10_000);
  for (const socket of [silent, half]) socket.destroy();
});
