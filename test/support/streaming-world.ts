import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import type { Trace } from '../../src/tools/simulator/trace.ts';
import { World, type WorldOptions } from '../e2e/world.ts';
import type { Reply } from './start-proxy.ts';

const PATIENCE = { timeout: 20_000, interval: 2 };

/** A world with a quiet chain whose first proxy is connected to the stream of the indexer. Only the test lets time pass. */
export async function streamingWorld(options: Partial<WorldOptions> = {}): Promise<World> {
  const world = await World.start({
    dialect: '1.3',
    tiers: 'memory alone',
    chain: { messagesPerBlock: 0, delayedShare: 0 },
    ...options,
    proxy: { streams: true, stopsTime: true, ...options.proxy },
  });
  await untilConnected(world);
  return world;
}

export async function untilConnected(world: World, connected = 1): Promise<void> {
  await vi.waitFor(async () => expect(await world.proxy.metric('toncache_stream_connected')).toBe(connected), PATIENCE);
}

/** Until the server is subscribed to these names, and the proxy knows it. */
export async function untilSubscribed(world: World, names: readonly string[]): Promise<void> {
  const { streaming } = world.indexer;
  await vi.waitFor(() => expect([...streaming.subscribed]).toEqual(expect.arrayContaining([...names])), PATIENCE);
  // Its answer to the subscription has left, and later answers come later on every connection.
  await world.proxy.ask('/no/such/path');
}

export function accountOf(world: World, place = 0): string {
  const wallet = world.indexer.chain.accounts.wallets[place];
  if (wallet === undefined) throw new Error('it has many');
  return wallet.address;
}

/** A wallet sends a message now. */
export function send(world: World, place = 0): Trace {
  const { chain } = world.indexer;
  const trace = chain.trace(chain.send(chain.accounts.wallets[place]));
  if (trace === undefined) throw new Error('it was sent');
  return trace;
}

export const byAccount = (account: string) => `/api/v3/pendingTraces?account=${account}`;
export const byHash = (hash: string) => `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(hash)}`;

/** The traces in a reply. */
export function tracesIn({ text }: Reply): readonly string[] {
  const { traces } = JSON.parse(text) as { traces: readonly { trace_id: string }[] | null };
  return (traces ?? []).map(({ trace_id: id }) => id);
}

/** Until this many events have come, and their effects and refreshes have ended. */
export async function untilEvents(world: World, count: number): Promise<void> {
  const events = () => world.proxy.metric('toncache_stream_events_total');
  await vi.waitFor(async () => expect(await events()).toBe(count), PATIENCE);
  // Events wait for others of the same change.
  await sleep(50);
}

/** Polls an account until its answer was requested after the acknowledgement. */
export async function watch(world: World, account: string): Promise<void> {
  await world.ask(byAccount(account));
  await world.ask(byAccount(account));
  await untilSubscribed(world, [account]);
  world.advance(300);
  await world.ask(byAccount(account));
}

/** Sends requests until the reply contains these traces, while time stands still: an event brought them. */
export async function untilListed(world: World, target: string, traces: readonly string[]): Promise<void> {
  await vi.waitFor(async () => expect(tracesIn(await world.ask(target))).toEqual(traces), PATIENCE);
}
