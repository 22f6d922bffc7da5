import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { rawHashOf, type Trace } from '../../../src/simulator/trace.ts';
import { ask } from './ask-indexer.ts';

const START = 1_800_000_000_000;
const PENDING = { min_finality: 'pending' };

interface Frame {
  readonly id?: string;
  readonly type?: string;
  readonly status?: string;
  readonly error?: string;
  readonly finality?: string;
  readonly trace_external_hash_norm?: string;
  readonly transactions?: readonly { account: string; finality: string }[];
  readonly actions?: readonly { accounts: readonly string[] }[];
}

let now = START;
let indexer: Indexer;
const clients: WebSocket[] = [];

async function start(dialect: Dialect = '1.2'): Promise<void> {
  now = START;
  const chain = new Chain({ startAt: START, messagesPerBlock: 0, lateShare: 0 });
  indexer = await startIndexer({ dialect, chain, now: () => now });
}

beforeEach(() => start());

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await indexer.close();
});

/** A client that keeps all events. */
async function connect(query = '') {
  const socket = new WebSocket(`${indexer.streamUrl}/api/streaming/v2/ws${query}`);
  clients.push(socket);
  const frames: Frame[] = [];
  const replies: ((reply: Frame) => void)[] = [];
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  socket.addEventListener('message', ({ data }) => {
    const frame: Frame = JSON.parse(String(data));
    if (frame.type === undefined && replies.length > 0) replies.shift()?.(frame);
    else frames.push(frame);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  const say = (message: object | string) => {
    socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    return new Promise<Frame>((resolve) => void replies.push(resolve));
  };
  const events = () => frames.map(({ type, finality }) => (finality === undefined ? type : `${type}:${finality}`));
  return { frames, closed, say, events };
}

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

describe('operations', () => {
  const [account = ''] = new Chain({ startAt: START }).accounts.wallets.map(({ address }) => address);

  it.each([
    [
      { operation: 'ping', id: 'p1' },
      { id: 'p1', status: 'pong' },
    ],
    [{ operation: 'ping' }, { status: 'pong' }],
    [subscribe({ types: ['transactions'], addresses: [account] }), { id: '1', status: 'subscribed' }],
    [
      { operation: 'unsubscribe', id: 'u1', addresses: [account] },
      { id: 'u1', status: 'unsubscribed' },
    ],
    [subscribe({ types: ['trace_invalidated'] }), { id: '1', error: 'invalid event type: trace_invalidated' }],
    [
      subscribe({ types: ['trace'] }),
      { id: '1', error: 'trace_external_hash_norms are required for trace subscription' },
    ],
    [
      subscribe({ types: ['transactions'], addresses: [account], trace_external_hash_norms: ['x'] }),
      { id: '1', error: 'trace_external_hash_norms requires type "trace"' },
    ],
    [subscribe({ types: ['transactions'] }), { id: '1', error: 'addresses are required' }],
    [
      { operation: 'ping', id: 1 },
      {
        error:
          'invalid request envelope: json: cannot unmarshal number into Go struct field Envelope.id of type string',
      },
    ],
  ])('answers %j as the real server does', async (message, reply) => {
    expect(await (await connect()).say(message)).toEqual(reply);
  });

  it('survives a message that is no JSON', async () => {
    const client = await connect();
    expect(await client.say('{')).toMatchObject({ error: expect.stringMatching(/^invalid request envelope: /) });
    expect(await client.say({ operation: 'ping' })).toEqual({ status: 'pong' });
  });

  it('refuses more addresses than allowed, and keeps the subscription before', async () => {
    indexer.streaming.faults.maxAddresses = 2;
    const client = await connect();
    await client.say(subscribe({ types: ['transactions'], addresses: [account] }));
    const addresses = indexer.chain.accounts.wallets.slice(1, 4).map(({ address }) => address);
    expect(await client.say(subscribe({ types: ['transactions'], addresses }))).toEqual({
      id: '1',
      error: 'address limit exceeded: current 0 + new 3 > max 2',
    });
    expect([...indexer.streaming.subscribed]).toEqual([account]);
  });

  it('replaces addresses and hashes by a subscription, and keeps min_finality', async () => {
    const client = await connect();
    const { externalHash } = sent();
    await client.say(subscribe({ types: ['trace'], trace_external_hash_norms: [externalHash] }));
    await client.say({ operation: 'subscribe', types: ['transactions'], addresses: [account] });
    expect([...indexer.streaming.subscribed]).toEqual([account]);
    now += 200;
    await settle(client);
    expect(client.events()).toEqual(['transactions:pending']);
  });
});

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

describe('faults', () => {
  /** A client of one account, and a step of a trace of that account that is about to come. */
  async function watching() {
    const client = await connect();
    const trace = sent();
    const address = trace.transactions[0]?.account.address ?? '';
    await client.say(subscribe({ types: ['transactions'], addresses: [address] }));
    return { client, trace, address };
  }

  it('cut connections without a close frame, forget the subscription and refuse new ones', async () => {
    const { client } = await watching();
    indexer.streaming.faults.refusesConnections = true;
    indexer.streaming.cut();
    expect(await client.closed).toBe(1006);
    expect(indexer.streaming.subscribed.size).toBe(0);
    await expect(connect()).rejects.toBeDefined();
  });

  it('refuse a connection beyond the limit with an error and a TCP end', async () => {
    await connect();
    indexer.streaming.faults.maxConnections = 1;
    const second = await connect();
    expect(await second.closed).toBe(1006);
    expect(second.frames).toEqual([{ error: 'connection limit reached: 1 active connections' }]);
  });

  it('refuse a wrong key', async () => {
    indexer.streaming.faults.apiKey = 'secret';
    await expect(connect('?api_key=wrong')).rejects.toBeDefined();
    await expect(connect('?api_key=secret')).resolves.toBeDefined();
  });

  it('stall: pongs come, events do not, and then all at once', async () => {
    const { client, trace } = await watching();
    indexer.streaming.faults.stalled = true;
    now = trace.emulatedAt;
    await settle(client);
    expect(client.events()).toEqual([]);
    indexer.streaming.faults.stalled = false;
    await settle(client);
    expect(client.events()).toEqual(['transactions:pending']);
  });

  it('lose events without a sign', async () => {
    const { client, trace } = await watching();
    indexer.streaming.faults.lostShare = 1;
    now = trace.goneAt;
    await settle(client);
    expect(client.events()).toEqual([]);
  });

  it('send events twice', async () => {
    const { client, trace } = await watching();
    indexer.streaming.faults.duplicatedShare = 1;
    now = trace.emulatedAt;
    await settle(client);
    expect(client.events()).toEqual(['transactions:pending', 'transactions:pending']);
  });

  it('flood an account', async () => {
    const { client, address } = await watching();
    indexer.streaming.flood(address, 100);
    await settle(client);
    expect(client.frames[99]?.transactions?.[0]?.account).toBe(address);
  });

  it('drop a trace from the answer of one account without an event', async () => {
    const { client, trace, address } = await watching();
    now = trace.emulatedAt;
    await settle(client);
    indexer.chain.dropFromAccount(trace.externalHash, address);
    await settle(client);
    expect(client.frames).toHaveLength(1);
    const { text } = await ask(indexer, `/api/v3/pendingTraces?account=${address}`);
    expect(JSON.parse(text)).toMatchObject({ traces: null });
  });
});
