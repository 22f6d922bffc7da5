import { setTimeout as after } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { entryKeysOf } from '../../src/cache/redis-keys.ts';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import { TIME_METHOD, TIME_STEP_MS } from '../../src/tools/simulator/get-methods.ts';
import { someNetwork } from '../support/some-network.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { FollowedWorld, PATIENCE } from './followed-world.ts';
import { asking, RUN } from './run-get-method.ts';

// Real clocks, as in block-proof.test.ts.

/** Two equal results prove something if their requests are further apart than this. */
const APART_MS = 3000;
const NEVER = Number.POSITIVE_INFINITY;
const NETWORK = someNetwork();

let world: FollowedWorld;
let redis: Redis;
let one: RunningProxy;
let other: RunningProxy;
/** Proves nothing. */
let unproven: RunningProxy;

beforeAll(async () => {
  const env = {
    CACHE_OPERATIONS: 'addressInformation,runGetMethod',
    PROVEN_METHODS: `get_wallet_data,${TIME_METHOD}`,
    REDIS_URL: inject('redisUrl'),
    NETWORK,
  };
  redis = new Redis(env.REDIS_URL);
  world = await FollowedWorld.open(env, 'alive', 1, {
    holdersCount: 200,
    transferEveryMs: NEVER,
    mintEveryMs: NEVER,
  });
  [one, other] = world.proxies as [RunningProxy, RunningProxy];
  unproven = await world.join({ PROOF_MAX_AGE: '0s' });
}, 3 * PATIENCE.timeout);

afterAll(async () => {
  redis.disconnect();
  await world[Symbol.asyncDispose]();
});

const steadyMaster = () => world.indexer.chain.jettons.steady?.master as Account;
const walletOf = (owner: Account) => world.indexer.chain.jettons.walletOf(owner, steadyMaster());
const dataOf = (owner: Account) => asking(walletOf(owner), 'get_wallet_data');
const poll = (proxy: RunningProxy, asked: ReturnType<typeof asking>) => proxy.reply(RUN, asked);
const untilProven = (proxy: RunningProxy, asked: ReturnType<typeof asking>) =>
  expect.poll(async () => (await poll(proxy, asked)).cache['detail'], PATIENCE).toBe('proven');
const sentFor = ({ body }: ReturnType<typeof asking>) =>
  world.indexer.requests.recent.filter((request) => request.body.toString() === body).length;

const explainOf = ({ body }: ReturnType<typeof asking>) => `/explain?${new URLSearchParams({ target: RUN, body })}`;
const explained = async (proxy: RunningProxy, asked: ReturnType<typeof asking>) =>
  (await proxy.askAdmin(explainOf(asked), { headers: { Accept: 'text/plain' } })).text;
const redisKeyOf = async (asked: ReturnType<typeof asking>) =>
  entryKeysOf(NETWORK)(JSON.parse((await one.askAdmin(explainOf(asked))).text).key);

test.each([
  ['a result that two instances have loaded is proven by a third poll at the first', 'one, other, one'],
  ['a result that two instances have loaded is proven by a third poll at the second', 'one, other, other'],
  ['a result that one instance has loaded twice is proven by the first poll at another', 'one, one, other'],
])('%s', async (_, turns) => {
  const proxies = turns.split(', ').map((name) => (name === 'one' ? one : other));
  const [first, second, third] = proxies as [RunningProxy, RunningProxy, RunningProxy];
  const thirdPoll = async () => {
    const asked = dataOf(world.spareAccount());
    await poll(first, asked);
    await after(APART_MS);
    await poll(second, asked);
    const { cache, headers } = await poll(third, asked);
    return { cache, control: headers['cache-control'], sent: sentFor(asked) };
  };
  // On a busy machine a follower may be behind for a moment.
  const proven = { cache: { hit: true, detail: 'proven' }, control: 'no-store', sent: 2 };
  await expect.poll(thirdPoll, PATIENCE).toEqual(proven);
});

test('a transaction that an instance has read ends the proof, although Redis has an older copy', async () => {
  const owner = world.spareAccount();
  const asked = dataOf(owner);
  await untilProven(one, asked);
  await untilProven(other, asked);
  const { text } = await poll(other, asked);
  const key = await redisKeyOf(asked);
  const older = (await redis.getBuffer(key)) as Buffer;
  const { chain } = world.indexer;
  const seqno = chain.headSeqno + 2;
  const act = { kind: 'send', from: owner, to: world.spareAccount(), amount: 1 } as const;
  chain.act(walletOf(owner), act, chain.clock.committedAt(seqno));
  for (const proxy of [one, other]) {
    await expect.poll(() => proxy.metric('toncache_block_follower_seqno'), PATIENCE).toBeGreaterThanOrEqual(seqno);
    await redis.set(key, older);
    expect((await poll(proxy, asked)).text).not.toBe(text);
  }
});

test('a different result that another instance has loaded refutes the own one', async () => {
  const refuted = async () => {
    const asked = asking(walletOf(world.spareAccount()), TIME_METHOD);
    await poll(one, asked);
    await after(TIME_STEP_MS);
    await poll(other, asked);
    const atOther = await explained(other, asked);
    await poll(one, asked);
    return [atOther, await explained(one, asked)];
  };
  const why = expect.stringMatching(/proof +none: this get-method gave different responses/);
  // On a busy machine a follower may be behind for a moment.
  await expect.poll(refuted, PATIENCE).toEqual([why, why]);
});

test('with PROOF_MAX_AGE=0s an instance proves nothing that it takes from Redis', async () => {
  const asked = dataOf(world.spareAccount());
  await untilProven(one, asked);
  await untilProven(other, asked);
  const before = sentFor(asked);
  for (let polls = 0; polls < 2; polls++) expect((await poll(unproven, asked)).cache['detail']).not.toBe('proven');
  expect(sentFor(asked)).toBe(before + 2);
});
