import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import { ask } from './ask-indexer.ts';
import { START, StreamingWorld, subscribe } from './streaming-world.ts';

let world: StreamingWorld;

beforeEach(async () => {
  world = await StreamingWorld.start();
});
afterEach(() => world.close());

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
    expect(await (await world.connect()).say(message)).toEqual(reply);
  });

  it('survives a message that is no JSON', async () => {
    const client = await world.connect();
    expect(await client.say('{')).toMatchObject({ error: expect.stringMatching(/^invalid request envelope: /) });
    expect(await client.say({ operation: 'ping' })).toEqual({ status: 'pong' });
  });

  it('refuses more addresses than allowed, and keeps the subscription before', async () => {
    world.indexer.streaming.faults.maxAddresses = 2;
    const client = await world.connect();
    await client.say(subscribe({ types: ['transactions'], addresses: [account] }));
    const addresses = world.indexer.chain.accounts.wallets.slice(1, 4).map(({ address }) => address);
    expect(await client.say(subscribe({ types: ['transactions'], addresses }))).toEqual({
      id: '1',
      error: 'address limit exceeded: current 0 + new 3 > max 2',
    });
    expect([...world.indexer.streaming.subscribed]).toEqual([account]);
  });

  it('replaces addresses and hashes by a subscription, and keeps min_finality', async () => {
    const client = await world.connect();
    const { externalHash } = world.sent();
    await client.say(subscribe({ types: ['trace'], trace_external_hash_norms: [externalHash] }));
    await client.say({ operation: 'subscribe', types: ['transactions'], addresses: [account] });
    expect([...world.indexer.streaming.subscribed]).toEqual([account]);
    world.now += 200;
    await world.settle(client);
    expect(client.events()).toEqual(['transactions:pending']);
  });
});

describe('faults', () => {
  /** A client of one account, and a step of a trace of that account that is about to come. */
  async function watching() {
    const client = await world.connect();
    const trace = world.sent();
    const address = trace.transactions[0]?.account.address ?? '';
    await client.say(subscribe({ types: ['transactions'], addresses: [address] }));
    return { client, trace, address };
  }

  it('cut connections without a close frame, forget the subscription and refuse new ones', async () => {
    const { client } = await watching();
    world.indexer.streaming.faults.refusesConnections = true;
    world.indexer.streaming.cut();
    expect(await client.closed).toBe(1006);
    expect(world.indexer.streaming.subscribed.size).toBe(0);
    await expect(world.connect()).rejects.toBeDefined();
  });

  it('refuse a connection beyond the limit with an error and a TCP end', async () => {
    await world.connect();
    world.indexer.streaming.faults.maxConnections = 1;
    const second = await world.connect();
    expect(await second.closed).toBe(1006);
    expect(second.frames).toEqual([{ error: 'connection limit reached: 1 active connections' }]);
  });

  it('refuse a wrong key', async () => {
    world.indexer.streaming.faults.apiKey = 'secret';
    await expect(world.connect('?api_key=wrong')).rejects.toBeDefined();
    await expect(world.connect('?api_key=secret')).resolves.toBeDefined();
  });

  it('stall: pongs come, events do not, and then all at once', async () => {
    const { client, trace } = await watching();
    world.indexer.streaming.faults.stalled = true;
    world.now = trace.emulatedAt;
    await world.settle(client);
    expect(client.events()).toEqual([]);
    world.indexer.streaming.faults.stalled = false;
    await world.settle(client);
    expect(client.events()).toEqual(['transactions:pending']);
  });

  it('lose events without a sign', async () => {
    const { client, trace } = await watching();
    world.indexer.streaming.faults.lostShare = 1;
    world.now = trace.goneAt;
    await world.settle(client);
    expect(client.events()).toEqual([]);
  });

  it('send events twice', async () => {
    const { client, trace } = await watching();
    world.indexer.streaming.faults.duplicatedShare = 1;
    world.now = trace.emulatedAt;
    await world.settle(client);
    expect(client.events()).toEqual(['transactions:pending', 'transactions:pending']);
  });

  it('flood an account', async () => {
    const { client, address } = await watching();
    world.indexer.streaming.flood(address, 100);
    await world.settle(client);
    expect(client.frames[99]?.transactions?.[0]?.account).toBe(address);
  });

  it('drop a trace from the answer of one account without an event', async () => {
    const { client, trace, address } = await watching();
    world.now = trace.emulatedAt;
    await world.settle(client);
    world.indexer.chain.dropFromAccount(trace.externalHash, address);
    await world.settle(client);
    expect(client.frames).toHaveLength(1);
    const { text } = await ask(world.indexer, `/api/v3/pendingTraces?account=${address}`);
    expect(JSON.parse(text)).toMatchObject({ traces: null });
  });
});
