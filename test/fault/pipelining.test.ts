import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestBlock, nothingPending, parentOfSettled, targetOf, unknownTransaction } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { startFaultyWorld } from './faulty-world.ts';
import { type ClientOptions, connectClient, get, head, requestsInFlight } from './pipelining-client.ts';

const ENV = { UPSTREAM_TIMEOUT: '60s', PASSTHROUGH: 'on' };
/** A request that is kept waiting at the end of a test does not delay it. */
const NO_DRAIN = { drainTimeout: 100 };
let world: World;

beforeEach(async () => {
  world = await startFaultyWorld({ env: ENV, overrides: { http: NO_DRAIN } });
});

afterEach(() => world[Symbol.asyncDispose]());

const client = (sent: string, options?: ClientOptions) => connectClient(world, sent, options);
const inFlight = () => requestsInFlight(world);

describe('a connection that pipelines', () => {
  it.each([
    ['misses of one key', (miss: string) => get(miss).repeat(1000)],
    ['hits behind a miss', (miss: string) => get(miss) + get(newestBlock(world)).repeat(999)],
    ['requests that Node refuses behind a miss', (miss: string) => head(miss) + 'GET / HTTP/1.1\r\n\r\n'.repeat(999)],
    [
      'expectations that cannot be met behind a miss',
      (miss: string) => head(miss) + 'GET / HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\n\r\n'.repeat(999),
    ],
  ])('is served one request at a time: %s', async (_, requests) => {
    await world.ask(newestBlock(world));
    const gate = world.indexer.hold();
    client(requests(nothingPending()));
    await gate.arrived(1);
    await world.proxy.untilTakenIn();
    // Node reads ahead by one part, which may contain several very short requests.
    expect(await inFlight()).toBeGreaterThanOrEqual(1);
    expect(await inFlight()).toBeLessThanOrEqual(5);
    expect(world.forwarded).toHaveLength(2);
  });

  it('gets every answer, in order', async () => {
    await world.ask(newestBlock(world));
    const gate = world.indexer.hold();
    const hundred = Array.from({ length: 100 }, () => [
      get(nothingPending()),
      get('/'),
      get(newestBlock(world)),
    ]).flat();
    const { statuses } = client(hundred.join(''));
    await gate.arrived(1);
    gate.release();
    await expect.poll(() => statuses.length).toBe(300);
    expect(statuses).toEqual(Array.from({ length: 100 }, () => ['200', '404', '200']).flat());
    expect(await inFlight()).toBe(0);
  });

  it('has its request bodies read completely, with any content', async () => {
    const body = 'a\r\n\r\n'.repeat(20_000);
    const post = `POST /api/v3/echo HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const { statuses } = client(post.repeat(3));
    await expect.poll(() => statuses.length).toBe(3);
    // The indexer refuses this method, and would take the remaining bytes of a body for a request.
    expect(statuses).toEqual(['405', '405', '405']);
    expect(await world.proxy.metric('upstreamRequests', { operation: 'passthrough' })).toBe(3);
  });

  it('whose client reads nothing for a while gets every answer once the client reads', async () => {
    const large = parentOfSettled(world);
    const bytes = 100_000;
    world.indexer.faults.inject({ kind: 'huge', bytes }, { times: 1 });
    await world.ask(large);
    const reader = client(get(large).repeat(400), { reads: false });
    await world.proxy.untilTakenIn();
    expect(await inFlight()).toBeLessThan(40);
    reader.socket.resume();
    await expect.poll(() => reader.statuses.length).toBe(400);
    expect(new Set(reader.statuses)).toEqual(new Set(['200']));
    await expect.poll(() => reader.bytes()).toBeGreaterThan(400 * bytes);
  });

  it('gets 40 large answers if its client reads them immediately', async () => {
    world.indexer.faults.inject({ kind: 'huge', bytes: 1_000_000 }, { operation: 'masterchainBlockShards' });
    const newest = world.indexer.chain.headSeqno;
    const seqnos = Array.from({ length: 40 }, (_, index) => newest - index);
    const reader = client(seqnos.map((seqno) => get(targetOf('masterchainBlockShards', { seqno }))).join(''));
    await expect.poll(() => reader.bytes()).toBeGreaterThan(40_000_000);
    expect(reader.statuses).toEqual(Array.from({ length: 40 }, () => '200'));
  });

  it('removes its waiting requests from the queue when it closes', async () => {
    await world[Symbol.asyncDispose]();
    world = await startFaultyWorld({
      env: { ...ENV, UPSTREAM_MAX_CONCURRENCY: '1' },
      overrides: { http: NO_DRAIN },
    });
    const gate = world.indexer.hold();
    const staying = client(get(unknownTransaction()));
    await gate.arrived(1);
    const leaving = [get, head, get, head].map((ask) => client(ask(unknownTransaction())));
    await world.proxy.untilQueued(4);
    expect(await inFlight()).toBe(5);
    for (const { socket } of leaving) socket.destroy();
    await world.proxy.untilQueued(0);
    expect(await inFlight()).toBe(1);
    gate.release();
    await expect.poll(() => staying.statuses).toEqual(['404']);
    expect(world.forwarded).toHaveLength(1);
  });
});
