import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { pipeline } from 'node:stream';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { asAdmin } from '../support/as-admin.ts';
import { anEntry } from '../support/entry.ts';
import { freePort } from '../support/free-port.ts';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

const entry = () => anEntry({ askedAt: Date.now(), body: Buffer.from('{"transactions":[{"lt":"1"}]}'.repeat(1000)) });

afterEach(() => {
  vi.restoreAllMocks();
});

/** The number of SETs that Redis has received, refused ones included. */
async function setsSeenBy(server: RedisServer): Promise<number> {
  const stats = await asAdmin(server, (admin) => admin.info('commandstats'));
  const line = /^cmdstat_set:calls=(\d+),.*rejected_calls=(\d+)/m.exec(stats);
  return Number(line?.[1] ?? 0) + Number(line?.[2] ?? 0);
}

async function listen(server: Server, port = 0): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

async function writeOften(observed: ObservedRedisTier, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await observed.tier.set(entry());
}

describe('a read-only replica', () => {
  const demote = (server: RedisServer) => asAdmin(server, (admin) => admin.replicaof('127.0.0.1', 1));

  test('is left for the primary that took over its address', async () => {
    await using replica = await startRedis();
    await using primary = await startRedis();
    await demote(replica);
    let target = replica.port;
    const address = createServer((client) => {
      const server = connect(target, '127.0.0.1');
      pipeline(client, server, client, () => {});
    });
    // This breaker never opens, so it sends no trial writes.
    const breaker = { faults: 1000, openMs: 1 };
    await using observed = new ObservedRedisTier(`redis://127.0.0.1:${await listen(address)}`, { breaker });
    await observed.untilConnection('connected');
    target = primary.port;
    await observed.untilStored(entry());
    expect(await setsSeenBy(primary)).toBe(1);
    address.close();
  });

  test('is reconnected to once when it refuses writes, and then serves reads', async () => {
    await using redis = await startRedis();
    await using observed = new ObservedRedisTier(redis.url, { budgetMs: 5000, breaker: { faults: 1000, openMs: 1 } });
    const stored = entry();
    await observed.untilConnection('connected');
    await observed.untilStored(stored);
    await demote(redis);
    await writeOften(observed, 1);
    await observed.untilConnection('connected', 'disconnected', 'connected');
    for (let time = 0; time < 30; time++) {
      await writeOften(observed, 1);
      expect(await observed.tier.get(stored.key)).toMatchObject({ state: 'found' });
    }
    expect(observed.connectionTransitions.map(({ state }) => state)).toEqual([
      'connected',
      'disconnected',
      'connected',
    ]);
  });
});

test('a full Redis serves reads, and is rarely written to', async () => {
  await using redis = await startRedis({ args: ['--maxmemory', '100kb', '--maxmemory-policy', 'noeviction'] });
  await using observed = new ObservedRedisTier(redis.url, { budgetMs: 5000, breaker: { faults: 3, openMs: 60_000 } });
  await observed.untilConnection('connected');
  await writeOften(observed, 100);
  expect(await setsSeenBy(redis)).toBe(3);
  expect(observed.events).toContainEqual({
    name: 'redis-available',
    operation: 'write',
    available: false,
    reason: expect.stringContaining('OOM'),
  });
  await observed.untilRead('some key', 'absent');
  expect(observed.availability('read')).toEqual([]);
});

test('a wrong password is reported once and never shown, and Redis is used when the password becomes right', async () => {
  const said = (['error', 'warn', 'log'] as const).map((method) => vi.spyOn(console, method));
  await using redis = await startRedis({ args: ['--requirepass', 'the right one'] });
  await using observed = new ObservedRedisTier(redis.url.replace('://', '://:s3cr%40t-w0rd@'), { budgetMs: 5000 });
  await observed.untilConnection('disconnected');
  for (let time = 0; time < 50; time++) expect(await observed.tier.get('key')).toEqual({ state: 'failed' });
  expect(observed.connectionTransitions).toEqual([
    { state: 'disconnected', reason: expect.stringContaining('WRONGPASS') },
  ]);

  const admin = new Redis(redis.url.replace('://', '://:the%20right%20one@'));
  await admin.config('SET', 'requirepass', 's3cr@t-w0rd');
  admin.disconnect();
  await observed.untilRead('key', 'absent');
  expect(observed.availability('read')).toEqual([false, true]);
  expect(JSON.stringify([observed.events, observed.connectionTransitions])).not.toMatch(/s3cr/);
  for (const method of said) expect(method).not.toHaveBeenCalled();
});

describe('a server that is not Redis', () => {
  test.each<[string, () => Server]>([
    ['that speaks HTTP', () => createHttpServer((_, response) => response.end('hello'))],
    ['that sends nothing', () => createServer(() => {})],
    ['that closes each connection', () => createServer((socket) => void socket.destroy())],
    ['that echoes every byte', () => createServer((socket) => void socket.pipe(socket).on('error', () => {}))],
    ['that sends garbage', () => createServer((socket) => void socket.end(Buffer.alloc(100_000, '+OK\r\n$9\r\n:x')))],
  ])('%s makes look-ups fail and is seldom tried again, and a Redis that takes its place is used', async (_, start) => {
    const said = (['error', 'warn', 'log'] as const).map((method) => vi.spyOn(console, method));
    const server = start();
    const sockets = new Set<{ destroy(): void }>();
    let connections = 0;
    server.on('connection', (socket) => {
      connections++;
      sockets.add(socket);
      socket.on('error', () => {});
    });
    const port = await listen(server, await freePort());
    await using observed = new ObservedRedisTier(`redis://:s3cret@127.0.0.1:${port}`, { budgetMs: 5000 });
    for (let time = 0; time < 200; time++) expect(await observed.tier.get('key')).toEqual({ state: 'failed' });
    expect(observed.availability('read')).toEqual([false]);
    expect(connections).toBeLessThan(10);

    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
    await using redis = await startRedis({ port, args: ['--requirepass', 's3cret'] });
    await observed.untilRead('key', 'absent');
    expect(redis.port).toBe(port);
    expect(observed.availability('read')).toEqual([false, true]);
    expect(JSON.stringify([observed.events, observed.connectionTransitions])).not.toContain('s3cret');
    for (const method of said) expect(method).not.toHaveBeenCalled();
  });

  test('that repeats our password in an error does not get it logged', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.write('-ERR unknown command, with args beginning with: `s3cr@t`\r\n'.repeat(4)));
    });
    await using observed = new ObservedRedisTier(`redis://:s3cr%40t@127.0.0.1:${await listen(server)}`);
    await observed.untilConnection('disconnected');
    expect(observed.connectionTransitions).toEqual([
      { state: 'disconnected', reason: 'ERR unknown command, with args beginning with: `***`' },
    ]);
    server.close();
  });
});
