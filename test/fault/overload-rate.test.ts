import { describe, expect, it } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import { newestBlock, nothingPending, unknownTransaction } from '../e2e/questions.ts';
import { mostWithin } from '../support/sliding-count.ts';
import { startEndingWorld } from './faulty-world.ts';
import { expectRefused, refusedOf } from './refused-requests.ts';

describe('UPSTREAM_RPS', () => {
  it('is kept in any second, and all requests that can be sent in time are answered', async () => {
    await using world = await startEndingWorld({ env: { UPSTREAM_RPS: '25', UPSTREAM_TIMEOUT: '30s' } });
    const arrivals: number[] = [];
    world.indexer.requests.on('request', () => arrivals.push(performance.now()));
    const answers = await Promise.all(Array.from({ length: 80 }, () => world.ask(nothingPending())));
    expect(answers.map(({ status }) => status)).toEqual(Array(80).fill(200));
    expect(mostWithin(arrivals, 1000)).toBeLessThanOrEqual(50);
    expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(1000);
  });

  it('refuses immediately each request that could not be sent in time', async () => {
    await using world = await startEndingWorld({ stopsTime: true, env: { UPSTREAM_RPS: '1', UPSTREAM_TIMEOUT: '5s' } });
    // One slot a second, and a request waits for at most half of the timeout: the slots at 0, 1 and 2 s come in time.
    // The clock of the rate stands still, so the arrival time of the requests does not matter.
    const early = await Promise.all(Array.from({ length: 5 }, () => world.proxy.sendIn(nothingPending())));
    const waiting = await Promise.all(Array.from({ length: 20 }, () => world.ask(nothingPending())));
    const answers = [...waiting, ...(await Promise.all(early.map(({ answer }) => answer)))];
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(22);
    for (const answered of refused) expectRefused(answered);
    expect(await refusedOf(world, 'rate-limit')).toBe(22);
    expect(world.forwarded).toHaveLength(3);
  });

  it('below one is refused at the start, because nothing would ever be sent', async () => {
    await expect(startEndingWorld({ env: { UPSTREAM_RPS: '0.5' } })).rejects.toThrow(/UPSTREAM_RPS/);
  });
});

describe('a retry', () => {
  it('is made once after a connection reset', async () => {
    await using world = await startEndingWorld();
    world.indexer.faults.inject({ kind: 'reset' }, { times: 1 });
    expect((await world.ask(nothingPending())).status).toBe(200);
    expect(world.forwarded).toHaveLength(2);
    world.indexer.faults.inject({ kind: 'reset' });
    for (let time = 0; time < 10; time++) await world.ask(newestBlock(world));
    expect(world.forwarded.length).toBeGreaterThan(12);
    expect((await world.ask(nothingPending())).status).toBe(502);
  });

  it('that the rate does not allow in time is not counted as refused: the load was sent', async () => {
    await using world = await startEndingWorld({ stopsTime: true, env: { UPSTREAM_RPS: '1', UPSTREAM_TIMEOUT: '1s' } });
    world.indexer.faults.inject({ kind: 'reset' }, { times: 1 });
    expect((await world.ask(nothingPending())).status).toBe(502);
    expect([world.forwarded.length, await refusedOf(world, 'rate-limit')]).toEqual([1, 0]);
    expectRefused(await world.ask(nothingPending()));
    expect([world.forwarded.length, await refusedOf(world, 'rate-limit')]).toEqual([1, 1]);
  });

  it.each([
    ['an answer of 500', failed(500)],
    ['an answer that was cut', { kind: 'cut', framing: 'content-length' }],
    ['no answer', { kind: 'hang' }],
  ] as const)('is not made after %s', async (_name, fault) => {
    await using world = await startEndingWorld({ env: { UPSTREAM_TIMEOUT: '200ms' } });
    world.indexer.faults.inject(fault);
    expect((await world.ask(newestBlock(world))).status).toBeGreaterThanOrEqual(500);
    expect(world.forwarded).toHaveLength(1);
  });

  it('is made for at most a tenth of the requests, plus one a second', async () => {
    await using world = await startEndingWorld({ overrides: { breaker: { minimumThroughput: 100_000 } } });
    world.indexer.faults.inject({ kind: 'reset' });
    const startedAt = performance.now();
    for (let time = 0; time < 100; time++) expect((await world.ask(unknownTransaction())).status).toBe(502);
    const seconds = (performance.now() - startedAt) / 1000;
    expect(world.forwarded.length).toBeGreaterThanOrEqual(110);
    expect(world.forwarded.length).toBeLessThanOrEqual(100 + 10 + 1 + Math.ceil(seconds));
  });
});
