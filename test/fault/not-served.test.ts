import { describe, expect, it, vi } from 'vitest';
import { failed, notServed } from '../../src/tools/simulator/faults.ts';
import { newestBlock, nothingPending, unknownTransaction } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { answeringJson } from '../support/json-upstream.ts';
import { GUARD_MS } from '../support/patience.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';
import { startEndingWorld } from './faulty-world.ts';
import { Replicas } from './replicas.ts';

const REMEDY = 'start its API with -redis, together with the emulator';
const askedFor = ({ indexer }: World) => indexer.requests.count('pendingTraces');

/** An error of the API that does not mean "not served". */
const OTHERS = [
  ['another 500', 'internal server error: timeout'],
  ['the path of another operation', 'internal server error: Cannot GET /api/v3/actions'],
  ['a path inside another path', 'internal server error: Cannot GET /api/v3/pendingTraces/x'],
  ['another method', 'internal server error: Cannot POST /api/v3/pendingTraces'],
] as const;

describe('an operation that the indexer does not serve', () => {
  it.each(['no-redis', 'no-path', 'not-implemented'] as const)(
    'is answered with 501 and the remedy, and does not count as a failure: %s',
    async (why) => {
      await using world = await startEndingWorld();
      const fault = world.indexer.faults.inject(notServed('pendingTraces', why));
      const first = await world.ask(nothingPending());
      const status = why === 'not-implemented' ? 501 : 500;
      expect([first.status, JSON.parse(first.text)]).toEqual([501, { error: expect.stringContaining(REMEDY) }]);
      expect(first.cache).toEqual({ fwd: 'miss', 'fwd-status': status, detail: 'not-served' });
      expect(first.headers['cache-control']).toBe('no-store');
      for (let time = 0; time < 40; time++) {
        const next = await world.ask(nothingPending());
        expect([next.status, next.text, next.cache]).toEqual([501, first.text, { detail: 'not-served' }]);
      }
      expect(askedFor(world)).toBe(1);
      fault.remove();
      for (const target of [newestBlock(world), unknownTransaction()]) {
        expect([200, 404]).toContain((await world.ask(target)).status);
      }
      for (const metric of ['circuit_breaker_open', 'request_failures_total', 'loads_refused_total']) {
        expect(await world.proxy.metric(`toncache_${metric}`)).toBe(0);
      }
      expect(await world.proxy.metric('condition', { name: 'not-served' })).toBe(1);
      const warnings = () => world.proxy.log.filter(({ level }) => level >= 40);
      await expect
        .poll(warnings)
        .toEqual([expect.objectContaining({ level: 40, msg: expect.stringContaining(REMEDY) })]);
    },
  );

  it('is requested again every 30 s, by one request, and served once the indexer has it', async () => {
    await using world = await startEndingWorld();
    const fault = world.indexer.faults.inject(notServed('pendingTraces', 'no-redis'));
    await world.ask(nothingPending());
    world.advance(29_000);
    expect((await world.ask(nothingPending())).status).toBe(501);
    expect(askedFor(world)).toBe(1);
    world.advance(1000);
    const replies = await Promise.all(Array.from({ length: 10 }, () => world.ask(nothingPending())));
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(501));
    expect(askedFor(world)).toBe(2);
    await world.proxy.askAdmin('/status.json');
    fault.remove();
    world.advance(30_000);
    expect((await world.ask(nothingPending())).status).toBe(200);
    world.advance(16_000);
    const over = { level: 30, condition: 'not-served', msg: expect.stringMatching(/^over after .* pendingTraces: /) };
    await vi.waitFor(() => expect(world.proxy.log).toContainEqual(expect.objectContaining(over)), GUARD_MS);
  });

  it('makes the status page report "degraded" and the remedy', async () => {
    await using world = await startEndingWorld();
    world.indexer.faults.inject(notServed('pendingTraces', 'no-redis'));
    for (let time = 0; time < 40; time++) await world.ask(nothingPending());
    await vi.waitFor(async () => {
      const { level, says } = JSON.parse((await world.proxy.askAdmin('/status.json')).text);
      expect(level).toBe('DEGRADED');
      expect(says).toContain('the indexer does not serve pendingTraces: ');
    }, GUARD_MS);
  });

  it.each(OTHERS)('is not concluded from %s', async (_, error) => {
    await using world = await startEndingWorld();
    world.indexer.faults.inject(failed(500, 'json', undefined, { error }));
    for (let time = 0; time < 2; time++) {
      expect(await world.ask(nothingPending())).toMatchObject({ status: 500, cache: { detail: 'upstream-error' } });
    }
    expect(askedFor(world)).toBe(2);
  });

  it('is recognized as such if another toncache in front of the indexer reports it', async () => {
    const refusal = {
      status: 501,
      body: { error: 'the indexer does not serve pendingTraces' },
      headers: ['Cache-Status: toncache; detail=not-served'],
    };
    await using upstream = await startScriptedUpstream(answeringJson(() => refusal));
    await using proxy = await startProxy({ upstreamUrl: upstream.url });
    for (let time = 0; time < 3; time++) expect((await proxy.ask(nothingPending())).status).toBe(501);
    expect(upstream.asked).toHaveLength(1);
  });
});

describe('an operation that one of two indexers does not serve', () => {
  it.each(['no-path', 'not-implemented'] as const)('is requested from the other one: %s', async (why) => {
    await using replicas = await Replicas.start({});
    replicas.indexers[0]?.faults.inject(notServed('masterchainBlockShards', why), {
      operation: 'masterchainBlockShards',
    });
    const answers = await replicas.askOneByOne(40);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(replicas.asked).toEqual([1, 40]);
    expect(await replicas.metricOf(0, 'unhealthy')).toBe(0);
  });

  it('fails with the error of the other indexer, which serves it', async () => {
    await using replicas = await Replicas.start({});
    const [lacking, other] = replicas.indexers;
    lacking?.faults.inject(notServed('masterchainBlockShards', 'no-path'), { operation: 'masterchainBlockShards' });
    other?.faults.inject(failed(500), { operation: 'masterchainBlockShards' });
    const answers = await replicas.askOneByOne(10);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([500]));
  });
});
