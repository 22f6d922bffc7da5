import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OperationName } from '../../src/ton/operation-names.ts';
import { failed } from '../../src/tools/simulator/faults.ts';
import { someNetwork } from '../support/some-network.ts';
import {
  finalizedTrace,
  futureBlock,
  nothingPending,
  parentOfSettled,
  pendingTrace,
  settledParent,
  targetOf,
  unknownTransaction,
} from './questions.ts';
import { WORLDS, World, type WorldKind } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A row of the table of lifetimes, in milliseconds. */
interface Row {
  readonly name: string;
  readonly target: (world: World) => string;
  readonly status?: number;
  readonly lifetime: number;
  readonly whileRevalidating: number;
  readonly ifError: number;
  readonly only?: (kind: WorldKind) => boolean;
}

const hasBlocks = ({ dialect }: WorldKind) => dialect !== 'spec';
const hasNoBlocks = (kind: WorldKind) => !hasBlocks(kind);

/** Head polls pass the gate. */
const operationOf = (asked: string) => /^\/api\/v3\/([^?]+)/.exec(asked)?.[1] as OperationName;

function page(values: { limit?: number; offset?: number }) {
  return (world: World) => targetOf('masterchainBlockShards', { seqno: settledParent(world).seqno, ...values });
}

const FINAL = { lifetime: 24 * HOUR, whileRevalidating: 10 * MINUTE, ifError: 24 * HOUR };
const FINAL_PAGE = { lifetime: 10 * MINUTE, whileRevalidating: 10 * MINUTE, ifError: HOUR };

const ROWS: readonly Row[] = [
  // Not the newest one, which toncache requests by itself after a head poll.
  { name: 'a masterchain block', target: page({}), ...FINAL, only: hasBlocks },
  {
    name: 'a masterchain block with room in its page',
    target: page({ limit: 1000, offset: 0 }),
    ...FINAL,
    only: hasBlocks,
  },
  { name: 'the transactions of a masterchain block', target: page({}), ...FINAL_PAGE, only: hasNoBlocks },
  { name: 'a page of these transactions', target: page({ limit: 1, offset: 1 }), ...FINAL_PAGE, only: hasNoBlocks },
  { name: 'a full page of a masterchain block', target: page({ limit: 1 }), ...FINAL_PAGE, only: hasBlocks },
  { name: 'a later page of a masterchain block', target: page({ offset: 1 }), ...FINAL_PAGE, only: hasBlocks },
  { name: 'the parent', target: parentOfSettled, lifetime: HOUR, whileRevalidating: 10 * MINUTE, ifError: 24 * HOUR },
  { name: 'a pending trace', target: pendingTrace, lifetime: 400, whileRevalidating: 400, ifError: 2 * SECOND },
  { name: 'a trace that is all final', target: finalizedTrace, lifetime: 1000, whileRevalidating: 1000, ifError: 2000 },
  { name: 'an empty list of pending traces', target: nothingPending, lifetime: 250, whileRevalidating: 0, ifError: 0 },
  {
    name: 'no such masterchain block',
    target: futureBlock,
    status: 404,
    lifetime: 300,
    whileRevalidating: 0,
    ifError: 0,
  },
  { name: 'no adjacent', target: unknownTransaction, status: 404, lifetime: 300, whileRevalidating: 0, ifError: 0 },
];

describe.each(WORLDS)('lifetimes in front of indexer $dialect, $tiers', (kind) => {
  let world: World;

  beforeAll(async () => {
    world = await World.start(kind);
  });
  afterAll(() => world[Symbol.asyncDispose]());
  // Longer than any answer is of any use.
  beforeEach(async () => {
    world.indexer.faults.clear();
    await world.leap(100 * HOUR);
    world.indexer.requests.reset();
  });

  const rows = ROWS.filter(({ only }) => only === undefined || only(kind));

  it.each(rows)('$name: fresh for its lifetime, and no longer', async ({ target, status = 200, ...times }) => {
    const asked = target(world);
    const first = await world.ask(asked);
    expect(first).toMatchObject({ status, cache: { fwd: 'miss', stored: true } });
    await world.leap(times.lifetime - 1);
    expect(await world.ask(asked)).toMatchObject({ digest: first.digest, cache: { hit: true, ttl: 0 } });
    expect(world.forwardedFor(asked)).toHaveLength(1);
    await world.leap(1);
    const { cache } = await world.ask(asked);
    if (times.whileRevalidating > 0) expect(cache).toMatchObject({ hit: true });
    else expect(cache).toMatchObject({ fwd: expect.any(String), stored: true });
  });

  it.each(rows.filter(({ whileRevalidating }) => whileRevalidating > 0))(
    '$name: served stale while one request refreshes it',
    async ({ target, lifetime, whileRevalidating }) => {
      const asked = target(world);
      const { digest } = await world.ask(asked);
      const gate = world.indexer.hold(operationOf(asked));
      try {
        await world.leap(lifetime + whileRevalidating - 1);
        for (let client = 0; client < 5; client++) {
          const stale = await world.ask(asked);
          expect(stale).toMatchObject({ status: 200, digest, cache: { hit: true } });
          expect(stale.cache['ttl']).toBeLessThan(0);
        }
        await expect.poll(() => world.forwardedFor(asked).length).toBe(2);
      } finally {
        gate.release();
      }
      expect((await world.untilFresh(asked)).cache).toMatchObject({ hit: true });
      expect(world.forwardedFor(asked)).toHaveLength(2);
    },
  );

  it.each(rows)(
    '$name: not served stale for longer than its window',
    async ({ target, lifetime, whileRevalidating }) => {
      const asked = target(world);
      await world.ask(asked);
      await world.leap(lifetime + whileRevalidating);
      expect((await world.ask(asked)).cache).toMatchObject({ fwd: expect.any(String), stored: true });
      expect(world.forwardedFor(asked)).toHaveLength(2);
    },
  );

  it.each(rows.filter(({ ifError }) => ifError > 0))(
    '$name: served in place of a failure for its window, and no longer',
    async ({ target, lifetime, ifError }) => {
      const asked = target(world);
      const { digest } = await world.ask(asked);
      world.indexer.faults.inject(failed(500));
      await world.leap(lifetime + ifError - 1);
      const served = await world.ask(asked);
      expect(served).toMatchObject({ status: 200, digest, cache: { fwd: 'stale', 'fwd-status': 500 } });
      expect(served.cache['ttl']).toBe(Math.floor((1 - ifError) / 1000));
      await world.leap(1);
      expect(await world.ask(asked)).toMatchObject({ status: 500, headers: { 'cache-control': 'no-store' } });
    },
  );

  it.each(rows.filter(({ ifError }) => ifError === 0))(
    '$name: never served in place of a failure',
    async ({ target, lifetime }) => {
      const asked = target(world);
      await world.ask(asked);
      world.indexer.faults.inject(failed(500));
      await world.leap(lifetime);
      expect((await world.ask(asked)).status).toBe(500);
    },
  );

  it('of 10 s and more are shortened by up to a tenth', async () => {
    await using proxy = await world.addProxy({ random: () => 0.999999, env: { NETWORK: someNetwork() } });
    const [absent, parent] = [unknownTransaction(), parentOfSettled(world)];
    for (const target of [absent, parent]) await world.ask(target, {}, proxy);
    const ttl = async (target: string) => (await world.ask(target, {}, proxy)).cache['ttl'];
    await world.leap(299);
    expect(await ttl(absent)).toBe(0);
    await world.leap(0.9 * HOUR - SECOND - 299);
    expect(await ttl(parent)).toBe(1);
    await world.leap(2 * SECOND);
    expect(await ttl(parent)).toBe(-1);
  });
});
