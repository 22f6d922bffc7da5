import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import { PATIENCE } from './followed-world.ts';
import { listOf, OwnersWorld, receivedBy } from './owners-world.ts';

// Real clocks, because the follower uses them.

let world: OwnersWorld;

beforeAll(async () => {
  world = await OwnersWorld.open();
});

afterAll(() => world[Symbol.asyncDispose]());

/** The wallets of an owner, as toncache lists them: address and balance. */
async function listed(owner: Account, more = ''): Promise<readonly (readonly [string, string])[]> {
  return JSON.parse((await world.proxy.ask(`${listOf(owner)}${more}`)).text).jetton_wallets.map(
    (row: Record<string, string>) => [row['address'], row['balance']],
  );
}

describe('the list of the jetton wallets of an owner', () => {
  test('is proven, also while it is empty, and shows a new wallet as soon as blocks do', async () => {
    const owner = world.spareAccount();
    await world.untilProven(listOf(owner));
    expect(await listed(owner)).toEqual([]);
    await world.mint(owner);
    await expect.poll(() => listed(owner), PATIENCE).toEqual([[world.walletOf(owner).address, '100']]);
    await world.untilProven(listOf(owner));
  });

  test('shows an account that was active before, once it is a wallet', async () => {
    const [owner, account] = [world.spareAccount(), world.spareAccount()];
    world.act(account, { kind: 'unconfirmed' });
    await world.untilProven(listOf(owner));
    world.act(account, { kind: 'become', owner, master: world.master() });
    await world.untilListed(owner, account);
    await expect.poll(() => listed(owner), PATIENCE).toEqual([[account.address, expect.anything()]]);
    await world.untilProven(listOf(owner));
  });

  test('loses a wallet that gets another owner, whose list gains it', async () => {
    const [owner, next] = [world.spareAccount(), world.spareAccount()];
    await world.mint(owner);
    const wallet = world.walletOf(owner);
    await world.untilProven(listOf(owner));
    await world.untilProven(listOf(next));
    world.act(wallet, { kind: 'give', to: next });
    await world.untilListed(next, wallet);
    await expect.poll(() => listed(next), PATIENCE).toEqual([[wallet.address, '100']]);
    await expect.poll(() => listed(owner), PATIENCE).toEqual([]);
    await world.untilProven(listOf(owner));
    await world.untilProven(listOf(next));
  });

  test('loses a deleted wallet', async () => {
    const owner = world.spareAccount();
    await world.mint(owner);
    await world.untilProven(listOf(owner));
    world.act(world.walletOf(owner), { kind: 'delete' });
    await expect.poll(() => listed(owner), PATIENCE).toEqual([]);
    await world.untilProven(listOf(owner));
  });

  test('without zero balances is proven while a wallet in it is empty', async () => {
    const [owner, receiver] = [world.spareAccount(), world.spareAccount()];
    await world.mint(owner);
    const target = '&exclude_zero_balance=true';
    await world.untilProven(`${listOf(owner)}${target}`);
    world.act(world.walletOf(owner), { kind: 'send', from: owner, to: receiver, amount: 100 });
    await expect.poll(() => listed(owner, target), PATIENCE).toEqual([]);
    await world.untilProven(`${listOf(owner)}${target}`);
  });

  test('in a page that a new wallet does not fit into is not proven', async () => {
    const owner = world.spareAccount();
    await world.mint(owner);
    const page = `${listOf(owner)}&limit=1`;
    await world.untilProven(page);
    await world.mint(owner, 100, world.master(1));
    await expect.poll(() => world.detailOf(page), PATIENCE).not.toBe('proven');
    await world.untilProven(listOf(owner));
    expect(await world.detailOf(page)).not.toBe('proven');
  });
});

describe('a page of transfers', () => {
  test('shows a new transfer to the owner, and from the sender', async () => {
    const [sender, receiver] = [world.spareAccount(), world.spareAccount()];
    await world.mint(sender);
    const sent = `/api/v3/jetton/transfers?owner_address=${sender.address}&direction=out`;
    await world.untilProven(receivedBy(receiver));
    await world.untilProven(sent);
    world.act(world.walletOf(sender), { kind: 'send', from: sender, to: receiver, amount: 5 });
    for (const target of [receivedBy(receiver), sent]) {
      const rows = async () => JSON.parse((await world.proxy.ask(target)).text).jetton_transfers;
      await expect.poll(rows, PATIENCE).toEqual([expect.objectContaining({ amount: '5' })]);
      await world.untilProven(target);
    }
  });

  test('stays proven when an account that is no jetton wallet gets a transfer to the owner', async () => {
    const [owner, account] = [world.spareAccount(), world.spareAccount()];
    await world.untilProven(receivedBy(owner));
    const sent: string[] = [];
    world.indexer.requests.on('request', ({ target }) => sent.push(decodeURIComponent(target)));
    world.act(account, { kind: 'send', from: account, to: owner, amount: 5 });
    const page = `/api/v3/transactions?account=${account.address}&limit=1`;
    await expect.poll(async () => (await world.proxy.ask(page)).text, PATIENCE).toContain('0x0f8a7ea5');
    await world.untilProven(receivedBy(owner));
    expect(sent.filter((target) => target === receivedBy(owner)).length).toBeLessThanOrEqual(1);
  });

  test('has a cached form for the two words of a direction only', async () => {
    const target = `/api/v3/jetton/transfers?owner_address=${world.spareAccount().address}&direction=IN`;
    await world.untilProven(receivedBy(world.spareAccount()));
    const replies = [await world.proxy.reply(target), await world.proxy.reply(target)];
    expect(replies.map(({ status, cache }) => [status, cache['hit']])).toEqual([
      [200, undefined],
      [200, undefined],
    ]);
  });
});

test.each([
  ['accountStates', (account: Account) => `accountStates?address=${account.address}`],
  ['accountStates without code', (account: Account) => `accountStates?address=${account.address}&include_boc=false`],
  ['walletStates', (account: Account) => `walletStates?address=${account.address}`],
  ['jetton/wallets by address', (account: Account) => `jetton/wallets?address=${world.walletOf(account).address}`],
])('%s is proven', async (_, path) => {
  const owner = world.spareAccount();
  world.act(owner, { kind: 'unconfirmed' });
  await world.mint(owner);
  await world.untilProven(`/api/v3/${path(owner)}`);
});

test('a jetton master is proven', async () => {
  await world.untilProven(`/api/v3/jetton/masters?address=${world.master(1).address}`);
});

test('a state of an account that the indexer does not know is not proven', async () => {
  const target = `/api/v3/accountStates?address=0:${'9'.repeat(64)}`;
  await world.untilProven(listOf(world.spareAccount()));
  await world.proxy.reply(target);
  expect(await world.detailOf(target)).not.toBe('proven');
});

test('other answers stay proven while every look-up comes from a replica that lags', async () => {
  const owner = world.spareAccount();
  const state = `/api/v3/addressInformation?address=${owner.address}`;
  await world.untilProven(state);
  world.indexer.replicas[0].lagPart('jettons', 6000);
  try {
    await expect.poll(() => world.detailOf(listOf(owner)), PATIENCE).not.toBe('proven');
    await world.untilProven(state);
  } finally {
    world.indexer.replicas[0].lagPart('jettons', 0);
  }
});

// At the same time, because each waits for half a minute until its world proves answers.

test.concurrent('the list of an owner keeps a deleted wallet in 1.2, and is proven', async () => {
  await using older = await OwnersWorld.open('1.2');
  const owner = older.spareAccount();
  await older.mint(owner);
  await older.untilProven(listOf(owner));
  const wallet = older.walletOf(owner);
  const page = `/api/v3/transactions?account=${wallet.address}`;
  const transactions = async () => JSON.parse((await older.proxy.ask(page)).text).transactions.length;
  const before = await transactions();
  older.act(wallet, { kind: 'delete' });
  await expect.poll(transactions, PATIENCE).toBe(before + 1);
  await older.untilProven(listOf(owner));
  expect(JSON.parse((await older.proxy.ask(listOf(owner))).text).jetton_wallets).toHaveLength(1);
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
