import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { someNetwork } from '../support/some-network.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { FollowedWorld, HANGS, PATIENCE, pageOf, stateOf } from './followed-world.ts';
import { purged, untilFollowed } from './purge-world.ts';

// Real clocks, as in block-proof.test.ts.

let world: FollowedWorld;
let other: RunningProxy;

beforeAll(async () => {
  const operations = 'transactions,addressInformation,walletInformation';
  const env = { CACHE_OPERATIONS: operations, REDIS_URL: inject('redisUrl'), NETWORK: someNetwork() };
  world = await FollowedWorld.open(env, 'alive', 1);
  other = world.proxies[1] as RunningProxy;
}, 3 * PATIENCE.timeout);

afterAll(() => world[Symbol.asyncDispose]());

test.each([
  ['the state of an account', stateOf],
  ['the page of its transactions', pageOf],
])('%s that one instance has loaded is proven by another one, without a request', async (_, targetOf) => {
  const firstAtOther = async () => {
    const target = targetOf(world.spareAccount());
    await world.untilProven(target);
    const before = world.sentFor(target);
    const { cache, headers } = await other.reply(target);
    return { cache, control: headers['cache-control'], sent: world.sentFor(target) - before };
  };
  // On a busy machine its follower may be behind for a moment.
  const proven = { cache: { hit: true, detail: 'proven' }, control: 'no-store', sent: 0 };
  await expect.poll(firstAtOther, PATIENCE).toEqual(proven);
  expect(await other.metric('toncache_requests_total', { outcome: 'hit-proven' })).toBeGreaterThan(0);
});

test('an answer that lacks a transaction is not served by an instance that has read its block', async () => {
  const account = world.spareAccount();
  const target = stateOf(account);
  await world.untilProven(target);
  const ltAt = async (proxy: RunningProxy) => BigInt(JSON.parse((await proxy.ask(target)).text).last_transaction_lt);
  const before = await ltAt(world.proxy);
  world.indexer.chain.deposit(account, Date.now() + 2000);
  await expect.poll(() => ltAt(world.proxy), PATIENCE).toBeGreaterThan(before);
  await world.untilProven(target, other);
  expect(await ltAt(other)).toBeGreaterThan(before);
});

test('an answer that was purged is not proven by another instance', async () => {
  const target = stateOf(world.spareAccount());
  await world.untilProven(target);
  const before = world.sentFor(target);
  await purged(world.proxy, { account: target.split('=')[1] ?? '' });
  await untilFollowed(other);
  await world.untilProven(target, other);
  expect(world.sentFor(target)).toBeGreaterThan(before);
});

test('an instance that cannot read the blocks proves nothing that it takes from Redis', async () => {
  const target = stateOf(world.spareAccount());
  await world.untilProven(target);
  world.indexer.faults.inject(HANGS, { operation: 'masterchainInfo' });
  await expect.poll(() => world.followerIs('behind', other), PATIENCE).toBe(1);
  expect(await world.detailOf(target, other)).not.toBe('proven');
  world.indexer.faults.clear();
});
