import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FollowedWorld, HANGS, PATIENCE, stateOf } from './followed-world.ts';

// With real clocks, because the follower has them: expected events are polled for.

let world: FollowedWorld;

beforeAll(async () => {
  world = await FollowedWorld.open();
}, 2 * PATIENCE.timeout);

afterEach(() => world.indexer.faults.clear());

afterAll(() => world[Symbol.asyncDispose]());

describe('once a page has shown a transaction of a block that the follower cannot read', () => {
  test.each([
    ['no kept answer lacks it', undefined],
    // The answers on the way were made before the block.
    ['no answer lacks it that was on its way to another client', { kind: 'slow', chunkBytes: 40, pauseMs: 100 }],
  ] as const)('%s', async (_, slow) => {
    const { chain, faults } = world.indexer;
    const accounts = Array.from({ length: 20 }, (_, n) => world.accountAt(20 + n));
    for (const account of accounts) await world.untilProven(stateOf(account));
    for (const operation of ['masterchainInfo', 'masterchainBlockShards'] as const) faults.inject(HANGS, { operation });
    await expect.poll(() => world.followerIs('behind'), PATIENCE).toBe(1);
    if (slow !== undefined) faults.inject(slow, { operation: 'addressInformation' });
    const seqno = chain.headSeqno + 8;
    for (const account of accounts) chain.deposit(account, chain.clock.committedAt(seqno));
    const page = `/api/v3/transactionsByMasterchainBlock?seqno=${seqno}&limit=500`;
    const rowsOf = async (): Promise<readonly { readonly account: string; readonly lt: string }[]> =>
      JSON.parse((await world.proxy.ask(page)).text).transactions ?? [];
    let rows: Awaited<ReturnType<typeof rowsOf>> = [];
    await expect
      .poll(
        async () => {
          rows = await rowsOf();
          return rows.length;
        },
        { ...PATIENCE, interval: 10 },
      )
      .toBeGreaterThan(0);
    const shown = await Promise.all(
      accounts.map(async (account) => {
        const lt = rows.find((row) => row.account === account.address)?.lt ?? 'not in the page';
        const { text } = await world.proxy.ask(stateOf(account));
        return BigInt(JSON.parse(text).last_transaction_lt) >= BigInt(lt);
      }),
    );
    expect(shown).toEqual(accounts.map(() => true));
  });
});
