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

it('the log reports once how each operation fails, and the end of it', async () => {
  const target = newestBlock(world);
  const reset = world.indexer.faults.inject({ kind: 'reset' });
  for (let time = 0; time < 4; time++) await world.ask(target);
  reset.remove();
  // A new key: a kept failure would answer this request, and the fault would hit the next one.
  world.indexer.faults.inject({ kind: 'hang' }, { operation: 'adjacentTransactions', times: 1 });
  await world.ask(unknownTransaction());
  const lines = async () => {
    await world.proxy.askAdmin('/status.json');
    const all = world.proxy.log.filter((line) => 'condition' in line && line.condition === 'indexer-error');
    return all.map(({ level, msg }) => [level, msg.replace(/ \(.*/, '').replace(/after \S+ \w+/, 'after ...')]);
  };
  const begun = [
    [40, 'NOTE: the indexer closes the connection before it answers'],
    [40, 'NOTE: the indexer does not answer in time'],
  ];
  await expect.poll(lines).toEqual(begun);
  world.now += 61_000;
  await expect
    .poll(lines)
    .toEqual([
      ...begun,
      [30, 'over after ...: the indexer closes the connection before it answers'],
      [30, 'over after ...: the indexer does not answer in time'],
    ]);
});
