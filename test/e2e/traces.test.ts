import { afterEach, expect, it } from 'vitest';
import type { Trace } from '../../src/tools/simulator/trace.ts';
import { settledTrace, someHash, targetOf } from './questions.ts';
import { World } from './world.ts';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

async function start(dialect: '1.2' | '1.3' = '1.3', classifierDelayMs = 0) {
  const proxy = { env: { CACHE_OPERATIONS: 'traces,transactions,transactionsByMessage' } };
  world = await World.start({ dialect, tiers: 'memory and Redis', proxy, chain: { classifierDelayMs } });
}

/** A trace that ends when the time has gone on. */
function sendTrace(): Trace & { readonly endsAt: number } {
  for (;;) {
    const trace = world.indexer.chain.trace(world.indexer.chain.send());
    if (trace === undefined) throw new Error('not sent');
    const endsAt = Math.max(...trace.transactions.map(({ finalizedAt }) => finalizedAt));
    if (trace.transactions.length > 1) return { ...trace, endsAt };
  }
}

/** The traces that an answer lists. */
const tracesOf = ({ text }: { text: string }) => JSON.parse(text).traces as readonly object[];

const kept = ({ headers }: { headers: Readonly<Record<string, unknown>> }) => headers['cache-control'];

it.each(['1.2', '1.3'] as const)(
  'a finished trace is cached under each id that it is requested by: %s',
  async (dialect) => {
    await start(dialect);
    const { id, transactions } = settledTrace(world);
    const last = transactions.at(-1);
    for (const query of [{ trace_id: id }, { tx_hash: last?.hash ?? '' }, { msg_hash: last?.messageHash ?? '' }]) {
      const target = targetOf('traces', query);
      const first = await world.ask(target);
      expect(first.text).toBe((await world.askIndexer(target)).text);
      expect(kept(first)).toMatch(/^public, max-age=3[0-9]{3}$/);
      expect((await world.ask(target)).cache).toMatchObject({ hit: true });
    }
  },
);

it('a second trace appears under an external message that is accepted again', async () => {
  await start();
  const trace = sendTrace();
  const target = targetOf('traces', { msg_hash: trace.externalHash });
  world.indexer.chain.acceptAgain(trace.externalHash, trace.endsAt + 20_000);
  world.advanceTo(trace.endsAt + 10_000);
  expect(tracesOf(await world.ask(target))).toHaveLength(1);
  world.advance(3000);
  world.advanceTo(trace.endsAt + 22_000);
  expect(tracesOf(await world.ask(target))).toHaveLength(2);
});

it('a trace without actions is requested again, and with actions lives for about an hour', async () => {
  await start('1.3', 5000);
  const trace = sendTrace();
  const target = targetOf('traces', { tx_hash: trace.id, include_actions: 'true' });
  world.advanceTo(trace.endsAt);
  expect(tracesOf(await world.ask(target))).toMatchObject([{ actions: [] }]);
  world.advance(6000);
  const classified = await world.ask(target);
  expect(classified.text).toContain('action_id');
  expect(kept(classified)).toMatch(/max-age=3[0-9]{3}$/);
});

it('"no trace" is sent to all requests that wait for it, and not kept', async () => {
  await start();
  const target = targetOf('traces', { msg_hash: someHash() });
  const gate = world.indexer.hold();
  const leader = world.ask(target);
  await gate.arrived(1);
  const follower = await world.proxy.sendIn(target);
  gate.release();
  const { status, headers } = await leader;
  expect([status, headers['cache-status']]).toEqual([200, 'toncache; fwd=miss; fwd-status=200']);
  expect((await follower.answer).headers['cache-status']).toContain('; collapsed');
  const before = world.forwarded.length;
  expect((await world.ask(target)).cache).toMatchObject({ fwd: 'miss' });
  expect(world.forwarded.length).toBe(before + 1);
});

it('"no trace" does not replace an earlier trace: a replica may lag', async () => {
  await start();
  const trace = sendTrace();
  const target = targetOf('traces', { msg_hash: trace.externalHash });
  world.advanceTo(trace.endsAt);
  const there = await world.ask(target);
  world.advance(3000);
  world.indexer.faults.inject(
    { kind: 'answer', status: 200, body: '{"traces":[],"address_book":{},"metadata":{}}' },
    { times: 1 },
  );
  expect(await world.ask(target)).toMatchObject({ text: there.text });
});
