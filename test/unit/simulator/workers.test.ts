import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { Workers } from '../../../src/simulator/workers.ts';
import { ask, startWithShards } from './ask-indexer.ts';

const INFO = '/api/v3/masterchainInfo';
let indexer: Indexer;
let shards = '';
let wholeShards = '';

beforeEach(async () => {
  ({ indexer, shards, wholeShards } = await startWithShards());
});

afterEach(() => indexer.close());

describe('a gate', () => {
  it('holds requests until it is released, and each is answered as of that time', async () => {
    const gate = indexer.hold();
    const asked = [ask(indexer, shards), ask(indexer, INFO)];
    await gate.arrived(2);
    expect([gate.held, gate.arrivals, indexer.requests.inHand]).toEqual([2, 2, 2]);
    gate.release();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await ask(indexer, shards)).status).toBe(200);
  });

  it('releases a given number of requests, and holds the others', async () => {
    const gate = indexer.hold('masterchainBlockShards');
    const first = ask(indexer, shards);
    await gate.arrived(1);
    const second = ask(indexer, shards);
    await gate.arrived(2);
    expect((await ask(indexer, INFO)).status).toBe(200);
    gate.release(1);
    await first;
    expect(gate.held).toBe(1);
    gate.release();
    await second;
  });

  it('is opened when the indexer closes', async () => {
    const gate = indexer.hold();
    const asked = ask(indexer, shards);
    const failedToAsk = expect(asked).rejects.toMatchObject({ code: 'ECONNRESET' });
    await gate.arrived(1);
    await indexer.close();
    await failedToAsk;
  });
});

describe('workers', () => {
  it('take requests first come first served', async () => {
    indexer.faults.workers = { count: 1, serviceMs: 10 };
    const gate = indexer.hold();
    const order: number[] = [];
    const asked: Promise<unknown>[] = [];
    for (let n = 0; n < 6; n++) {
      asked.push(ask(indexer, shards).then(() => order.push(n)));
      await gate.arrived(n + 1);
    }
    gate.release();
    await Promise.all(asked);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
    expect(indexer.requests.maxInHand).toBe(6);
  });

  it('are never more than configured', async () => {
    const workers = new Workers(new AbortController().signal);
    const works = Array.from({ length: 7 }, () => workers.work({ count: 3, serviceMs: 1 }));
    expect(workers.queued).toBe(4);
    await works[0];
    expect(workers.queued).toBeGreaterThanOrEqual(1);
    await Promise.all(works);
    expect(workers.queued).toBe(0);
  });

  it('finish a query whose client has left', async () => {
    indexer.faults.workers = { count: 1, serviceMs: 100 };
    const client = new AbortController();
    const startedAt = performance.now();
    const left = ask(indexer, shards, { signal: client.signal });
    await indexer.requests.arrived(1);
    const waiting = ask(indexer, shards);
    client.abort();
    await expect(left).rejects.toMatchObject({ name: 'AbortError' });
    expect((await waiting).text).toBe(wholeShards);
    expect(performance.now() - startedAt).toBeGreaterThan(195);
  });
});

describe('the request log', () => {
  it('keeps requests as they came over the wire', async () => {
    const target = '/api/v3/adjacentTransactions?hash=%2Fab&x=a+b&_=1';
    await ask(indexer, target, { headers: { 'X-Api-Key': 'key' } });
    await ask(indexer, shards);
    expect(indexer.requests.total).toBe(2);
    expect(indexer.requests.count('adjacentTransactions')).toBe(1);
    expect(indexer.requests.recent[0]).toMatchObject({
      method: 'GET',
      target,
      operation: 'adjacentTransactions',
      at: 1_800_000_060_000,
      headers: { 'x-api-key': 'key' },
    });
    indexer.requests.reset();
    expect([indexer.requests.total, indexer.requests.recent.length]).toEqual([0, 0]);
  });
});

describe('closing', () => {
  it('ends hanging requests, waits for workers, and frees the port', async () => {
    indexer.faults.workers = { count: 1, serviceMs: 60_000 };
    const asked = [ask(indexer, shards), ask(indexer, shards)];
    const ended = Promise.all(asked.map((one) => expect(one).rejects.toMatchObject({ code: 'ECONNRESET' })));
    await indexer.requests.arrived(2);
    const { port, chain } = indexer;
    await indexer.close();
    await ended;
    indexer = await startIndexer({ port, chain, now: () => chain.now });
    expect((await ask(indexer, shards)).text).toBe(wholeShards);
  });
});
