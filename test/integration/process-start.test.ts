import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { platform } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusedKey } from '../../src/tools/simulator/faults.ts';
import { ask } from '../support/http-client.ts';
import { COMMAND_OF_DEV, ProxyProcess } from '../support/proxy-process.ts';
import { ProcessWorld, TARGET } from './process-world.ts';

let world: ProcessWorld;

beforeAll(async () => {
  world = await ProcessWorld.start();
});

afterAll(() => world[Symbol.asyncDispose]());

/** A port that is in use until the test ends. */
async function usedPort() {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { port: String(port), [Symbol.asyncDispose]: async () => void server.close() };
}

describe('wrong settings', () => {
  it('are reported together by name, and end the process with status 78 before it listens', async () => {
    const file = world.file('wrong.json');
    const wrongInFile = { lifetimes: { live: 'forever' }, upstreem: {}, redis: { budget: 50 } };
    await writeFile(file, JSON.stringify(wrongInFile));
    // If it had tried to listen, it would have ended for that reason.
    await using used = await usedPort();
    await using started = new ProxyProcess({
      PORT: used.port,
      ADMIN_PORT: '70000',
      UPSTREAM_TIMEOUT: '5',
      UPSTREAM_MAX_CONCURRENCY: '0',
      MEMORY_MAX_SIZE: 'much',
      NETWORK: 'Main Net',
      LOG_LEVEL: 'loud',
      HOST: 'not a host',
      REDIS_URL: 'http://:hunter2@redis',
      UPSTREAM_API_KEY: 'hunter2 with spaces',
      CONFIG_FILE: file,
    });
    expect(await started.ended).toEqual({ code: 78, signal: null });
    const names = [
      'ADMIN_PORT',
      'UPSTREAM_URL',
      'UPSTREAM_TIMEOUT',
      'UPSTREAM_MAX_CONCURRENCY',
      'MEMORY_MAX_SIZE',
      'NETWORK',
      'LOG_LEVEL',
      'HOST',
      'REDIS_URL',
      'UPSTREAM_API_KEY',
      'lifetimes.live',
      'upstreem',
      'redis.budget',
    ];
    for (const name of names) expect(started.errors).toMatch(new RegExp(`^ +${name.replaceAll('.', '\\.')}\\b`, 'm'));
    expect(started.errors.trim().split('\n')).toHaveLength(1 + names.length);
    expect(started.errors).not.toContain('hunter2');
    expect(started.output).toBe('');
  });
});

describe('an indexer that cannot be reached or refuses the key', () => {
  it('is reported immediately, and the process keeps running', async () => {
    await using started = await ProxyProcess.start({ UPSTREAM_URL: 'http://127.0.0.1:1' });
    await started.untilLogged('FAILING: nothing can be answered. The indexer is unreachable');
    expect((await ask(started.adminUrl, '/readyz')).status).toBe(200);
    world.indexer.faults.inject(refusedKey(403));
    await using refused = await ProxyProcess.start({ UPSTREAM_URL: world.indexer.url });
    await refused.untilLogged('refuses our API key');
  });
});

describe('a port in use', () => {
  it.each(['PORT', 'ADMIN_PORT'])('(%s) ends the process with one clear line', async (name) => {
    await using used = await usedPort();
    await using started = new ProxyProcess({ UPSTREAM_URL: world.indexer.url, [name]: used.port });
    expect((await started.ended).code).toBe(1);
    expect(started.errors).toBe('');
    expect(started.log).toHaveLength(1);
    const [line] = started.log;
    expect(line).toMatchObject({ level: 60, msg: 'toncache cannot listen' });
    expect(line?.err?.message).toMatch(new RegExp(`EADDRINUSE.*127\\.0\\.0\\.1:${used.port}`));
  });
});

describe('a start', () => {
  it('shows no key that is part of an address, in its log or on its admin port', async () => {
    const key = 'key-of-16-letters';
    await using started = await ProxyProcess.start({
      UPSTREAM_URL: `http://127.0.0.1:1/${key}`,
      UPSTREAM_BACKUP_URL: `http://127.0.0.1:2/ton/${key}/api/v3`,
      STREAM_URL: `ws://127.0.0.1:1/${key}`,
      PASSTHROUGH: 'on',
    });
    const said = [await ask(started.url, TARGET), await ask(started.url, '/api/v3/masterchainInfo')];
    said.push(await ask(started.url, '/api/streaming/v2/sse', { method: 'POST', body: '{}' }));
    await started.untilLogged('no stream can be opened');
    for (const path of ['/', '/metrics', '/status.json', `/explain?target=${encodeURIComponent(TARGET)}`]) {
      said.push(await ask(started.adminUrl, path));
    }
    expect(said.map(({ text }) => text).join() + started.output + started.errors).not.toContain(key);
    expect(await started.untilLogged('toncache is ready')).toMatchObject({
      upstream: ['http://127.0.0.1:1/(secret)'],
      passedThrough: 'all paths below /api/v3/, streams',
    });
  });

  it.runIf(platform === 'linux')('logs lines for people if standard output is a terminal', async () => {
    const command = [process.execPath, ...COMMAND_OF_DEV.args].join(' ');
    const env = { ...process.env, UPSTREAM_URL: world.indexer.url, PORT: '0', ADMIN_PORT: '0' };
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: COMMAND_OF_DEV.cwd, env, stdio: 'pipe' });
    const ended = once(terminal, 'close');
    let shown = '';
    for await (const text of terminal.stdout) {
      shown += text;
      if (shown.includes('toncache is ready') && shown.endsWith('\n')) break;
    }
    terminal.kill();
    await ended;
    expect(shown.split('\r\n').at(-2)).toMatch(/^\d\d:\d\d:\d\d INFO toncache is ready version=\S+ publicUrl=http:/);
  });

  it.runIf(platform === 'linux')(
    'has 16 threads for look-ups of names and other work, or UV_THREADPOOL_SIZE if that is set',
    async () => {
      const threads = async (more: Readonly<Record<string, string>>) => {
        await using started = await ProxyProcess.start({ UPSTREAM_URL: 'http://indexer.invalid', ...more });
        // Its look-up of the name has ended. The first work makes all threads, one after the other.
        await started.untilLogged('FAILING: nothing can be answered. The indexer is unreachable');
        return await started.workerThreads();
      };
      expect(await threads({})).toBe(16);
      expect(await threads({ UV_THREADPOOL_SIZE: '5' })).toBe(5);
    },
  );

  it('needs no indexer', async () => {
    await using started = await ProxyProcess.start({ UPSTREAM_URL: 'http://127.0.0.1:1' });
    expect((await ask(started.adminUrl, '/readyz')).status).toBe(200);
    expect((await ask(started.adminUrl, '/healthz')).status).toBe(200);
    expect((await ask(started.url, TARGET)).status).toBe(502);
    expect((await ask(started.adminUrl, '/readyz')).status).toBe(200);
  });
});
