import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { rawHashOf, type Trace } from '../../../src/simulator/trace.ts';
import { ask } from './ask-indexer.ts';
import { closeClients, connectTo } from './stream-clients.ts';

const START = 1_800_000_000_000;
const PENDING = { min_finality: 'pending' };

let now = START;
let indexer: Indexer;

async function start(dialect: Dialect = '1.2'): Promise<void> {
  now = START;
  const chain = new Chain({ startAt: START, messagesPerBlock: 0, lateShare: 0 });
  indexer = await startIndexer({ dialect, chain, now: () => now });
}

beforeEach(() => start());

afterEach(async () => {
  closeClients();
  await indexer.close();
});

const connect = (query?: string) => connectTo(indexer, query);

/** The server has published what the chain got on by, and it has arrived. */
async function settle(client: Awaited<ReturnType<typeof connect>>): Promise<void> {
  indexer.streaming.look();
  await client.say({ operation: 'ping' });
}

function sent(): Trace {
  const trace = indexer.chain.trace(indexer.chain.send(indexer.chain.accounts.wallets[0]));
  if (trace === undefined) throw new Error('it was sent');
  return trace;
}

const subscribe = (message: object) => ({ operation: 'subscribe', id: '1', ...PENDING, ...message });

describe('events', () => {
  it('come by address for its own transactions alone, and as the minimum of the trace', async () => {
    const client = await connect();
    const trace = sent();
    const { address } = trace.transactions[0]?.account ?? { address: '' };
    await client.say(subscribe({ types: ['transactions'], addresses: [address] }));
    for (; now < trace.goneAt; now += 50) await settle(client);
    expect(client.events()[0]).toBe('transactions:pending');
    expect(client.events().at(-1)).toBe('transactions:finalized');
    expect(new Set(client.frames.flatMap((it) => it.transactions?.map((row) => row.account)))).toEqual(
      new Set([address]),
    );
  });

  it('come by hash only after the classifier, whole', async () => {
    const client = await connect();
    const trace = sent();
    await client.say(subscribe({ types: ['trace'], trace_external_hash_norms: [trace.externalHash] }));
    now = trace.emulatedAt + 50;
    await settle(client);
    expect(client.events()).toEqual([]);
    now = trace.emulatedAt + 100;
    await settle(client);
    expect(client.events()).toEqual(['trace:pending']);
    expect(client.frames[0]).toHaveProperty('trace.tx_hash', trace.id);
  });

  it('do not come by hash, and no actions come, from a server without a classifier', async () => {
    indexer.streaming.faults.classifierDelayMs = undefined;
    const client = await connect();
    const trace = sent();
    const addresses = trace.transactions.map(({ account }) => account.address);
    const hashes = { trace_external_hash_norms: [trace.externalHash] };
    await client.say(subscribe({ types: ['transactions', 'actions', 'trace'], addresses, ...hashes }));
    for (; now < trace.goneAt; now += 100) await settle(client);
    expect(new Set(client.frames.map(({ type }) => type))).toEqual(new Set(['transactions']));
  });

  it('are those of finalized traces alone by default', async () => {
    const client = await connect();
    const trace = sent();
    const addresses = trace.transactions.map(({ account }) => account.address);
    await client.say({ operation: 'subscribe', types: ['transactions'], addresses });
    for (; now < trace.goneAt; now += 100) await settle(client);
    expect(new Set(client.events())).toEqual(new Set(['transactions:finalized']));
  });

  it('say nothing when a trace leaves', async () => {
    const client = await connect();
    const trace = sent();
    const addresses = trace.transactions.map(({ account }) => account.address);
    await client.say(subscribe({ types: ['transactions', 'actions'], addresses }));
    now = trace.emulatedAt;
    await settle(client);
    const before = client.frames.length;
    indexer.chain.vanish(trace.externalHash);
    now = trace.goneAt + 1000;
    await settle(client);
    expect(client.frames.slice(before).map(({ type }) => type)).not.toContain('trace_invalidated');
    expect(indexer.chain.pendingTraces()).toEqual([]);
  });

  it.each([
    { subscribed: 'before the trace was emulated', expected: 1 },
    { subscribed: 'after its only events', expected: 0 },
  ])('say once that a trace was invalidated to a connection subscribed $subscribed', async ({ expected }) => {
    await indexer.close();
    now = START;
    const options = { startAt: START, messagesPerBlock: 3, invalidatedShare: 1, lateShare: 0 };
    const plan = new Chain(options);
    plan.advanceTo(START + 800);
    const [trace] = plan.pendingTraces();
    if (trace === undefined) throw new Error('one is pending by then');
    indexer = await startIndexer({ dialect: '1.2', chain: new Chain(options), now: () => now });
    indexer.streaming.faults.invalidationLeadMs = 200;
    const client = await connect();
    const addresses = trace.transactions.map(({ account }) => account.address);
    if (expected === 0) now = trace.goneAt - 250;
    await settle(client);
    await client.say(subscribe({ types: ['transactions'], addresses }));
    now = trace.emulatedAt + 1 > now ? trace.emulatedAt + 1 : now;
    await settle(client);
    now = trace.goneAt - 100;
    await settle(client);
    const invalidations = client.frames.filter(
      (it) => it.type === 'trace_invalidated' && it.trace_external_hash_norm === trace.externalHash,
    );
    expect(invalidations).toHaveLength(expected);
    expect(indexer.chain.pendingTraces().map(({ externalHash }) => externalHash)).toContain(trace.externalHash);
  });

  it('never name a raw hash, by which the answer is found', async () => {
    const client = await connect();
    const trace = sent();
    const raw = rawHashOf(trace);
    await client.say(subscribe({ types: ['trace'], trace_external_hash_norms: [raw] }));
    now = trace.emulatedAt + 150;
    await settle(client);
    expect(client.events()).toEqual([]);
    const { text } = await ask(indexer, `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(raw)}`);
    expect(text).toContain(trace.id);
  });

  it.each([
    { dialect: '1.2', expected: [] },
    { dialect: '1.3', expected: ['trace:pending'] },
  ] as const)('of a hash in hex: $expected from the server of indexer $dialect', async ({ dialect, expected }) => {
    await indexer.close();
    await start(dialect);
    const client = await connect();
    const trace = sent();
    const hex = Buffer.from(trace.externalHash, 'base64').toString('hex');
    await client.say(subscribe({ types: ['trace'], trace_external_hash_norms: [hex] }));
    now = trace.emulatedAt + 100;
    await settle(client);
    expect(client.events()).toEqual(expected);
  });
});
