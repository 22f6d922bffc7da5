import { describe, expect, it, onTestFinished } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { targetOf, unknownTransaction } from '../e2e/questions.ts';
import type { Answered } from '../support/http-client.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION } from './faulty-world.ts';

describe('whatever the indexer does', () => {
  const DEADLINE_MS = 500;
  const REQUESTS = 120;
  const times = (staleIfError: number) => ({
    lifetime: 50,
    memoryTtl: 50,
    staleWhileRevalidate: 0,
    staleIfError,
  });

  interface Timed extends Answered {
    readonly tookMs: number;
  }

  async function timed(proxy: RunningProxy, target: string): Promise<Timed> {
    const askedAt = performance.now();
    const answered = await proxy.ask(target);
    return { ...answered, tookMs: performance.now() - askedAt };
  }

  /** So many requests by 12 clients, each key for the first time, and as many for one that is known. */
  async function crowd(proxy: RunningProxy, known: string): Promise<{ unknown: Timed[]; known: Timed[] }> {
    const seen = { unknown: [] as Timed[], known: [] as Timed[] };
    const client = async () => {
      for (let time = 0; time < REQUESTS / 12; time++) {
        seen.unknown.push(await timed(proxy, unknownTransaction()));
        seen.known.push(await timed(proxy, known));
      }
    };
    await Promise.all(Array.from({ length: 12 }, client));
    return seen;
  }

  it.each<[string, (indexer: Indexer) => Promise<() => Promise<unknown>>]>([
    [
      'it hangs',
      async ({ faults }) => {
        faults.inject({ kind: 'hang' });
        return async () => faults.clear();
      },
    ],
    [
      'it answers 500 in bursts',
      async ({ faults }) => {
        const weather = setInterval(() => faults.inject(failed(500), { times: 40 }), 50);
        faults.inject(failed(500), { times: 40 });
        return async () => {
          clearInterval(weather);
          faults.clear();
        };
      },
    ],
    [
      'it resets connections',
      async ({ faults }) => {
        faults.inject({ kind: 'reset' });
        return async () => faults.clear();
      },
    ],
    [
      'it dies and comes back',
      async (indexer) => {
        const { port, chain } = indexer;
        await indexer.close();
        return async () => {
          const again = await startIndexer({ port, chain });
          onTestFinished(() => again.close());
        };
      },
    ],
  ])(
    'no client waits past its deadline, stale answers are served where allowed, and all recovers by itself after: %s',
    async (_, spoil) => {
      const indexer = await startIndexer();
      onTestFinished(() => indexer.close());
      await using proxy = await startProxy({
        upstreamUrl: indexer.url,
        env: { UPSTREAM_TIMEOUT: `${DEADLINE_MS}ms`, UPSTREAM_MAX_CONCURRENCY: '4' },
        overrides: {
          admission: { ...PATIENT_ADMISSION, patience: 100, maxQueue: 8 },
          breaker: { openDuration: 300, longestOpenDuration: 1000 },
          lifetimes: { shardsFinal: times(600_000) },
        },
      });
      const known = targetOf('masterchainBlockShards', { seqno: indexer.chain.headSeqno - 5 });
      const { text } = await proxy.ask(known);
      const recover = await spoil(indexer);
      const { unknown, known: again } = await crowd(proxy, known);
      expect(Math.max(...[...unknown, ...again].map(({ tookMs }) => tookMs))).toBeLessThan(10 * DEADLINE_MS);
      expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(again.map((answered) => answered.text))).toEqual(new Set([text]));
      expect(unknown.filter(({ status }) => ![404, 500, 502, 503, 504].includes(status))).toEqual([]);
      expect(unknown.filter(({ status, headers }) => status === 503 && !headers['retry-after'])).toEqual([]);
      expect(unknown.some(({ status }) => status === 503)).toBe(true);
      await recover();

      for (const status of [404, 200] as const) {
        await expect
          .poll(async () => {
            const seqno = indexer.chain.headSeqno - Math.floor(Math.random() * 50);
            const target =
              status === 404 ? unknownTransaction() : targetOf('masterchainBlockShards', { seqno, limit: 3 });
            return (await proxy.ask(target)).status;
          })
          .toBe(status);
      }
      for (const operation of ['adjacentTransactions', 'masterchainBlockShards']) {
        expect(await proxy.metric('toncache_breaker_open', { operation })).toBe(0);
      }
      for (let time = 0; time < 20; time++) expect((await proxy.ask(unknownTransaction())).status).toBe(404);
      await expect.poll(() => proxy.metric('toncache_upstream_in_flight')).toBe(0);
      expect(proxy.log.filter(({ msg }) => msg.includes('should not happen'))).toEqual([]);
    },
  );
});
