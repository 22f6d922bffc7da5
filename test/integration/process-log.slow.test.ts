import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { failed, refusedKey } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { ask, exchange } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startRedis } from '../support/redis-server.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';

const SECRETS = {
  ofUpstream: 'key-of-upstream-0451',
  ofClient: 'key-of-client-0452',
  ofRedis: 'password-of-redis-0453',
};
let indexer: Indexer;
let asked = 0;

beforeEach(async () => {
  indexer = await startIndexer();
});

afterEach(() => indexer.close());

/** Many kinds of requests, with the secrets of a client in all usual places. */
async function askInAllWays(url: string): Promise<void> {
  const headers = {
    'X-Api-Key': SECRETS.ofClient,
    Authorization: `Bearer ${SECRETS.ofClient}`,
    Cookie: `session=${SECRETS.ofClient}`,
  };
  const query = `api_key=${SECRETS.ofClient}`;
  const targets = [
    `/api/v3/masterchainBlockShards?seqno=${indexer.chain.headSeqno}&offset=0&limit=${++asked}&${query}`,
    `/api/v3/masterchainBlockShards?seqno=2147483647&limit=${asked}&API_KEY=${SECRETS.ofClient}`,
    `/api/v3/masterchainBlockShards?seqno=wrong&${query}`,
    `/api/v3/pendingTraces?${query}`,
    `/api/v3/adjacentTransactions?hash=${SECRETS.ofClient}&${query}`,
    `/api/v2/getMasterchainInfo?${query}`,
    `/${SECRETS.ofClient}?${query}`,
    `/api/v3/masterchainBlockShards?seqno=%&${query}`,
  ];
  for (const target of targets) {
    await ask(url, target, { headers });
    await ask(url, target, { headers, method: 'POST', body: `{"api_key":"${SECRETS.ofClient}"}` });
  }
  await exchange(url, `GET /?${query} NONSENSE\r\n\r\n`);
}

function expectNoSecret(started: ProxyProcess): void {
  for (const secret of Object.values(SECRETS)) {
    expect(started.output).not.toContain(secret);
    expect(started.errors).not.toContain(secret);
  }
}

describe('the log', () => {
  it('is JSON lines with level, time and message, and nothing is written elsewhere', async () => {
    await using started = await ProxyProcess.start({ UPSTREAM_URL: indexer.url, LOG_LEVEL: 'trace' });
    await askInAllWays(started.url);
    indexer.faults.inject(failed(500), { operation: 'adjacentTransactions', times: 1 });
    await ask(started.url, `/api/v3/adjacentTransactions?hash=${'c0'.repeat(32)}`);
    started.signal('SIGTERM');
    await started.ended;
    expect(started.log.length).toBeGreaterThanOrEqual(4);
    for (const line of started.log) {
      expect(line).toMatchObject({
        level: expect.any(Number),
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        msg: expect.any(String),
      });
    }
    expect(started.output.endsWith('\n')).toBe(true);
    expect(started.errors).toBe('');
  });

  it('has only lines that are at least as severe as LOG_LEVEL', async () => {
    // A warning, because the network is not named, and the end, because the port is in use: by another server than the
    // indexer, as an address at which toncache itself listens is refused first.
    await using other = await startScriptedUpstream(() => {});
    const PORT = new URL(other.url).port;
    const environment = { UPSTREAM_URL: indexer.url, REDIS_URL: inject('redisUrl'), PORT };
    for (const [LOG_LEVEL, levels] of [
      ['warn', [40, 60]],
      ['error', [60]],
    ] as const) {
      await using started = new ProxyProcess({ ...environment, LOG_LEVEL });
      expect((await started.ended).code).toBe(1);
      expect(started.log.map(({ level }) => level)).toEqual(levels);
      expect(started.errors).toBe('');
    }
  });

  it('holds no secret when the indexer or Redis refuses a key or password', async () => {
    await using redis = await startRedis({ args: ['--requirepass', 'another'] });
    // An indexer that answers other requests does not refuse the key, so the first requests are refused.
    indexer.faults.inject(refusedKey(401));
    await using started = await ProxyProcess.start({
      UPSTREAM_URL: indexer.url,
      UPSTREAM_API_KEY: SECRETS.ofUpstream,
      REDIS_URL: redis.url.replace('://', `://:${SECRETS.ofRedis}@`),
      NETWORK: 'process-log',
      LOG_LEVEL: 'trace',
    });
    await askInAllWays(started.url);
    indexer.faults.clear();
    for (const fault of [refusedKey(401), refusedKey(403), failed(500), { kind: 'reset' } as const]) {
      indexer.faults.inject(fault, { times: 1 });
      await askInAllWays(started.url);
      indexer.faults.clear();
    }
    await redis.kill();
    await askInAllWays(started.url);
    started.signal('SIGTERM');
    await started.ended;
    expect(indexer.requests.recent.some(({ headers }) => headers['x-api-key'] === SECRETS.ofUpstream)).toBe(true);
    expect(started.log.some(({ msg }) => msg.includes('Redis is unreachable'))).toBe(true);
    expect(started.log.some(({ msg }) => msg.includes('UPSTREAM_API_KEY'))).toBe(true);
    expectNoSecret(started);
  });

  it('holds no password when Redis cannot be reached, or when another kind of server answers at its address', async () => {
    for (const url of [
      `redis://user:${SECRETS.ofRedis}@127.0.0.1:1/0`,
      indexer.url.replace('http://', `rediss://:${SECRETS.ofRedis}@`),
    ]) {
      await using started = await ProxyProcess.start({ UPSTREAM_URL: indexer.url, REDIS_URL: url, LOG_LEVEL: 'trace' });
      for (let seqno = 1; seqno < 20; seqno++) {
        await ask(started.url, `/api/v3/masterchainBlockShards?seqno=${2_000_000_000 + seqno}`);
      }
      started.signal('SIGTERM');
      expect((await started.ended).code).toBe(0);
      expectNoSecret(started);
    }
  });
});
