import { setTimeout as after } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Fleet, someMessage, someParent } from '../support/fleet.ts';
import { children, type JsonAnswer, NOT_FOUND, pendingTrace } from '../support/json-upstream.ts';
import { IMPATIENT_REDIS } from '../support/patience.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinels } from '../support/redis-sentinels.ts';
import type { RedisServer } from '../support/redis-server.ts';
import type { RunningProxy } from '../support/start-proxy.ts';

const WAIT = { timeout: 120_000, interval: 50 };

/** Each of them lives so shortly that Redis and the indexer get requests all the time. */
const targets = [
  ...Array.from({ length: 40 }, someMessage),
  ...Array.from({ length: 10 }, (_, index) => `/api/v3/masterchainBlockShards?seqno=${index}`),
];

function answer(target: string): Promise<JsonAnswer> {
  const said = target.includes('masterchain')
    ? NOT_FOUND
    : target.includes('pending')
      ? pendingTrace('a')
      : children('a');
  return after(5, said);
}

const STRIKES: readonly [string, (server: RedisServer) => Promise<void>][] = [
  ['killed', (server) => server.kill()],
  ['hung', (server) => server.pause()],
];

const KEYS = 24;

/** The number of keys, new each time, that one instance finds in Redis after another one has stored them. */
async function countFound(from: RunningProxy, to: RunningProxy): Promise<number> {
  const asked = Array.from({ length: KEYS }, someParent);
  await Promise.all(asked.map((target) => from.ask(target)));
  await from.untilRedisHasAll();
  const replies = await Promise.all(asked.map((target) => to.ask(target)));
  return replies.filter(({ headers }) => String(headers['cache-status']).includes('detail=redis')).length;
}

/** Strikes under load, until all instances, including a new one, use Redis for all keys again. */
async function weather(redisUrl: string, strike: () => Promise<void>, restore = async () => {}): Promise<void> {
  await using fleet = await Fleet.start(answer, { redisUrl, overrides: { redis: IMPATIENT_REDIS } });
  let [answered, isOver] = [0, false];
  const statuses = new Set<number>();
  /** A closed loop over the targets. */
  const client = async (proxy: RunningProxy) => {
    for (; !isOver; await after(5)) statuses.add((await proxy.ask(targets[answered++ % targets.length] ?? '')).status);
  };
  const clients = Promise.all([...fleet.proxies, ...fleet.proxies, ...fleet.proxies].map(client));
  const [first, second, third] = fleet.proxies as [RunningProxy, RunningProxy, RunningProxy];
  await expect.poll(() => countFound(first, second), WAIT).toBe(KEYS);
  await strike();
  const before = answered;
  await expect.poll(() => answered, WAIT).toBeGreaterThan(before + 200);
  await restore();
  await expect.poll(() => countFound(first, second), WAIT).toBe(KEYS);
  await expect.poll(() => countFound(second, third), WAIT).toBe(KEYS);
  await expect.poll(() => countFound(third, first), WAIT).toBe(KEYS);
  const newcomer = await fleet.add();
  await expect.poll(() => countFound(first, newcomer), WAIT).toBe(KEYS);
  for (const proxy of fleet.proxies) {
    expect(JSON.parse((await proxy.askAdmin('/status.json')).text).redis).toBe('used');
  }
  isOver = true;
  await clients;
  expect(statuses).toEqual(new Set([200, 404]));
}

test.each(STRIKES)('no client gets an error when a master of a Cluster is %s', async (_, strike) => {
  await using cluster = await startRedisCluster({ replicas: 1 });
  const [struck] = cluster.masters as [RedisServer];
  await weather(cluster.url, () => strike(struck));
});

test('no client gets an error when a master without a replica is killed and comes back empty', async () => {
  await using cluster = await startRedisCluster();
  const [struck] = cluster.masters as [RedisServer];
  await weather(
    cluster.url,
    () => struck.kill(),
    () => struck.restart(),
  );
});

test.each(STRIKES)('no client gets an error when a primary with sentinels is %s', async (_, strike) => {
  await using servers = await startRedisSentinels();
  await weather(servers.url, () => strike(servers.primary));
});
