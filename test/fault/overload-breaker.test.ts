import { describe, expect, it } from 'vitest';
import { failed, rateLimited } from '../../src/tools/simulator/faults.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { newestBlock, nothingPending, parentOfSettled, targetOf, unknownTransaction } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { freePort } from '../support/free-port.ts';
import { startProxy } from '../support/start-proxy.ts';
import { openBreakers, PATIENT_ADMISSION, startEndingWorld } from './faulty-world.ts';
import { expectRefused, refusedOf } from './refused-requests.ts';

/** Requests this many keys of pendingTraces and returns the statuses. */
async function statusesOfPending(world: World, count: number): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => world.ask(nothingPending())));
  return replies.map(({ status }) => status);
}

describe('the circuit breaker', () => {
  it.each([
    ['fails', failed(500), 500],
    ['hangs', { kind: 'hang' }, 504],
  ] as const)(
    'of an operation that %s opens, and the other operations are served as before',
    async (_name, fault, status) => {
      const breaker = { openDuration: 60_000 };
      await using world = await startEndingWorld({ env: { UPSTREAM_TIMEOUT: '1s' }, overrides: { breaker } });
      world.indexer.faults.inject(fault, { operation: 'pendingTraces' });
      expect(await statusesOfPending(world, 20)).toEqual(Array(20).fill(status));
      const refusedNow = await world.ask(nothingPending());
      expectRefused(refusedNow);
      expect(refusedNow.headers['retry-after']).toBe('60');
      expect(new Set(await statusesOfPending(world, 30))).toEqual(new Set([503]));
      expect(world.indexer.requests.count('pendingTraces')).toBe(20);
      for (const target of [parentOfSettled(world), newestBlock(world)]) {
        expect(await world.ask(target)).toMatchObject({ status: 200, cache: { fwd: 'miss' } });
      }
      expect(await openBreakers(world.proxy)).toBe(1);
      expect(await refusedOf(world, 'breaker-open')).toBe(31);
    },
  );

  it('sends a trial after the open duration, and closes with the first success', async () => {
    await using world = await startEndingWorld({
      overrides: { breaker: { openDuration: 50 } },
    });
    const fault = world.indexer.faults.inject(failed(500), { operation: 'pendingTraces' });
    await statusesOfPending(world, 20);
    expect(await openBreakers(world.proxy)).toBe(1);
    fault.remove();
    await expect.poll(async () => (await world.ask(nothingPending())).status).toBe(200);
    expect(await openBreakers(world.proxy)).toBe(0);
    expect(await statusesOfPending(world, 20)).toEqual(Array(20).fill(200));
  });

  it('of an operation that is answered again closes, and trials of the others are allowed immediately', async () => {
    await using world = await startEndingWorld({
      overrides: { breaker: { openDuration: 60_000 } },
    });
    const fault = world.indexer.faults.inject(failed(500));
    await statusesOfPending(world, 20);
    world.advance(59_000);
    for (let time = 0; time < 20; time++) await world.ask(unknownTransaction());
    expect(await openBreakers(world.proxy)).toBe(2);
    fault.remove();
    world.advance(1000);
    expectRefused(await world.ask(unknownTransaction()));
    expect((await world.ask(nothingPending())).status).toBe(200);
    expect((await world.ask(unknownTransaction())).status).toBe(404);
    expect(await openBreakers(world.proxy)).toBe(0);
  });

  it.each([404, 422, 429])('does not open for %i', async (status) => {
    // A pause that ends before the next request: each of them meets the indexer.
    await using world = await startEndingWorld({ overrides: { upstream: { defaultPause: 1, maxPause: 1 } } });
    world.indexer.faults.inject(status === 429 ? rateLimited('json') : failed(status));
    for (let time = 0; time < 40; time++) {
      await world.ask(unknownTransaction());
      world.advance(2);
    }
    expect(world.indexer.requests.count('adjacentTransactions')).toBe(40);
    expect(await openBreakers(world.proxy)).toBe(0);
    expect(await refusedOf(world, 'breaker-open')).toBe(0);
  });

  it('opens for all operations when the indexer cannot be reached, and closes by itself when it is back', async () => {
    const indexer = await startIndexer({ port: await freePort() });
    const { port, chain } = indexer;
    await using proxy = await startProxy({
      upstreamUrl: indexer.url,
      overrides: {
        admission: PATIENT_ADMISSION,
        breaker: { openDuration: 300 },
        coalescing: { failureTtl: 0 },
      },
    });
    await indexer.close();
    for (let time = 0; time < 20; time++) expect([502, 503]).toContain((await proxy.ask(unknownTransaction())).status);
    expect(await openBreakers(proxy)).toBeGreaterThanOrEqual(3);
    const again = await startIndexer({ port, chain });
    const status = async (target: string) => (await proxy.ask(target)).status;
    await expect.poll(() => status(nothingPending())).toBe(200);
    await expect.poll(() => status(unknownTransaction())).toBe(404);
    const seqno = chain.headSeqno;
    await expect.poll(() => status(targetOf('masterchainBlockShards', { seqno }))).toBe(200);
    // The rest of the API, which is not passed through and so never requested, is not reported as cut off either.
    expect(await openBreakers(proxy)).toBe(0);
    await again.close();
  });
});

describe('after the pause of a 429', () => {
  it('only one trial is sent, and its success lets all others through', async () => {
    await using world = await startEndingWorld();
    world.indexer.faults.inject(rateLimited('text', '5'), { times: 2 });
    expectRefused(await world.ask(newestBlock(world)), undefined, 429);
    expectRefused(await world.ask(unknownTransaction()), undefined, 429);
    world.advance(5000);
    const gate = world.indexer.hold();
    const trial = await world.proxy.sendIn(nothingPending());
    await gate.arrived(1);
    const others = await Promise.all(Array.from({ length: 10 }, () => world.ask(unknownTransaction())));
    for (const other of others) expectRefused(other, undefined, 429);
    gate.release();
    expect((await trial.answer).status).toBe(200);
    expect(world.forwarded).toHaveLength(3);
    expect((await world.ask(nothingPending())).status).toBe(200);
  });
});
