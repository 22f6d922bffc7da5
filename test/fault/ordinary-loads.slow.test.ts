import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { unknownTransaction } from '../e2e/questions.ts';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

// Loads that the indexer alone would serve completely, on a process with default settings: none is refused.

const WORKERS = { count: 20, serviceMs: 50 };
/** Three quarters of a second of its work: half of a client's patience is left to a busy machine. */
const MOST_AT_ONCE = 300;
/** What the indexer says of a transaction that it does not know: each is a miss. */
const ANSWERED = 404;

let indexer: Indexer;
let proxy: ProxyProcess;

beforeEach(async () => {
  indexer = await startIndexer();
  indexer.faults.workers = WORKERS;
  proxy = await ProxyProcess.start({ UPSTREAM_URL: indexer.url });
});

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  await indexer.close();
});

/** The statuses of so many misses at once. */
async function burst(size: number): Promise<ReadonlySet<number>> {
  const answers = await Promise.all(Array.from({ length: size }, () => ask(proxy.url, unknownTransaction())));
  return new Set(answers.map(({ status }) => status));
}

/** The statuses that so many clients saw, each of which asks again as soon as it was answered. */
async function closedLoop(clients: number, ms: number): Promise<ReadonlySet<number>> {
  const seen = new Set<number>();
  const until = performance.now() + ms;
  const client = async () => {
    while (performance.now() < until) seen.add((await ask(proxy.url, unknownTransaction())).status);
  };
  await Promise.all(Array.from({ length: clients }, client));
  return seen;
}

describe('no request is refused', () => {
  it.each([50, 200, MOST_AT_ONCE])('of %i requests at once, right after the start', async (size) => {
    expect(await burst(size)).toEqual(new Set([ANSWERED]));
  });

  it('of a page that sends 30 requests at once, four times a second', async () => {
    const pages: Promise<ReadonlySet<number>>[] = [];
    for (let page = 0; page < 40; page++) {
      pages.push(burst(30));
      await delay(250);
    }
    expect(new Set((await Promise.all(pages)).flatMap((statuses) => [...statuses]))).toEqual(new Set([ANSWERED]));
  });

  it.each([30, 100, 300])(
    'of %i clients that each send the next request when they have their answer',
    async (clients) => {
      expect(await closedLoop(clients, 10_000)).toEqual(new Set([ANSWERED]));
      expect(indexer.requests.maxInHand).toBeLessThanOrEqual(64);
    },
  );

  it('of 200 requests at once, 2 s after an outage of the indexer', async () => {
    const hanging = indexer.faults.inject({ kind: 'hang' });
    const stuck = Promise.all(Array.from({ length: 100 }, () => ask(proxy.url, unknownTransaction())));
    expect((await stuck).some(({ status }) => status === 504)).toBe(true);
    hanging.remove();
    // It is found again by a trial of the circuit breaker, which may have opened; from then on it is back.
    await expect
      .poll(async () => (await ask(proxy.url, unknownTransaction())).status, { timeout: 60_000 })
      .toBe(ANSWERED);
    await delay(2000);
    expect(await burst(200)).toEqual(new Set([ANSWERED]));
  });
});
