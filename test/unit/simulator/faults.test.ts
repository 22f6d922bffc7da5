import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import {
  type Fault,
  failed,
  garbage,
  rateLimited,
  redirect,
  refusedKey,
  webServerPage,
  withoutList,
} from '../../../src/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { ask, askJson, startWithShards } from './ask-indexer.ts';

const INFO = '/api/v3/masterchainInfo';
let indexer: Indexer;
let shards = '';
let wholeShards = '';

beforeEach(async () => {
  ({ indexer, shards, wholeShards } = await startWithShards());
});

afterEach(() => indexer.close());

describe('an injected fault', () => {
  it('applies to the requests of its scope, as often as it says', async () => {
    const fault = indexer.faults.inject(failed(500), { operation: 'masterchainBlockShards', times: 2 });
    const statuses: number[] = [];
    for (const target of [INFO, shards, INFO, shards, shards]) statuses.push((await ask(indexer, target)).status);
    expect(statuses).toEqual([200, 500, 200, 500, 200]);
    expect(fault.hits).toBe(2);
  });

  it('stays until it is removed, or all are cleared', async () => {
    const fault = indexer.faults.inject(failed(503, 'text', '7'));
    const down = await ask(indexer, shards);
    expect([down.status, down.headers['retry-after'], down.headers['content-type']]).toEqual([
      503,
      '7',
      'text/plain; charset=utf-8',
    ]);
    fault.remove();
    expect((await ask(indexer, shards)).status).toBe(200);
    indexer.faults.inject(failed(500));
    indexer.faults.clear();
    expect((await ask(indexer, shards)).status).toBe(200);
  });

  const answers: [string, Fault, number, string | RegExp][] = [
    ['a failure in the indexer form', failed(500), 500, '{"error":"simulated failure 500"}'],
    ['a rate limit in JSON', rateLimited('json'), 429, '{"ok":false,"result":"Ratelimit exceed","code":429}'],
    ['a rate limit in text', rateLimited('text', '3'), 429, 'Too Many Requests'],
    ['a refused key', refusedKey(401), 401, /"code":401/],
    ['a forbidden key', refusedKey(403), 403, /"code":403/],
    ['HTML', garbage('html'), 200, /^<!doctype/],
    ['half a JSON', garbage('not-json'), 200, '{"traces":['],
    ['nothing', garbage('empty'), 200, ''],
    ['JSON without the list', withoutList(), 200, '{"ok":true}'],
    ['a page of the web server before it', webServerPage(404), 404, /^<html>.*nginx/],
    ['a redirect', redirect('http://127.0.0.1:1/'), 302, ''],
  ];
  it.each(answers)('can be %s in place of the answer', async (_, fault, status, body) => {
    indexer.faults.inject(fault);
    const answered = await ask(indexer, shards);
    expect(answered.status).toBe(status);
    expect(answered.text).toEqual(typeof body === 'string' ? body : expect.stringMatching(body));
    if (status === 302) expect(answered.headers.location).toBe('http://127.0.0.1:1/');
    if (body === 'Too Many Requests') expect(answered.headers['retry-after']).toBe('3');
  });

  it('can be a reset of the connection', async () => {
    indexer.faults.inject({ kind: 'reset' }, { times: 1 });
    await expect(ask(indexer, shards)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect((await ask(indexer, shards)).status).toBe(200);
  });

  it.each(['content-length', 'chunked'] as const)(
    'can be an answer cut in the middle of its body (%s)',
    async (framing) => {
      indexer.faults.inject({ kind: 'cut', framing });
      await expect(ask(indexer, shards)).rejects.toMatchObject({ code: 'ECONNRESET' });
    },
  );

  it.each(['content-length', 'chunked'] as const)('can be a huge answer that is still right (%s)', async (framing) => {
    indexer.faults.inject({ kind: 'huge', bytes: 3_000_000, framing });
    const { bytes, body, headers } = await askJson(indexer, shards);
    expect(bytes.length).toBe(3_000_000);
    expect(body.blocks).toEqual(JSON.parse(wholeShards).blocks);
    expect(headers['transfer-encoding'] === 'chunked').toBe(framing === 'chunked');
  });

  it('can be a body that comes in pieces', async () => {
    indexer.faults.inject({ kind: 'slow', chunkBytes: 500, pauseMs: 1 });
    expect((await ask(indexer, shards)).text).toBe(wholeShards);
  });

  it('can be no answer at all, and then counts as a request in progress until the client leaves', async () => {
    indexer.faults.inject({ kind: 'hang' });
    const client = new AbortController();
    const asked = ask(indexer, shards, { signal: client.signal });
    await indexer.requests.arrived(1);
    expect(indexer.requests.inHand).toBe(1);
    client.abort();
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(() => indexer.requests.inHand).toBe(0);
  });
});

describe('other switches', () => {
  it('delay answers', async () => {
    indexer.faults.latencyMs = 30;
    indexer.faults.jitterMs = 5;
    const startedAt = performance.now();
    await ask(indexer, shards);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(29);
  });

  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const)('compress with %s for a client that accepts it', async (coding, decompress) => {
    indexer.faults.compression = coding;
    const { headers, bytes } = await ask(indexer, shards, { headers: { 'Accept-Encoding': 'gzip, br' } });
    expect(headers['content-encoding']).toBe(coding);
    expect(decompress(bytes).toString()).toBe(wholeShards);
    expect((await ask(indexer, shards)).text).toBe(wholeShards);
  });

  it('move the clock of the Date header ahead', async () => {
    indexer.faults.clockAheadMs = 86_400_000;
    const { headers, text } = await ask(indexer, shards);
    expect([new Date(headers.date ?? '').getTime(), text]).toEqual([1_800_000_060_000 + 86_400_000, wholeShards]);
  });

  it('send the same rows in another order: traces, adjacent transactions, and blocks that are not sorted', async () => {
    const chain = new Chain({ startAt: 0, messagesPerBlock: 0 });
    const [wallet] = chain.accounts.wallets;
    for (let n = 0; n < 4; n++) chain.send(wallet);
    const parent = Array.from({ length: 40 }, () => chain.trace(chain.send()))
      .flatMap((trace) => trace?.transactions ?? [])
      .find(({ parent, children }) => parent !== undefined && children.length > 1);
    let now = 1000;
    const still = await startIndexer({ chain, dialect: '1.2', now: () => now });
    const orders = async (target: string) => {
      const texts: string[][] = [];
      for (let time = 0; time < 8; time++) {
        const { body } = await askJson(still, `/api/v3/${target}`);
        const rows = body.traces ?? body.transactions ?? body.blocks ?? [];
        texts.push(rows.map((row) => JSON.stringify(row)));
      }
      const sets = new Set(texts.map((rows) => rows.toSorted().join()));
      return { orders: new Set(texts.map((rows) => rows.join())).size, sets: sets.size };
    };
    try {
      const lists = [
        `pendingTraces?account=${wallet?.friendly}`,
        `masterchainBlockShards?seqno=${chain.headSeqno}`,
        `adjacentTransactions?hash=${encodeURIComponent(parent?.hash ?? '')}`,
      ];
      for (const target of lists.slice(0, 2)) expect(await orders(target)).toEqual({ orders: 1, sets: 1 });
      still.faults.shuffle = true;
      for (const target of lists.slice(0, 2)) {
        expect(await orders(target)).toEqual({ orders: expect.toSatisfy((count) => count > 1), sets: 1 });
      }
      now = 60_000;
      expect(await orders(lists[2] ?? '')).toEqual({ orders: expect.toSatisfy((count) => count > 1), sets: 1 });
      expect(await orders(`${lists[1]}&sort=desc`)).toEqual({ orders: 1, sets: 1 });
    } finally {
      await still.close();
    }
  });
});
