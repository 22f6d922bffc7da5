import { describe, expect, it, vi } from 'vitest';
import { failed, rateLimited, redirected, refusedKey } from '../../src/tools/simulator/faults.ts';
import type { Indexer } from '../../src/tools/simulator/indexer.ts';
import { USER_AGENT } from '../../src/version.ts';
import type { Answered } from '../support/http-client.ts';
import { GUARD_MS } from '../support/patience.ts';
import { Replicas } from './replicas.ts';

const RIGHT = [200];
const statuses = (answers: readonly Answered[]) => [...new Set(answers.map(({ status }) => status))];

function one(replicas: Replicas): Indexer {
  const [first] = replicas.indexers;
  if (first === undefined) throw new Error('there is no indexer');
  return first;
}

describe('of two indexers', () => {
  it('that are healthy and equally fast, each gets half of the requests', async () => {
    await using replicas = await Replicas.start({ stopsTime: true });
    /** Forty requests at once, of which each takes equally long. Returns how many each indexer got. */
    const round = async () => {
      const before = replicas.asked;
      const gates = replicas.indexers.map((indexer) => indexer.hold('masterchainBlockShards'));
      const answers = replicas.askAtOnce(40);
      await expect.poll(() => gates.reduce((sum, { arrivals }) => sum + arrivals, 0), { interval: 5 }).toBe(40);
      replicas.advance(10_000);
      for (const gate of gates) gate.release();
      expect(statuses(await answers)).toEqual(RIGHT);
      return replicas.asked.map((count, index) => count - (before[index] ?? 0));
    };
    // Until they have answered, one of them is chosen at random for each request.
    await round();
    for (let time = 0; time < 5; time++) expect(await round()).toEqual([20, 20]);
  });

  it('one is killed under load: no request fails, and it is used again when it is back', async () => {
    await using replicas = await Replicas.start({ stopsTime: true });
    for (const indexer of replicas.indexers) indexer.faults.latencyMs = 5;
    const loads = [replicas.askAtOnce(40)];
    await one(replicas).requests.arrived(10);
    await one(replicas).close();
    for (let time = 0; time < 10; time++) loads.push(replicas.askAtOnce(10));
    expect(statuses((await Promise.all(loads)).flat())).toEqual(RIGHT);
    expect(await replicas.metricOf(0, 'unhealthy')).toBe(1);
    const told = expect.objectContaining({
      level: 40,
      condition: expect.stringMatching(/^(indexer-fails|not-reached)$/),
    });
    const logLater = () => {
      replicas.advance(100);
      return replicas.proxy.log;
    };
    await expect.poll(logLater).toContainEqual(told);
    const revived = await replicas.revive(0);
    await vi.waitFor(
      async () => {
        replicas.advance(100);
        expect(statuses(await replicas.askAtOnce(20))).toEqual(RIGHT);
        expect(revived.requests.count('masterchainBlockShards')).toBeGreaterThan(10);
      },
      { timeout: GUARD_MS, interval: 50 },
    );
  });

  it.each([
    ['answers 500', failed(500)],
    ['refuses the key with 401', refusedKey(401)],
    ['refuses the key with 402', refusedKey(402)],
    ['refuses the key with 403', refusedKey(403)],
    ['answers 408', failed(408)],
    ['answers 451 with HTML', { kind: 'answer', status: 451, body: '<html>', headers: {} } as const],
    ['redirects', redirected()],
    ['resets connections', { kind: 'reset' } as const],
    ['answers with HTML', { kind: 'answer', status: 200, body: '<html>', headers: {} } as const],
  ])('one %s: no request fails, and it gets none after three until a trial is due', async (_, fault) => {
    await using replicas = await Replicas.start({ stopsTime: true });
    one(replicas).faults.inject(fault, { operation: 'masterchainBlockShards' });
    expect(statuses(await replicas.askOneByOne(60))).toEqual(RIGHT);
    const [asked = 0] = replicas.asked;
    // The first one is sent once more if it broke the connection of a head poll.
    expect([3, 4]).toContain(asked);
    expect(await replicas.metricOf(0, 'unhealthy')).toBe(1);
    replicas.advance(100);
    expect(statuses(await replicas.askOneByOne(10))).toEqual(RIGHT);
    expect(replicas.asked[0]).toBe(asked + 1);
    one(replicas).faults.clear();
    replicas.advance(1000);
    await vi.waitFor(
      async () => {
        expect(statuses(await replicas.askOneByOne(2))).toEqual(RIGHT);
        expect(await replicas.metricOf(0, 'unhealthy')).toBe(0);
      },
      { timeout: GUARD_MS, interval: 50 },
    );
  });

  it('one refuses the key: log and status page name it, and report that the other one answers', async () => {
    await using replicas = await Replicas.start({ stopsTime: true });
    one(replicas).faults.inject(refusedKey(401));
    const indexer = `127.0.0.1:${replicas.ports[0]}`;
    await vi.waitFor(
      async () => {
        replicas.advance(100);
        expect(statuses(await replicas.askOneByOne(3))).toEqual(RIGHT);
        const { level, says } = JSON.parse((await replicas.proxy.askAdmin('/status.json')).text);
        expect(level).toBe('DEGRADED');
        expect(says).toContain(`${indexer} refuses our API key (401: API key does not exist): check UPSTREAM_API_KEY.`);
      },
      { timeout: GUARD_MS, interval: 100 },
    );
    const lines = replicas.proxy.log.filter(({ level }) => level >= 40);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.every((line) => 'upstream' in line && line.upstream === indexer)).toBe(true);
  });

  it('one does not answer head polls: it is unresponsive, and its lag is unknown', async () => {
    await using replicas = await Replicas.start({});
    await replicas.askOneByOne(2);
    one(replicas).faults.inject({ kind: 'hang' }, { operation: 'masterchainInfo' });
    await vi.waitFor(
      async () => {
        await replicas.askOneByOne(2);
        const { upstreams } = JSON.parse((await replicas.proxy.askAdmin('/status.json')).text);
        expect(upstreams).toMatchObject([
          { state: 'unresponsive', isBackup: false },
          { state: 'healthy', lagBlocks: 0 },
        ]);
        expect(upstreams[0]).not.toHaveProperty('lagBlocks');
      },
      { timeout: GUARD_MS, interval: 200 },
    );
  });

  it('both refuse the key: both get requests, as a single indexer would, and clients get 502', async () => {
    await using replicas = await Replicas.start({});
    for (const { faults } of replicas.indexers) faults.inject(refusedKey(401), { operation: 'masterchainBlockShards' });
    const answers = await replicas.askOneByOne(30);
    expect(statuses(answers)).toEqual([502]);
    expect(answers.every(({ headers }) => headers['cache-status']?.includes('upstream-unauthorized'))).toBe(true);
    expect(Math.min(...replicas.asked)).toBeGreaterThan(0);
    expect(await replicas.proxy.metric('breakersOpen')).toBe(0);
  });

  it('both refuse the keys of clients whose requests are passed through: both stay healthy, without warnings', async () => {
    await using replicas = await Replicas.start({ stopsTime: true }, { env: { PASSTHROUGH: 'on' } });
    for (const { faults } of replicas.indexers) faults.inject(refusedKey(401), { operation: 'other' });
    for (let time = 0; time < 20; time++) {
      const passed = await replicas.proxy.ask('/api/v3/account', { headers: { 'X-Api-Key': 'of-a-client' } });
      expect(passed.status).toBe(401);
    }
    expect([await replicas.metricOf(0, 'unhealthy'), await replicas.metricOf(1, 'unhealthy')]).toEqual([0, 0]);
    expect(replicas.proxy.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('one hangs: the other one answers its requests, and it gets fewer requests', async () => {
    await using replicas = await Replicas.start({});
    for (const indexer of replicas.indexers) indexer.faults.latencyMs = 2;
    await replicas.askOneByOne(64);
    const before = replicas.asked[0] ?? 0;
    one(replicas).faults.inject({ kind: 'hang' }, { operation: 'masterchainBlockShards' });
    expect(statuses(await replicas.askOneByOne(60))).toEqual(RIGHT);
    expect((replicas.asked[0] ?? 0) - before).toBeLessThanOrEqual(15);
  });

  it('one answers 429: it gets no requests during the pause, and no request fails', async () => {
    await using replicas = await Replicas.start({});
    one(replicas).faults.inject(rateLimited('json', '600'), { operation: 'masterchainBlockShards' });
    // The indexer is paused after refusals of two keys. Eight requests at once reach both indexers.
    for (let times = 0; times < 20 && (replicas.asked[0] ?? 0) < 2; times++) {
      expect(statuses(await replicas.askAtOnce(8))).toEqual(RIGHT);
    }
    expect(await replicas.proxy.metric('upstreamPaused')).toBe(1);
    const { asked } = replicas;
    expect(statuses(await replicas.askOneByOne(40))).toEqual(RIGHT);
    expect(replicas.asked[0]).toBe(asked[0]);
  });

  it('one answers 429 for one key: the other one answers it, and both get requests for other keys', async () => {
    const rows = { shardsFinal: { lifetime: 0, staleWhileRevalidate: 0, staleIfError: 0 } };
    await using replicas = await Replicas.start({ stopsTime: true }, { overrides: { rows } });
    const bad = replicas.freshPage();
    const query = bad.slice(bad.indexOf('limit='));
    const [limited, answered] = replicas.indexers.map(({ faults }, index) =>
      faults.inject(index === 0 ? rateLimited('json', '600') : { kind: 'slow', chunkBytes: 1e6, pauseMs: 0 }, {
        query,
      }),
    );
    for (let time = 0; time < 20; time++) expect((await replicas.proxy.ask(bad)).status).toBe(200);
    expect([limited?.hits, answered?.hits]).toEqual([1, 20]);
    const before = replicas.asked;
    for (let time = 0; time < 5; time++) expect(statuses(await replicas.askAtOnce(40))).toEqual(RIGHT);
    expect(Math.min(...replicas.asked.map((count, index) => count - (before[index] ?? 0)))).toBeGreaterThan(50);
    expect(await replicas.proxy.metric('upstreamPaused')).toBe(0);
  });

  it('one is a minute behind: no answer is outdated, not even the first one', async () => {
    const prepare = ([first]: Indexer[]) => first?.replicas[0].lag(60_000);
    await using replicas = await Replicas.start({ prepare });
    expect(statuses(await replicas.askOneByOne(40))).toEqual(RIGHT);
    const targets = replicas.youngParents(100);
    expect(statuses(await Promise.all(targets.map((target) => replicas.proxy.ask(target))))).toEqual(RIGHT);
    expect([targets.length > 40, replicas.asked]).toEqual([true, [0, 40]]);
    expect(one(replicas).requests.count('adjacentTransactions')).toBe(0);
    expect(await replicas.metricOf(0, 'lag_blocks')).toBeGreaterThan(100);
  });

  it('both are a minute behind: both get requests, as a single indexer would', async () => {
    const prepare = (indexers: Indexer[]) => indexers.forEach(({ replicas: [replica] }) => void replica.lag(60_000));
    await using replicas = await Replicas.start({ prepare, stopsTime: true });
    const seqno = replicas.newestSeqno - 200;
    const answers = await Promise.all(Array.from({ length: 60 }, () => replicas.proxy.ask(replicas.freshPage(seqno))));
    expect(statuses(answers)).toEqual(RIGHT);
    expect(Math.min(...replicas.asked)).toBeGreaterThan(10);
  });

  it('the one that has a block gets the request for it', async () => {
    // Three blocks: too few to count as behind.
    const prepare = ([first]: Indexer[]) => first?.replicas[0].lag(1200);
    await using replicas = await Replicas.start({ prepare });
    const newest = replicas.newestSeqno - 1;
    const answers = await Promise.all(Array.from({ length: 20 }, () => replicas.proxy.ask(replicas.freshPage(newest))));
    expect(statuses(answers)).toEqual(RIGHT);
    expect(replicas.asked[0]).toBe(0);
    const explained = await replicas.proxy.askAdmin(`/explain?target=${encodeURIComponent(replicas.lastPage)}`);
    expect(JSON.parse(explained.text).memory.indexer).toBe(`127.0.0.1:${replicas.ports[1]}`);
  });

  it('the one with the newer head is used when the other one does not find a transaction', async () => {
    const prepare = ([first]: Indexer[]) => first?.replicas[0].lag(1600);
    await using replicas = await Replicas.start({ prepare });
    const targets = replicas.youngParents(4);
    expect(targets.length).toBeGreaterThan(2);
    expect(statuses(await Promise.all(targets.map((target) => replicas.proxy.ask(target))))).toEqual(RIGHT);
    expect([await replicas.metricOf(0, 'slots_in_use'), await replicas.metricOf(1, 'slots_in_use')]).toEqual([0, 0]);
  });
});

describe('a backup', () => {
  const KEYS = { UPSTREAM_API_KEY: 'ours', UPSTREAM_BACKUP_API_KEY: 'theirs' };
  const keysAt = ({ requests }: Indexer) => [...new Set(requests.recent.map(({ headers }) => headers['x-api-key']))];

  it('gets requests only while no replica is healthy, and each indexer gets its own key', async () => {
    await using replicas = await Replicas.start({ backups: 1 }, { env: KEYS });
    const [replica, backup] = replicas.indexers as [Indexer, Indexer];
    await replicas.askAtOnce(50);
    await Promise.all(replicas.youngParents(50).map((target) => replicas.proxy.ask(target)));
    expect([replica.requests.total > 50, backup.requests.total]).toEqual([true, 0]);
    await replica.close();
    expect(statuses(await replicas.askOneByOne(20))).toEqual(RIGHT);
    expect([keysAt(replica), keysAt(backup)]).toEqual([['ours'], ['theirs']]);
    // A provider charges for each request, so a backup gets no head polls once it has named its chain.
    expect(backup.requests.count('masterchainInfo')).toBe(1);
  });

  it('has a rate of its own', async () => {
    // Its clock stands still: only the reservations at 0 and 1 s come in time, however long the requests take. The poll
    // of the backup's head may have one of them.
    const options = { env: { ...KEYS, UPSTREAM_BACKUP_RPS: '1' }, overrides: { admission: { patience: 1500 } } };
    await using replicas = await Replicas.start({ backups: 1, stopsTime: true }, options);
    const [replica, backup] = replicas.indexers as [Indexer, Indexer];
    await replica.close();
    expect(statuses(await replicas.askAtOnce(20))).toContain(429);
    expect([1, 2]).toContain(backup.requests.count('masterchainBlockShards'));
  });

  it('gets the requests that would otherwise be refused because the replicas are full', async () => {
    await using replicas = await Replicas.start(
      { backups: 1 },
      { env: { UPSTREAM_MAX_CONCURRENCY: '1' }, overrides: { admission: { maxQueue: 0 } } },
    );
    const [replica, backup] = replicas.indexers as [Indexer, Indexer];
    const gate = replica.hold('masterchainBlockShards');
    const waiting = replicas.askAtOnce(1);
    await replica.requests.arrived(replica.requests.total + 1);
    expect(statuses(await replicas.askAtOnce(5))).toEqual(RIGHT);
    expect(backup.requests.count('masterchainBlockShards')).toBe(5);
    gate.release();
    expect(statuses(await waiting)).toEqual(RIGHT);
  });

  it.each([
    ['with its own key for clients', { PASSTHROUGH_SHARED_KEY: 'on' }, 'theirs'],
    ['without a key', { UPSTREAM_API_KEY: '' }, undefined],
  ])('gets no credentials of a client, under any name: %s', async (_, env, key) => {
    await using replicas = await Replicas.start({ backups: 1 }, { env: { PASSTHROUGH: 'on', ...KEYS, ...env } });
    const [replica, backup] = replicas.indexers as [Indexer, Indexer];
    await replica.close();
    const known = {
      ...{ accept: 'application/json', 'accept-encoding': 'gzip', 'content-type': 'application/json' },
      ...{ 'x-actions-version': 'v1', 'x-no-address-book': 'true', 'x-no-metadata': 'true' },
      ...{ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`, 'content-encoding': 'identity' },
      ...{ range: 'bytes=0-9', 'if-none-match': '"a"' },
    };
    const secret = 'of-a-client';
    const credentials = {
      ...{ Authorization: `Bearer ${secret}`, Cookie: `session=${secret}`, 'X-Auth-Token': secret, 'Api-Key': secret },
      ...{ 'X-Toncenter-Key': secret, 'X-Forwarded-For': secret, 'CF-Access-Client-Secret': secret, Referer: secret },
      ...{ 'X-Api-Key': '', 'X-Nobody-Knows': secret, 'User-Agent': secret },
    };
    const ask = () =>
      replicas.proxy.ask('/api/v3/message', { method: 'POST', body: '{}', headers: { ...known, ...credentials } });
    await expect.poll(async () => (await ask()).status).toBe(200);
    const [asked] = backup.requests.recent.slice(-1);
    const { host, connection, ...headers } = asked?.headers ?? {};
    expect([host, connection]).toEqual([new URL(backup.url).host, 'keep-alive']);
    expect(headers).toEqual({
      ...known,
      'x-request-id': expect.any(String),
      'user-agent': USER_AGENT,
      'content-length': '2',
      ...(key !== undefined && { 'x-api-key': key }),
    });
    const before = backup.requests.total;
    for (const query of [
      'api_key',
      'API_KEY',
      'Api-Key',
      'apikey',
      'api_key[]',
      'x-api-key',
      '%61pi_key',
      '_=1&api_key',
    ]) {
      const passed = await replicas.proxy.ask(`/api/v3/masterchainInfo?${query}=${secret}`);
      expect([query, passed.status]).toEqual([query, 502]);
    }
    expect(backup.requests.total).toBe(before);
  });

  it('never gets the key of a client', async () => {
    await using replicas = await Replicas.start({ backups: 1 }, { env: { PASSTHROUGH: 'on', ...KEYS } });
    const [replica, backup] = replicas.indexers as [Indexer, Indexer];
    await replica.close();
    await replicas.askOneByOne(10);
    const before = backup.requests.total;
    const passed = { headers: { 'X-Api-Key': 'of-a-client' } };
    expect((await replicas.proxy.ask('/api/v3/masterchainInfo', passed)).status).toBeGreaterThanOrEqual(500);
    expect([backup.requests.total, keysAt(backup)]).toEqual([before, ['theirs']]);
    expect((await replicas.proxy.ask('/api/v3/masterchainInfo')).status).not.toBe(200);
  });
});
