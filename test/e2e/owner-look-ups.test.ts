import { expect, test } from 'vitest';
import { PATIENCE } from './followed-world.ts';
import { listOf, OwnersWorld } from './owners-world.ts';

// At the same time, because each waits for half a minute until its world proves answers.

test.concurrent('the list of an owner keeps a deleted wallet in 1.2, and is proven', async () => {
  await using world = await OwnersWorld.open('1.2');
  const owner = world.spareAccount();
  await world.mint(owner);
  await world.untilProven(listOf(owner));
  const wallet = world.walletOf(owner);
  const page = `/api/v3/transactions?account=${wallet.address}`;
  const transactions = async () => JSON.parse((await world.proxy.ask(page)).text).transactions.length;
  const before = await transactions();
  world.act(wallet, { kind: 'delete' });
  await expect.poll(transactions, PATIENCE).toBe(before + 1);
  await world.untilProven(listOf(owner));
  expect(JSON.parse((await world.proxy.ask(listOf(owner))).text).jetton_wallets).toHaveLength(1);
});

test.concurrent('look-ups go to the indexer that has the blocks, although one that is behind is as fast', async () => {
  await using both = await OwnersWorld.open('1.3', undefined, { behindMs: 2500 });
  const counted = [both.indexer, both.behind].map((indexer) => {
    const counts = { lookUps: 0 };
    indexer?.requests.on('request', ({ target }) => {
      if (target.startsWith('/api/v3/jetton/wallets?address=')) counts.lookUps++;
    });
    return counts;
  });
  await expect.poll(() => counted[0]?.lookUps, PATIENCE).toBeGreaterThan(20);
  expect(counted[1]?.lookUps).toBe(0);
});
