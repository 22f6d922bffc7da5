import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { newestBlock, unknownTransaction } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

describe('the admin port', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('reports that the process is alive and ready', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const { status, headers, text } = await world.proxy.askAdmin(path);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('application/json');
      expect(JSON.parse(text)).toBeTypeOf('object');
    }
  });

  it('serves metrics with the prefixes toncache, process and nodejs in the Prometheus text format', async () => {
    await world.ask(newestBlock(world));
    await world.ask(newestBlock(world));
    await world.ask(unknownTransaction());
    const { status, headers, text } = await world.proxy.askAdmin('/metrics');
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/plain;.*version=/);
    const names = text.split('\n').flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) expect(name).toMatch(/^(toncache|process|nodejs)_/);
    const labels = { operation: 'masterchainBlockShards' };
    expect(await world.proxy.metric('requests', labels)).toBe(2);
    expect(await world.proxy.metric('requests', { ...labels, outcome: 'hit-memory' })).toBe(1);
    expect(await world.proxy.metric('upstreamRequests')).toBe(2);
    // Hits in memory are counted, not timed.
    expect(await world.proxy.metric('toncache_request_duration_seconds_count')).toBe(2);
    expect(await world.proxy.metric('toncache_request_duration_seconds_count', { outcome: 'miss' })).toBe(2);
  });

  it('says that connections were refused', async () => {
    await using small = await startProxy({
      upstreamUrl: world.indexer.url,
      overrides: { http: { maxConnections: 1 } },
    });
    const holder = connect(Number(new URL(small.url).port), '127.0.0.1');
    await once(holder, 'connect');
    const refused = () => small.metric('condition', { name: 'connections-refused' });
    expect(await refused()).toBe(0);
    await expect(small.ask(newestBlock(world))).rejects.toThrow();
    expect(await refused()).toBe(1);
    holder.destroy();
  });

  it('answers other paths, such as those of the API, with 404, and other methods with 405', async () => {
    for (const target of ['/status', newestBlock(world), '/healthz/x']) {
      const { status, text } = await world.proxy.askAdmin(target);
      expect([status, JSON.parse(text)]).toEqual([
        404,
        { error: 'accepted: /, /status.json, /purge, /explain, /healthz, /readyz, /metrics' },
      ]);
    }
    const { status, headers } = await world.proxy.askAdmin('/healthz', { method: 'DELETE' });
    expect(status).toBe(405);
    expect(headers['allow']).toMatch(/GET/);
    expect(world.forwarded).toEqual([]);
  });
});

describe('the admin port while the indexer and Redis are unreachable', () => {
  let proxy: RunningProxy;

  beforeEach(async () => {
    // No program listens on port 1 of this machine, so both connections are refused.
    const nowhere = '127.0.0.1:1';
    proxy = await startProxy({ upstreamUrl: `http://${nowhere}`, env: { REDIS_URL: `redis://${nowhere}` } });
  });
  afterEach(() => proxy.close());

  it('still reports that the process is ready, and shows metrics', async () => {
    for (let time = 0; time < 4; time++) {
      expect((await proxy.ask(unknownTransaction())).status).toBe(502);
      for (const path of ['/healthz', '/readyz', '/metrics']) expect((await proxy.askAdmin(path)).status).toBe(200);
    }
    expect(await proxy.metric('upstreamRequests', { result: 'upstream-unreachable' })).toBeGreaterThanOrEqual(4);
  });

  it('reports Redis as unavailable from the start', async () => {
    const { redis, conditions } = JSON.parse((await proxy.askAdmin('/status.json')).text);
    expect(redis).toBe('failed');
    expect(conditions).toContainEqual(expect.objectContaining({ name: 'redis-unavailable', level: 'degraded' }));
    expect(await proxy.metric('condition', { name: 'redis-unavailable' })).toBe(1);
  });
});
