import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet, someParent } from '../support/fleet.ts';
import { children } from '../support/json-upstream.ts';
import { adminOf, startRedisCluster } from '../support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { CREDENTIALS, LEAST_RIGHTS, redisUser } from '../support/redis-user.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';

const KEYS = 10;
const BOUNDED = ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'];
const certificate = selfSignedCertificate('redis', '127.0.0.1');

let folder: string;
let caFile: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toncache-ca-'));
  caFile = join(folder, 'ca.pem');
  await writeFile(caFile, certificate.cert);
});
afterAll(() => rm(folder, { recursive: true }));

/** The refusals of the servers, in their own words: the reason, and the command or key. */
async function refusals(servers: readonly RedisServer[]): Promise<string[]> {
  const perServer = servers.map(async ({ port }) => {
    const admin = adminOf(port, certificate);
    const entries = (await admin.call('acl', 'log')) as string[][];
    admin.disconnect();
    return entries.map((entry) => `${entry[entry.indexOf('reason') + 1]} ${entry[entry.indexOf('object') + 1]}`);
  });
  return (await Promise.all(perServer)).flat();
}

/** Three instances, everything that they share, and no complaints. */
async function works(redisUrl: string): Promise<void> {
  await using fleet = await Fleet.start(() => after(150, children('a')), {
    redisUrl,
    env: { REDIS_TLS_CA_FILE: caFile, UPSTREAM_RPS: '1000', UPSTREAM_TIMEOUT: '60s' },
  });
  const targets = Array.from({ length: KEYS }, someParent);
  const replies = await Promise.all(targets.flatMap((target) => fleet.proxies.map((proxy) => proxy.ask(target))));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(fleet.asked).toBe(KEYS);
  await Promise.all(fleet.proxies.map((proxy) => proxy.untilRedisHasAll()));
  const newcomer = await fleet.add();
  for (const target of targets) {
    expect((await newcomer.reply(target)).cache).toMatchObject({ hit: true, detail: 'redis' });
  }
  const purge = await newcomer.askAdmin('/purge', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"all":true}',
  });
  expect(purge.status).toBe(200);
  for (const proxy of fleet.proxies.slice(0, 3)) {
    await expect.poll(() => proxy.metric('purgesReceived')).toBe(1);
  }
  await fleet.get(0).ask(targets[0] ?? '');
  expect(fleet.asked).toBe(KEYS + 1);
  for (const proxy of fleet.proxies) {
    // Never exactly 0 once the server's clock was read.
    expect(await proxy.metric('toncache_redis_clock_offset_seconds')).not.toBe(0);
    expect(proxy.log.filter(({ level }) => level >= 40)).toEqual([]);
  }
}

describe.each([
  ['one server', () => startRedis({ certificate, args: [...BOUNDED, ...redisUser(LEAST_RIGHTS)] }), 'rediss'],
  [
    'a Cluster',
    () => startRedisCluster({ certificate, args: [...BOUNDED, ...redisUser(LEAST_RIGHTS)] }),
    'redis-cluster',
  ],
] as const)('a Redis user with the least rights, over TLS, on %s', (_, start, scheme) => {
  it('is sufficient for everything that instances share', async () => {
    await using redis = await start();
    await works(redis.url.replace(`${scheme}://`, `${scheme}://${CREDENTIALS}@`));
    expect(await refusals('servers' in redis ? redis.servers : [redis])).toEqual([]);
  });
});

it('docs/reference/fleet.md names the least rights that a Redis user needs', async () => {
  expect((await readFile('docs/reference/fleet.md', 'utf8')).split('\n')).toContain(LEAST_RIGHTS);
});
