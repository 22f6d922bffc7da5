import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Trace } from '../../src/simulator/trace.ts';
import { type Reply, World, type WorldOptions } from './world.ts';

const QUIET = { messagesPerBlock: 0, lateShare: 0 };

const worlds: World[] = [];

afterEach(async () => {
  for (const world of worlds.splice(0)) await world[Symbol.asyncDispose]();
});

/** A world whose proxy is connected to the stream of its indexer. */
async function streaming(options: Partial<WorldOptions> = {}): Promise<World> {
  const world = await World.start({
    dialect: '1.3',
    tiers: 'memory alone',
    chain: QUIET,
    ...options,
    proxy: { ...options.proxy, streams: true },
  });
  worlds.push(world);
  await untilConnected(world);
  return world;
}

async function untilConnected(world: World): Promise<void> {
  await vi.waitFor(async () => expect(await world.proxy.metric('toncache_stream_connected')).toBe(1), {
    timeout: 20_000,
    interval: 2,
  });
}

/** Until the server is subscribed to these names, which the proxy knows by the time of the next request. */
async function untilSubscribed(world: World, names: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect([...world.indexer.streaming.subscribed]).toEqual(expect.arrayContaining([...names])), {
    timeout: 20_000,
    interval: 2,
  });
  await world.ask('/no/such/path');
}

function accountOf(world: World, place = 0): string {
  const wallet = world.indexer.chain.accounts.wallets[place];
  if (wallet === undefined) throw new Error('it has many');
  return wallet.address;
}

function send(world: World, place = 0): Trace {
  const { chain } = world.indexer;
  const trace = chain.trace(chain.send(chain.accounts.wallets[place]));
  if (trace === undefined) throw new Error('it was sent');
  return trace;
}

const byAccount = (account: string) => `/api/v3/pendingTraces?account=${account}`;

function tracesOf({ text }: Reply): readonly string[] {
  const { traces } = JSON.parse(text) as { traces: readonly { trace_id: string }[] | null };
  return (traces ?? []).map(({ trace_id: id }) => id);
}

/** Polls until the key is watched and its answer was asked for after the acknowledgement. */
async function watch(world: World, account: string): Promise<void> {
  await world.ask(byAccount(account));
  await world.ask(byAccount(account));
  await untilSubscribed(world, [account]);
  world.advance(300);
  await world.ask(byAccount(account));
}

describe('a polled account without traces', () => {
  test('is asked for every 2 s instead of every 250 ms', async () => {
    const world = await streaming();
    const account = accountOf(world);
    await watch(world, account);
    const before = world.forwarded.length;
    for (let time = 0; time < 19; time++) {
      world.advance(100);
      expect((await world.ask(byAccount(account))).cache).toMatchObject({ hit: true });
    }
    expect(world.forwarded.length).toBe(before);
    world.advance(100);
    await world.ask(byAccount(account));
    expect(world.forwarded.length).toBe(before + 1);
  });

  test('shows a trace as soon as the event came, long before its lifetime ends', async () => {
    const world = await streaming();
    const account = accountOf(world);
    await watch(world, account);
    const trace = send(world);
    world.advanceTo(trace.emulatedAt);
    await vi.waitFor(async () => expect(tracesOf(await world.ask(byAccount(account)))).toEqual([trace.id]), {
      timeout: 20_000,
      interval: 2,
    });
    expect(world.now).toBe(trace.emulatedAt);
  });
});
