import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import { World } from '../e2e/world.ts';
import { promtool } from '../support/promtool.ts';

describe('the metrics page', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start({ dialect: '1.3', tiers: 'memory and Redis' });
    await world.ask(newestBlock(world));
    await world.ask(newestBlock(world));
    await world.ask(unknownTransaction());
    await world.ask('/api/v3/masterchainBlockShards?seqno=none');
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('has nothing that promtool would name otherwise', async () => {
    const { text } = await world.proxy.askAdmin('/metrics');
    expect(await promtool(['check', 'metrics'], text)).toEqual({ exitStatus: 0, output: '' });
  });
});
