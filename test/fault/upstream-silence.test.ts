import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { expectFailure, expectNotKept, startFaultyWorld } from './faulty-world.ts';

let world: World;

beforeEach(async () => {
  world = await startFaultyWorld({ env: { UPSTREAM_TIMEOUT: '1s' } });
});

afterEach(() => world[Symbol.asyncDispose]());

describe('an indexer', () => {
  it('that does not answer by the deadline of the client leads to 504, and its connection is closed', async () => {
    const target = newestBlock(world);
    world.indexer.faults.inject({ kind: 'hang' }, { times: 1 });
    expectFailure(await world.ask(target), 504, 'upstream-timeout');
    await expect.poll(() => world.indexer.requests.inHand).toBe(0);
    await expectNotKept(world, target);
  });

  it('that begins to answer, but does not finish by the deadline of the client, leads to 504', async () => {
    const target = newestBlock(world);
    world.indexer.faults.inject({ kind: 'slow', chunkBytes: 1, pauseMs: 50 }, { times: 1 });
    expectFailure(await world.ask(target), 504, 'upstream-timeout');
    await expect.poll(() => world.indexer.requests.inHand).toBe(0);
    await expectNotKept(world, target);
  });

  it('that answers slowly, but before the deadline, has its answer served and stored', async () => {
    const target = newestBlock(world);
    const truth = (await world.askIndexer(target)).text;
    world.indexer.faults.inject({ kind: 'slow', chunkBytes: 1000, pauseMs: 5 }, { times: 1 });
    expect(await world.ask(target)).toMatchObject({ status: 200, text: truth, cache: { stored: true } });
  });
});

describe('an indexer whose connection breaks', () => {
  it('before an answer leads to 502', async () => {
    const target = newestBlock(world);
    const reset = world.indexer.faults.inject({ kind: 'reset' });
    const reply = await world.ask(target);
    expectFailure(reply, 502, 'upstream-reset');
    expect(reply.cache).not.toHaveProperty('fwd-status');
    reset.remove();
    await expectNotKept(world, target);
  });
});

it('the log reports once at each level that requests fail, however many operations they are for', async () => {
  const target = newestBlock(world);
  const reset = world.indexer.faults.inject({ kind: 'reset' });
  for (let time = 0; time < 4; time++) await world.ask(target);
  reset.remove();
  // A new key: a kept failure would answer this request, and the fault would hit the next one.
  world.indexer.faults.inject({ kind: 'hang' }, { operation: 'adjacentTransactions', times: 1 });
  await world.ask(unknownTransaction());
  const lines = async () => {
    await world.proxy.askAdmin('/status.json');
    return world.proxy.log.filter(({ level }) => level >= 40).map(({ level, msg }) => [level, msg]);
  };
  const cause = /he indexer (closes the connection before answering|does not answer in time)/;
  // All requests fail: the degraded state becomes a failing one.
  await expect.poll(lines).toEqual([
    [40, expect.stringMatching(cause)],
    [50, expect.stringMatching(cause)],
  ]);
  world.now += 130_000;
  await lines();
  const over = () => world.proxy.log.filter(({ msg }) => msg.startsWith('over after '));
  await expect.poll(over).toHaveLength(1);
});
