import { afterEach, describe, expect, it } from 'vitest';
import { type Fault, failed } from '../../src/tools/simulator/faults.ts';
import { headAt } from '../support/json-upstream.ts';
import { childrenOfSettled, someHash, targetOf } from './questions.ts';
import { ANY_WORLD, WORLDS, World } from './world.ts';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 3_600_000;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

/** The lifetime by the table, without jitter, of an answer with children that are `ageMs` old. */
function lifetimeAt(ageMs: number): number {
  return Math.min(Math.max(Math.floor(ageMs / 10), SHORTEST_MS), LONGEST_MS);
}

function headOf(instant: number): Fault {
  const { status, body } = headAt(instant);
  return { kind: 'answer', status, body: JSON.stringify(body) };
}

describe.each(WORLDS)('children, in front of indexer $dialect, $tiers', (kind) => {
  it('are requested from the indexer less and less often', async () => {
    world = await World.start(kind);
    const target = childrenOfSettled(world);
    const { text, cache } = await world.ask(target);
    expect(cache).toMatchObject({ stored: true });
    const newest: number = Math.max(...JSON.parse(text).transactions.map(({ now }: { now: number }) => now));
    const lifetime = lifetimeAt(Math.floor(world.now / 1000) * 1000 - newest * 1000);
    await world.leap(lifetime - 1);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, ttl: 0 });
    const gate = world.indexer.hold();
    await world.leap(lifetime);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, ttl: Math.floor((1 - lifetime) / 1000) });
    await gate.arrived(1);
    gate.release();
    await world.untilFresh(target);
    expect(world.forwarded).toHaveLength(2);
  });
});

describe('the lifetime of children', () => {
  const second = 1_000;
  const minute = 60 * second;
  const hour = 60 * minute;

  function bodyWith(...rows: object[]): string {
    return JSON.stringify({ address_book: {}, transactions: rows });
  }

  function row(ageMs: number, more: object = {}): object {
    const now = Math.floor((world.now - ageMs) / 1000);
    return { hash: 'x', now, mc_block_seqno: 7, emulated: false, ...more };
  }

  async function answered(body: string, date?: string): Promise<string> {
    const headers = date === undefined ? {} : { Date: date };
    const operation = 'adjacentTransactions';
    // Ages count once the head of the chain is known.
    await world.ask(childrenOfSettled(world));
    await world.untilHeadKnown();
    world.indexer.faults.inject({ kind: 'answer', status: 200, body, headers }, { operation, times: 1 });
    const target = targetOf(operation, { hash: someHash(), direction: 'out' });
    expect(await world.ask(target)).toMatchObject({ status: 200, cache: { fwd: 'miss', stored: true } });
    return target;
  }

  it.each([
    [0, 1 * second],
    [-1 * hour, 1 * second],
    [9 * second, 1 * second],
    [25 * second, 2.5 * second],
    [10 * minute, 1 * minute],
    [5 * hour, 30 * minute],
    [10 * hour, 1 * hour],
    [5000 * hour, 1 * hour],
  ])('whose newest is %i ms old is %i ms', async (ageMs, lifetimeMs) => {
    world = await World.start(ANY_WORLD);
    const target = await answered(bodyWith(row(100_000 * hour), row(ageMs), row(90_000 * hour)));
    await world.leap(lifetimeMs - 1);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, ttl: 0 });
    await world.leap(1);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, ttl: -1 });
    await world.leap(1);
    expect((await world.untilFresh(target)).cache).toMatchObject({ hit: true });
  });

  it('is based on their age at the chain time of the indexer, however far that is behind', async () => {
    world = await World.start(ANY_WORLD);
    await world.leap(hour);
    const target = await answered(bodyWith(row(hour + 100 * second)));
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, ttl: 10 });
  });

  it.each([
    ['a day ahead', 24 * hour],
    ['a day behind', -24 * hour],
  ])("does not depend on the clock of the indexer's machine: %s", async (_, skewMs) => {
    world = await World.start(ANY_WORLD);
    const young = await answered(bodyWith(row(2 * second)), new Date(world.now + skewMs).toUTCString());
    expect((await world.ask(young)).cache).toMatchObject({ hit: true, ttl: 1 });
    const old = await answered(bodyWith(row(100 * second)), new Date(world.now + skewMs).toUTCString());
    expect((await world.ask(old)).cache).toMatchObject({ hit: true, ttl: 10 });
  });

  it('is bounded by our own clock, even if the head of the chain is ahead of it', async () => {
    world = await World.start(ANY_WORLD);
    world.indexer.faults.inject(headOf(world.now + 30 * minute), { operation: 'masterchainInfo' });
    const target = await answered(bodyWith(row(100 * second)));
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, ttl: 10 });
  });

  it('ignores a head of the chain that is a day ahead of our clock', async () => {
    world = await World.start(ANY_WORLD);
    await world.leap(hour);
    world.indexer.faults.inject(headOf(world.now + 24 * hour), { operation: 'masterchainInfo' });
    const target = await answered(bodyWith(row(hour + 100 * second)));
    expect((await world.ask(target)).cache['ttl']).toBeLessThanOrEqual(10);
  });

  it.each([
    [0, 1 * second],
    [100 * second, 10 * second],
  ])('is at most doubled by the stale window: %i ms old, a lifetime of %i ms', async (ageMs, lifetimeMs) => {
    world = await World.start(ANY_WORLD);
    const target = await answered(bodyWith(row(ageMs)));
    world.indexer.faults.inject(failed(500));
    await world.leap(2 * lifetimeMs - 1);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, ttl: -lifetimeMs / second });
    await world.leap(1);
    expect((await world.ask(target)).cache).toMatchObject({ fwd: 'stale', ttl: -lifetimeMs / second });
  });

  it('is extended by stale windows of at most 30 s during a refresh, and 10 min if it fails', async () => {
    world = await World.start(ANY_WORLD);
    const target = await answered(bodyWith(row(10 * hour)));
    world.indexer.faults.inject({ kind: 'reset' });
    await world.leap(1 * hour + 30 * second - 1);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true, ttl: -30 });
    await world.leap(1);
    expect((await world.ask(target)).cache).toMatchObject({ fwd: 'stale', ttl: -30 });
    await world.leap(9.5 * minute - 1);
    expect((await world.ask(target)).status).toBe(200);
    await world.leap(1);
    expect((await world.ask(target)).status).toBe(502);
  });

  it('is that of a live answer when one of them is pending', async () => {
    world = await World.start(ANY_WORLD);
    const target = await answered(bodyWith(row(5 * hour), row(5 * hour, { finality: 'pending' })));
    expect((await world.ask(target)).headers['cache-control']).toBe('no-store');
    await world.leap(399);
    expect((await world.ask(target)).cache).toMatchObject({ hit: true });
    world.indexer.faults.inject({ kind: 'reset' });
    await world.leap(1);
    expect((await world.ask(target)).cache).toMatchObject({ fwd: 'stale' });
    await world.leap(1999);
    expect((await world.ask(target)).status).toBe(200);
    await world.leap(1);
    expect((await world.ask(target)).status).toBe(502);
  });
});
