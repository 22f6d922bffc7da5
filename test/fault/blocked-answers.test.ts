import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nothingPending, parentOfSettled, targetOf } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { startFaultyWorld } from './faulty-world.ts';
import { type ClientOptions, connectClient, get, head, requestsInFlight, untilTakenIn } from './pipelining-client.ts';

let world: World;

beforeEach(async () => {
  // A request that is held at the end of a test is not waited for.
  world = await startFaultyWorld({ env: { UPSTREAM_TIMEOUT: '60s' }, overrides: { http: { drain: 100 } } });
});

afterEach(() => world[Symbol.asyncDispose]());

const client = (sent: string, options?: ClientOptions) => connectClient(world, sent, options);
const inFlight = () => requestsInFlight(world);

describe('a connection that pipelines', () => {
  it.each([
    ['the fast lane', get],
    ['Node', head],
  ])(
    'and waits with large answers behind an early one is read no further by %s, and gets every answer',
    async (_, ask) => {
      const [large, late] = [parentOfSettled(world), nothingPending()];
      world.indexer.faults.inject({ kind: 'huge', bytes: 1_000_000 }, { operation: 'adjacentTransactions' });
      const gate = world.indexer.hold();
      const first = client(get(large));
      await gate.arrived(1);
      const reader = client(ask(late) + get(large).repeat(15));
      await gate.arrived(2);
      await expect.poll(inFlight).toBe(17);
      gate.release(1);
      await expect.poll(() => first.statuses).toEqual(['200']);
      // 15 MB are behind an answer that is not there. The next request would be the 17th.
      reader.socket.write(get(large).repeat(5));
      await untilTakenIn(world);
      expect(await inFlight()).toBe(16);
      gate.release();
      await expect.poll(() => reader.bytes()).toBeGreaterThan(20_000_000);
      await expect.poll(() => reader.statuses).toEqual(Array.from({ length: 21 }, () => '200'));
    },
  );

  it.each([
    ['the fast lane', get],
    ['Node', head],
  ])('is not cut by %s for answers that waited and have left', async (_, ask) => {
    const large = parentOfSettled(world);
    const bytes = 8_000_000;
    world.indexer.faults.inject({ kind: 'huge', bytes }, { operation: 'adjacentTransactions' });
    await world.ask(large);
    const reader = client('');
    // 72 MB in all, of which 8 MB wait at a time.
    for (let count = 1; count <= 9; count++) {
      const gate = world.indexer.hold();
      reader.socket.write(ask(nothingPending()) + get(large));
      await gate.arrived(1);
      await expect.poll(inFlight).toBe(2);
      gate.release();
      await expect.poll(() => reader.bytes()).toBeGreaterThan(count * bytes);
    }
    expect(reader.statuses).toEqual(Array.from({ length: 18 }, () => '200'));
  });

  it('gets 40 large answers that it reads at once', async () => {
    world.indexer.faults.inject({ kind: 'huge', bytes: 1_000_000 }, { operation: 'masterchainBlockShards' });
    const newest = world.indexer.chain.headSeqno;
    const targets = Array.from({ length: 40 }, (_, index) =>
      targetOf('masterchainBlockShards', { seqno: newest - index }),
    );
    const reader = client(targets.map(get).join(''));
    await expect.poll(() => reader.bytes()).toBeGreaterThan(40_000_000);
    expect(reader.statuses).toEqual(Array.from({ length: 40 }, () => '200'));
  });

  it.each([
    ['the fast lane', get],
    ['Node', head],
  ])('is cut by %s when more than 64 MiB of answers wait behind earlier ones in all', async (_, ask) => {
    const [large, late] = [parentOfSettled(world), nothingPending()];
    world.indexer.faults.inject({ kind: 'huge', bytes: 1_000_000 }, { operation: 'adjacentTransactions' });
    const gate = world.indexer.hold();
    const first = client(get(large));
    await gate.arrived(1);
    // All 17 requests of each are read before any is answered.
    const several = (count: number) => Array.from({ length: count }, () => client(ask(late) + get(large).repeat(16)));
    const readers = several(4);
    await gate.arrived(2);
    await expect.poll(inFlight).toBe(1 + 4 * 17);
    const last = several(1);
    await expect.poll(inFlight).toBe(1 + 5 * 17);
    const closed = () => [...readers, ...last].filter(({ socket }) => socket.destroyed).length;
    gate.release(1);
    await expect.poll(() => first.statuses).toEqual(['200']);
    // 16 MB of each, of which four fit.
    await expect.poll(closed).toBe(1);
    await expect.poll(inFlight).toBe(4 * 17);
    gate.release();
    const staying = [...readers, ...last].filter(({ socket }) => !socket.destroyed);
    for (const { statuses } of staying) await expect.poll(() => statuses.length).toBe(17);
    expect(closed()).toBe(1);
  });
});
