import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someHash, targetOf } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

// Other refused values are in the table of inputs.

const HEX = 'ab'.repeat(32);
const ACCOUNT = `account=0:${HEX}`;
/** As many of the shortest spelling as a head of 16 KiB can hold. */
const MOST_OF_A_HEAD = Array.from({ length: 368 }, () => Buffer.from(someHash(), 'base64').toString('base64url'));

let world: World;

beforeAll(async () => {
  world = await World.start(ANY_WORLD);
});
afterAll(() => world[Symbol.asyncDispose]());

describe('a request that cannot be valid', () => {
  it.each([
    ['masterchainBlockShards?seqno=x&limit=0&offset=-1', ['seqno', 'limit', 'offset']],
    ['masterchainBlockShards?seqno=1&SEQNO[]=2', ['seqno']],
    [`pendingTraces?${`${ACCOUNT}&`.repeat(101)}`, ['account']],
    [`pendingTraces?ext_msg_hash=${','.repeat(1000)}`, ['ext_msg_hash']],
    [`pendingTraces?${ACCOUNT}&supported_action_types=a%0Ab`, ['supported_action_types']],
  ])('gets 422 with the names of all wrong parameters, and is not sent: %s', async (target, names) => {
    const { status, text } = await world.ask(`/api/v3/${target}`);
    expect(status).toBe(422);
    for (const name of names) expect(text).toMatch(new RegExp(`\\b${name}\\b`));
    expect(world.forwarded).toEqual([]);
  });
});

describe('a value at the limit', () => {
  it.each([
    'masterchainBlockShards?seqno=1&limit=1000&offset=2147483647',
    `pendingTraces?account=127:${HEX}`,
    `pendingTraces?account=-128:${HEX}`,
    `pendingTraces?ext_msg_hash=${MOST_OF_A_HEAD.join(',')}`,
  ])('reaches the indexer: %s', async (target) => {
    const before = world.forwarded.length;
    expect([200, 404]).toContain((await world.ask(`/api/v3/${target}`)).status);
    expect(world.forwarded).toHaveLength(before + 1);
  });

  it.each(['latest', 'v1', 'v99', 'V1', 'nft.v3', 'multisig_approve', 'a&b=c %'])(
    'reaches the indexer: X-Actions-Version: %s',
    async (version) => {
      const target = targetOf('pendingTraces', { ext_msg_hash: someHash() });
      expect((await world.ask(target, { headers: { 'X-Actions-Version': version } })).status).toBe(200);
      expect(world.forwarded.at(-1)).toMatchObject({ target, headers: { 'x-actions-version': version } });
    },
  );

  it.each(['v1,v2', '', ' v2'])('reaches the indexer unchanged: supported_action_types=%j', async (word) => {
    const target = targetOf('pendingTraces', { ext_msg_hash: someHash(), supported_action_types: word });
    expect((await world.ask(target)).status).toBe(200);
    expect(world.forwarded.at(-1)?.target).toBe(target);
    expect(world.forwarded.at(-1)?.headers).not.toHaveProperty('x-actions-version');
  });
});
