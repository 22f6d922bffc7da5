import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fault, failed, garbage, rateLimited, refusedKey, withoutList } from '../../src/tools/simulator/faults.ts';
import { newestBlock, parentOfSettled } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { answering, startFaultyWorld } from './faulty-world.ts';

const HOUR = 3_600_000;
const MAX_BODY_BYTES = 100_000;

let world: World;

beforeEach(async () => {
  world = await startFaultyWorld({
    env: { UPSTREAM_TIMEOUT: '1s' },
    overrides: { upstream: { maxBodySize: MAX_BODY_BYTES } },
  });
});

afterEach(() => world[Symbol.asyncDispose]());

it('a stale answer is refreshed by one request at a time, even beyond the collapse window', async () => {
  const other = await world.addProxy({ overrides: { coalescing: { collapseWindow: 1000 } } });
  const target = newestBlock(world);
  await world.ask(target, {}, other);
  await world.leap(24 * HOUR);
  const gate = world.indexer.hold();
  for (let time = 0; time < 5; time++) {
    expect((await world.ask(target, {}, other)).cache).toMatchObject({ hit: true });
    world.advance(2000);
  }
  await gate.arrived(1);
  expect(await other.metric('upstreamInFlight')).toBe(1);
  gate.release();
});

describe('when the indexer fails', () => {
  it.each<[string, string, Fault]>([
    ['500', 'upstream-error', failed(500)],
    ['a 404 that is not its own', 'upstream-invalid', failed(404, 'text')],
    ['429', 'upstream-rate-limited', rateLimited('json')],
    ['401', 'upstream-unauthorized', refusedKey(401)],
    ['403', 'upstream-unauthorized', refusedKey(403)],
    ['a redirect', 'upstream-redirect', answering('', { Location: '/' }, 302)],
    ['no JSON', 'upstream-invalid', garbage('html')],
    ['no list', 'upstream-invalid', withoutList()],
    ['a body cut short', 'upstream-invalid', { kind: 'cut', framing: 'content-length' }],
    ['too large a body', 'upstream-too-large', { kind: 'huge', bytes: MAX_BODY_BYTES + 1 }],
    ['broken gzip', 'upstream-invalid', answering('x', { 'Content-Encoding': 'gzip' })],
    ['a reset', 'upstream-reset', { kind: 'reset' }],
    ['silence', 'upstream-timeout', { kind: 'hang' }],
  ])('by %s, Cache-Status of the stale answer shows it', async (_, detail, fault) => {
    const target = parentOfSettled(world);
    const { text, headers } = await world.ask(target);
    world.indexer.faults.inject(fault);
    await world.leap(2 * HOUR);
    const reply = await world.ask(target);
    expect([reply.status, reply.text, reply.headers.etag]).toEqual([200, text, headers.etag]);
    expect(reply.headers.age).toBe('7200');
    expect(reply.cache).toMatchObject({ fwd: 'stale', ttl: -3600, detail });
    expect(reply.cache).not.toHaveProperty('stored');
  });

  it('a stale answer that could not be refreshed is served at the next failure too, and replaced by the next answer', async () => {
    const target = newestBlock(world);
    await world.ask(target);
    const failure = world.indexer.faults.inject(failed(500));
    await world.leap(25 * HOUR);
    for (let time = 0; time < 3; time++) expect((await world.ask(target)).status).toBe(200);
    failure.remove();
    expect((await world.ask(target)).cache).toMatchObject({ fwd: 'stale', 'fwd-status': 200, stored: true });
    expect((await world.ask(target)).cache).toMatchObject({ hit: true });
  });

  it('a failure that is reused within its TTL does not extend how long a stale answer is served', async () => {
    const other = await world.addProxy({ overrides: { coalescing: { failureTtl: 60_000 } } });
    const target = parentOfSettled(world);
    await world.ask(target, {}, other);
    world.indexer.faults.inject(failed(500));
    await world.leap(25 * HOUR - 1);
    expect((await world.ask(target, {}, other)).status).toBe(200);
    await world.leap(1);
    expect((await world.ask(target, {}, other)).status).toBe(500);
    expect(world.forwarded).toHaveLength(2);
  });
});
