import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Fault } from '../../src/tools/simulator/faults.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { newestBlock, nothingPending, targetOf, unknownTransaction } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { freePort } from '../support/free-port.ts';
import { startLoneTcpProxy } from '../support/lone-tcp-proxy.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { answering, openBreakers, PATIENT_ADMISSION, startEndingWorld } from './faulty-world.ts';

const blockOf = (seqno: number) => targetOf('masterchainBlockShards', { seqno });

/** The statuses of this many requests, one after the other. */
async function statusesOf(proxy: RunningProxy, times: number, target: () => string): Promise<number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < times; time++) statuses.push((await proxy.ask(target())).status);
  return statuses;
}

describe('an operation that fails', () => {
  const breaks: [string, Fault][] = [
    ['a reset', { kind: 'reset' }],
    ['a head of 70 KB', answering('{}', { 'X-Cookies': 'x'.repeat(70_000) })],
  ];
  it.each(breaks)(
    'with %s opens only its own circuit breaker, and the other operations are served',
    async (_, fault) => {
      await using world = await startEndingWorld({ overrides: { breaker: { openDuration: 60_000 } } });
      world.indexer.faults.inject(fault, { operation: 'adjacentTransactions' });
      const [first, ...more] = await statusesOf(world.proxy, 40, unknownTransaction);
      expect([first, more.at(-1)]).toEqual([502, 503]);
      for (let time = 0; time < 3; time++) {
        world.advance(400);
        expect(await world.ask(newestBlock(world))).toMatchObject({ status: 200, cache: { fwd: 'miss' } });
        expect(await world.ask(nothingPending())).toMatchObject({ status: 200, cache: { fwd: 'miss' } });
      }
      expect(await openBreakers(world.proxy)).toBe(1);
    },
  );
});

it('an answer with a head of 60 KB is served', async () => {
  await using world = await startEndingWorld();
  const truth = (await world.askIndexer(newestBlock(world))).text;
  world.indexer.faults.inject(answering(truth, { 'X-Cookies': 'x'.repeat(60_000) }));
  const { status, text, headers } = await world.ask(newestBlock(world));
  expect([status, text]).toEqual([200, truth]);
  expect(headers).not.toHaveProperty('x-cookies');
});

describe('idle connections that the indexer closes when requests arrive', () => {
  // For any time in which a busy machine sees that a connection was closed.
  beforeEach(() => {
    vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const burst = (world: World) => Promise.all(Array.from({ length: 20 }, () => world.ask(unknownTransaction())));

  it('make no request fail, and use up no retries', async () => {
    await using world = await startEndingWorld({ stopsTime: true });
    world.indexer.faults.inject({ kind: 'close-used' });
    for (let time = 0; time < 3; time++) {
      expect(new Set((await burst(world)).map(({ status }) => status))).toEqual(new Set([404]));
    }
    const results = (result: string) => world.proxy.metric('upstreamRequests', { result });
    expect([await results('404'), await results('upstream-reset')]).toEqual([60, 0]);
    expect(world.indexer.requests.count('adjacentTransactions')).toBeGreaterThan(60);
    expect(world.proxy.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('cost no second reservation of the rate', async () => {
    await using world = await startEndingWorld({ env: { UPSTREAM_RPS: '50' }, stopsTime: true });
    world.indexer.faults.inject({ kind: 'close-used' });
    for (let time = 0; time < 20; time++) {
      expect((await world.ask(unknownTransaction())).status).toBe(404);
      world.advance(20);
    }
    expect(world.indexer.requests.count('adjacentTransactions')).toBe(39);
  });
});

describe('behind a TCP proxy that accepts connections and closes them while the indexer is away', () => {
  const ask = async (breaker: { readonly openDuration: number }, rarelyAsked: number) => {
    const acceptor = await startLoneTcpProxy(await freePort());
    const proxy = await startProxy({
      upstreamUrl: `http://127.0.0.1:${acceptor.port}`,
      overrides: { admission: PATIENT_ADMISSION, breaker, coalescing: { failureTtl: 0 } },
    });
    let seqno = 0;
    for (const [target, times] of [
      [unknownTransaction, 25],
      [() => blockOf(++seqno), 25],
      [nothingPending, rarelyAsked],
    ] as const) {
      for (const status of await statusesOf(proxy, times, target)) expect([502, 503]).toContain(status);
    }
    return { proxy, acceptor };
  };

  it('the circuit breakers open, and close by themselves when it is back', async () => {
    const { proxy, acceptor } = await ask({ openDuration: 300 }, 25);
    await using _ = proxy;
    expect(await openBreakers(proxy)).toBe(3);
    await acceptor.close();
    const back = await startIndexer({ port: acceptor.port });
    const status = async (target: string) => (await proxy.ask(target)).status;
    await expect.poll(() => status(nothingPending())).toBe(200);
    await expect.poll(() => status(unknownTransaction())).toBe(404);
    await expect.poll(() => status(blockOf(back.chain.headSeqno))).toBe(200);
    expect(await openBreakers(proxy)).toBe(0);
    await back.close();
  });

  it('the first answer to a rarely requested operation allows trials of the other operations immediately', async () => {
    const { proxy, acceptor } = await ask({ openDuration: 3_600_000 }, 2);
    await using _ = proxy;
    expect(await openBreakers(proxy)).toBe(2);
    await acceptor.close();
    const back = await startIndexer({ port: acceptor.port });
    expect((await proxy.ask(unknownTransaction())).status).toBe(503);
    expect((await proxy.ask(nothingPending())).status).toBe(200);
    expect((await proxy.ask(unknownTransaction())).status).toBe(404);
    expect((await proxy.ask(blockOf(back.chain.headSeqno))).status).toBe(200);
    await back.close();
  });
});
