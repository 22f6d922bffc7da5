import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import { rawHashOf } from '../../../src/simulator/trace.ts';
import { ask } from './ask-indexer.ts';
import { START, StreamingWorld, subscribe } from './streaming-world.ts';

let world: StreamingWorld;

beforeEach(async () => {
  world = await StreamingWorld.start();
});
afterEach(() => world.close());

describe('events', () => {
  it('come by address for its own transactions alone, and as the minimum of the trace', async () => {
    const client = await world.connect();
    const trace = world.sent();
    const { address } = trace.transactions[0]?.account ?? { address: '' };
    await client.say(subscribe({ types: ['transactions'], addresses: [address] }));
    for (; world.now < trace.goneAt; world.now += 50) await world.settle(client);
    expect(client.events()[0]).toBe('transactions:pending');
    expect(client.events().at(-1)).toBe('transactions:finalized');
    expect(new Set(client.frames.flatMap((it) => it.transactions?.map((row) => row.account)))).toEqual(
      new Set([address]),
    );
  });

  it('come by hash only after the classifier, whole', async () => {
    const client = await world.connect();
    const trace = world.sent();
    await client.say(subscribe({ types: ['trace'], trace_external_hash_norms: [trace.externalHash] }));
    world.now = trace.emulatedAt + 50;
    await world.settle(client);
    expect(client.events()).toEqual([]);
    world.now = trace.emulatedAt + 100;
    await world.settle(client);
    expect(client.events()).toEqual(['trace:pending']);
    expect(client.frames[0]).toHaveProperty('trace.tx_hash', trace.id);
  });

  it('do not come by hash, and no actions come, from a server without a classifier', async () => {
    world.indexer.streaming.faults.classifierDelayMs = undefined;
    const client = await world.connect();
    const trace = world.sent();
    const addresses = trace.transactions.map(({ account }) => account.address);
    const hashes = { trace_external_hash_norms: [trace.externalHash] };
    await client.say(subscribe({ types: ['transactions', 'actions', 'trace'], addresses, ...hashes }));
    for (; world.now < trace.goneAt; world.now += 100) await world.settle(client);
    expect(new Set(client.frames.map(({ type }) => type))).toEqual(new Set(['transactions']));
  });

  it('are those of finalized traces alone by default', async () => {
    const client = await world.connect();
    const trace = world.sent();
    const addresses = trace.transactions.map(({ account }) => account.address);
    await client.say({ operation: 'subscribe', types: ['transactions'], addresses });
    for (; world.now < trace.goneAt; world.now += 100) await world.settle(client);
    expect(new Set(client.events())).toEqual(new Set(['transactions:finalized']));
  });

  it('say nothing when a trace leaves', async () => {
    const client = await world.connect();
    const trace = world.sent();
    const addresses = trace.transactions.map(({ account }) => account.address);
    await client.say(subscribe({ types: ['transactions', 'actions'], addresses }));
    world.now = trace.emulatedAt;
    await world.settle(client);
    const before = client.frames.length;
    world.indexer.chain.vanish(trace.externalHash);
    world.now = trace.goneAt + 1000;
    await world.settle(client);
    expect(client.frames.slice(before).map(({ type }) => type)).not.toContain('trace_invalidated');
    expect(world.indexer.chain.pendingTraces()).toEqual([]);
  });

  it.each([
    { subscribed: 'before the trace was emulated', expected: 1 },
    { subscribed: 'after its only events', expected: 0 },
  ])('say once that a trace was invalidated to a connection subscribed $subscribed', async ({ expected }) => {
    const options = { startAt: START, messagesPerBlock: 3, invalidatedShare: 1, lateShare: 0 };
    const plan = new Chain(options);
    plan.advanceTo(START + 800);
    const [trace] = plan.pendingTraces();
    if (trace === undefined) throw new Error('one is pending by then');
    await world.close();
    world = await StreamingWorld.start('1.2', options);
    world.indexer.streaming.faults.invalidationLeadMs = 200;
    const client = await world.connect();
    const addresses = trace.transactions.map(({ account }) => account.address);
    if (expected === 0) world.now = trace.goneAt - 250;
    await world.settle(client);
    await client.say(subscribe({ types: ['transactions'], addresses }));
    world.now = trace.emulatedAt + 1 > world.now ? trace.emulatedAt + 1 : world.now;
    await world.settle(client);
    world.now = trace.goneAt - 100;
    await world.settle(client);
    const invalidations = client.frames.filter(
      (it) => it.type === 'trace_invalidated' && it.trace_external_hash_norm === trace.externalHash,
    );
    expect(invalidations).toHaveLength(expected);
    expect(world.indexer.chain.pendingTraces().map(({ externalHash }) => externalHash)).toContain(trace.externalHash);
  });

  it('never name a raw hash, by which the answer is found', async () => {
    const client = await world.connect();
    const trace = world.sent();
    const raw = rawHashOf(trace);
    await client.say(subscribe({ types: ['trace'], trace_external_hash_norms: [raw] }));
    world.now = trace.emulatedAt + 150;
    await world.settle(client);
    expect(client.events()).toEqual([]);
    const { text } = await ask(world.indexer, `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(raw)}`);
    expect(text).toContain(trace.id);
  });

  it.each([
    { dialect: '1.2', expected: [] },
    { dialect: '1.3', expected: ['trace:pending'] },
  ] as const)('of a hash in hex: $expected from the server of indexer $dialect', async ({ dialect, expected }) => {
    await world.close();
    world = await StreamingWorld.start(dialect);
    const client = await world.connect();
    const trace = world.sent();
    const hex = Buffer.from(trace.externalHash, 'base64').toString('hex');
    await client.say(subscribe({ types: ['trace'], trace_external_hash_norms: [hex] }));
    world.now = trace.emulatedAt + 100;
    await world.settle(client);
    expect(client.events()).toEqual(expected);
  });
});
