import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import { TIME_METHOD } from '../../src/tools/simulator/get-methods.ts';
import { writeAddressCell } from '../../src/tools/simulator/transfer-body.ts';
import { PATIENCE } from './followed-world.ts';
import { OwnersWorld } from './owners-world.ts';
import { asking, RUN } from './run-get-method.ts';

// Real clocks, because the follower uses them.

const PROVEN_METHODS = `get_wallet_address,get_wallet_data,${TIME_METHOD}`;
const SETTINGS = { CACHE_OPERATIONS: 'all', PASSTHROUGH: 'on', PROVEN_METHODS };

let world: OwnersWorld;

beforeAll(async () => {
  world = await OwnersWorld.open('1.3', SETTINGS, { holdsSteady: true });
});

afterAll(() => world[Symbol.asyncDispose]());

const steadyMaster = (): Account => world.indexer.chain.jettons.steady?.master as Account;

const detailOf = async (asked: ReturnType<typeof asking>) => (await world.proxy.reply(RUN, asked)).cache['detail'];
const untilProven = (asked: ReturnType<typeof asking>) => expect.poll(() => detailOf(asked), PATIENCE).toBe('proven');

it('a quiet wallet proves its data until it has a transaction', async () => {
  const owner = world.spareAccount();
  const wallet = world.walletOf(owner, steadyMaster());
  const asked = asking(wallet, 'get_wallet_data');
  await untilProven(asked);
  const { headers, text } = await world.proxy.reply(RUN, asked);
  expect(headers).toMatchObject({ 'cache-control': 'no-store', age: expect.any(String) });
  expect(headers).not.toHaveProperty('etag');
  world.act(wallet, { kind: 'send', from: owner, to: world.spareAccount(), amount: 1 });
  await expect.poll(async () => (await world.proxy.reply(RUN, asked)).text, PATIENCE).not.toBe(text);
  expect(await detailOf(asked)).not.toBe('proven');
});

it('a master that runs in each block proves the addresses of wallets', async () => {
  const stack = [{ type: 'slice', value: writeAddressCell(world.spareAccount()) }];
  const asked = asking(steadyMaster(), 'get_wallet_address', stack);
  const { length } = world.indexer.chain.executed(steadyMaster().address);
  await untilProven(asked);
  expect(world.indexer.chain.executed(steadyMaster().address).length).toBeGreaterThan(length);
  world.act(steadyMaster(), { kind: 'mint', to: world.spareAccount(), amount: 1 });
  await expect.poll(() => detailOf(asked), PATIENCE).not.toBe('proven');
});

it('`explain` says why a method that reads the time is not proven, by the body of the request', async () => {
  const asked = asking(world.walletOf(world.spareAccount(), steadyMaster()), TIME_METHOD);
  const explained = async () => {
    const query = new URLSearchParams({ target: RUN, body: asked.body });
    return (await world.proxy.askAdmin(`/explain?${query}`, { headers: { Accept: 'text/plain' } })).text;
  };
  expect(await explained()).toMatch(/proof +none: no response is stored/);
  await detailOf(asked);
  expect(await explained()).toMatch(
    /proof +none: no earlier response since the last transaction of the account was the same/,
  );
  const poll = async () => {
    await detailOf(asked);
    return explained();
  };
  await expect.poll(poll, PATIENCE).toMatch(/proof +none: this get-method gave different responses/);
  expect(await explained()).toContain(asked.body);
});

it('a method that is not listed, and one of a contract without code, are not proven', async () => {
  const wallet = world.walletOf(world.spareAccount(), steadyMaster());
  const unlisted = asking(wallet, 'get_available_balance');
  const unknown = asking(world.spareAccount(), 'get_wallet_data');
  await untilProven(asking(world.walletOf(world.spareAccount(), steadyMaster()), 'get_wallet_data'));
  for (const asked of [unlisted, unknown]) {
    await detailOf(asked);
    expect(await detailOf(asked)).not.toBe('proven');
  }
});
