import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Fault, failed, garbage, withoutList } from '../../src/tools/simulator/faults.ts';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import { World, type WorldProxyOptions } from '../e2e/world.ts';
import type { Sent } from '../support/http-client.ts';
import { startPatientWorld } from './faulty-world.ts';

let world: World;

const start = async (options?: WorldProxyOptions) => {
  world = await startPatientWorld(options);
};

afterEach(async () => {
  vi.useRealTimers();
  await world[Symbol.asyncDispose]();
});

const sendMany = (target: string, count: number): Promise<Sent[]> =>
  Promise.all(Array.from({ length: count }, () => world.proxy.sendIn(target)));

describe('followers of a flight that fails', () => {
  it('share its error, and so do clients within the failure TTL; then the indexer is asked again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    // In a minute the timer that forgets the failure does not run: the clock alone decides.
    await start({ overrides: { coalescing: { failureTtl: 60_000 } } });
    const target = newestBlock(world);
    world.indexer.faults.inject(failed(500), { times: 1 });
    const gate = world.indexer.hold();
    const leader = await world.proxy.sendIn(target);
    await gate.arrived(1);
    const followers = await sendMany(target, 5);
    gate.release();
    for (const { answer } of [leader, ...followers]) {
      expect(await answer).toMatchObject({ status: 500, text: '{"error":"simulated failure 500"}' });
    }
    vi.advanceTimersByTime(59_999);
    const late = await world.ask(target);
    expect(late).toMatchObject({ status: 500, cache: { fwd: 'miss', 'fwd-status': 500, collapsed: true } });
    expect(late.headers['cache-control']).toBe('no-store');
    expect(world.forwarded).toHaveLength(1);
    // Other keys have not failed.
    expect((await world.ask(unknownTransaction())).status).toBe(404);
    vi.advanceTimersByTime(1);
    expect((await world.ask(target)).status).toBe(200);
  });

  it.each<[string, Fault, number, string]>([
    ['HTML', garbage('html'), 502, 'upstream-invalid'],
    ['JSON without the list', withoutList(), 502, 'upstream-invalid'],
    ['half of its answer', { kind: 'cut', framing: 'content-length' }, 502, 'upstream-invalid'],
    ["a 404 that is not the indexer's own", failed(404, 'text'), 502, 'upstream-invalid'],
    ['too large a body', { kind: 'huge', bytes: 5000 }, 502, 'upstream-too-large'],
  ])('share an answer that cannot be cached, also within the failure TTL: %s', async (_, fault, status, detail) => {
    const overrides = { coalescing: { collapseWindow: 60_000, failureTtl: 60_000 }, upstream: { maxBodySize: 4096 } };
    world = await World.start({ dialect: '1.3', tiers: 'memory and Redis', proxy: { overrides } });
    const other = await world.addProxy({ overrides });
    const target = newestBlock(world);
    const injected = world.indexer.faults.inject(fault);
    for (const proxy of [world.proxy, world.proxy, other, other]) {
      expect(await world.ask(target, {}, proxy)).toMatchObject({ status, cache: { fwd: 'miss', detail } });
    }
    expect(injected.hits).toBe(1);
  });
});
