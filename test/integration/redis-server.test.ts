import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { findRedisServer, redisServerOn } from '../support/find-redis-server.ts';
import { type RedisOptions, type RedisServer, startRedis } from '../support/redis-server.ts';

const clients: Redis[] = [];
const servers: RedisServer[] = [];

function connect(url: string): Redis {
  const client = new Redis(url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

async function start(options?: RedisOptions): Promise<RedisServer> {
  const server = await startRedis(options);
  servers.push(server);
  return server;
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe('the Redis that tests share', () => {
  it('is a real server of version 7 or newer', async () => {
    const info = await connect(inject('redisUrl')).info('server');
    expect(Number(/redis_version:(\d+)/.exec(info)?.[1])).toBeGreaterThanOrEqual(7);
  });
});

describe('a Redis of a test of its own', () => {
  it('takes further arguments', async () => {
    const server = await start({ args: ['--maxmemory', '1mb', '--maxmemory-policy', 'allkeys-lru'] });
    expect(await connect(server.url).config('GET', 'maxmemory')).toEqual(['maxmemory', '1048576']);
  });

  it('keeps nothing on disk', async () => {
    const client = connect((await start()).url);
    expect(await client.config('GET', 'save')).toEqual(['save', '']);
    expect(await client.config('GET', 'appendonly')).toEqual(['appendonly', 'no']);
  });

  it('shares its port with no other', async () => {
    const started = await Promise.all([start(), start(), start()]);
    expect(new Set(started.map(({ port }) => port)).size).toBe(3);
  });

  it('answers nothing while it is paused, and everything once it is resumed', async () => {
    const [paused, other] = await Promise.all([start(), start()]);
    const client = connect(paused.url);
    await client.ping();
    await paused.pause();
    let answered = false;
    const answer = client.ping().finally(() => {
      answered = true;
    });

    const otherClient = connect(other.url);
    for (let time = 0; time < 100; time++) await otherClient.ping();
    expect(answered).toBe(false);

    await paused.resume();
    expect(await answer).toBe('PONG');
  });

  it('ends when it is killed, and is empty on the same port after a restart', async () => {
    const server = await start();
    const before = { url: server.url, pid: server.pid };
    await connect(server.url).set('key', 'value');
    await server.kill();
    await expect(connect(server.url).ping()).rejects.toThrow();

    await server.restart();
    expect(server.url).toBe(before.url);
    expect(server.pid).not.toBe(before.pid);
    expect(await connect(server.url).get('key')).toBeNull();
  });

  it('keeps running however much it logs', async () => {
    const client = connect((await start({ args: ['--enable-debug-command', 'yes'] })).url);
    const line = 'x'.repeat(900);
    for (let count = 0; count < 1000; count++) await client.call('DEBUG', 'LOG', line);
    expect(await client.ping()).toBe('PONG');
  });

  it('can be stopped while it is paused', async () => {
    const server = await start();
    await server.pause();
    await server.stop();
    await expect(connect(server.url).ping()).rejects.toThrow();
  });

  it('says what is wrong if it does not start', async () => {
    await expect(start({ args: ['--no-such-setting', '1'] })).rejects.toThrow(/no-such-setting/);
  });

  it('does not take the port of another server', async () => {
    const { port } = await start();
    await expect(start({ port })).rejects.toThrow(/in use|allocated/i);
  });

  it('ends with the process that started it, even if that process is killed', async () => {
    const module = new URL('../support/redis-server.ts', import.meta.url).href;
    const script = `const { startRedis } = await import(${JSON.stringify(module)});
      console.log((await startRedis()).url);`;
    const owner = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [url] = await once(createInterface({ input: owner.stdout }), 'line');
    expect(await connect(url).ping()).toBe('PONG');

    owner.kill('SIGKILL');
    const isGone = () =>
      connect(url)
        .ping()
        .then(
          () => false,
          () => true,
        );
    // A container is removed ten seconds after its owner.
    await expect.poll(isGone, { timeout: 25_000 }).toBe(true);
  });
});

describe('the search for a Redis on PATH', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toncache-path-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  async function install(name: string, version: string): Promise<string> {
    const program = join(folder, name);
    await writeFile(program, `#!/bin/sh\necho "Redis server v=${version} sha=00000000:0 malloc=libc bits=64"\n`);
    await chmod(program, 0o755);
    return program;
  }

  it('finds nothing in empty, missing or no folders', () => {
    expect(redisServerOn(`${folder}:${folder}/missing:`)).toBeUndefined();
    expect(redisServerOn('')).toBeUndefined();
  });

  it('passes over a Redis that is older than 7 and a program that is something else', async () => {
    await install('redis-server', '6.0.16');
    await symlink('/bin/true', join(folder, 'redis-check-rdb'));
    expect(redisServerOn(folder)).toBeUndefined();
  });

  it('prefers redis-server, and takes a redis-check-rdb that is the same program', async () => {
    const spare = await install('redis-check-rdb', '7.0.15');
    expect(redisServerOn(folder)).toBe(spare);
    const server = await install('redis-server', '8.2.1');
    expect(redisServerOn(folder)).toBe(server);
  });

  it('finds what the tests use', async () => {
    expect(await findRedisServer()).toBe(redisServerOn(process.env['PATH']));
  });
});
