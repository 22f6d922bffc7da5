import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestBlock } from '../e2e/questions.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import { compiledCode } from '../support/compile-cache.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('a program of toncache whose environment names a proxy that Node would use', () => {
  let world: World;
  let proxy: Server;
  /** The requests to this proxy. */
  const asked: string[] = [];

  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
    asked.length = 0;
    proxy = createServer(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      response.writeHead(403).end();
    });
    proxy.on('connect', ({ url }, socket) => {
      asked.push(`CONNECT ${url}`);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(async () => {
    proxy.close();
    await world[Symbol.asyncDispose]();
  });

  /** Runs a program of the checkout to its end; its exit code. */
  function exitOf(file: string, args: readonly string[]): Promise<number> {
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const proxies = Object.fromEntries(['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((n) => [n, url]));
    const ports = { PORT: new URL(world.proxy.url).port, ADMIN_PORT: new URL(world.proxy.adminUrl).port };
    const env = { UPSTREAM_URL: world.indexer.url, NODE_USE_ENV_PROXY: '1', ...proxies, ...ports, ...compiledCode() };
    return new Promise((resolve) => {
      const child = execFile(process.execPath, [file, ...args], { cwd: ROOT, env }, () =>
        resolve(child.exitCode ?? -1),
      );
    });
  }

  it.each([
    ["the image's health check", 'src/cli/healthcheck.ts', []],
    ['purge', 'src/cli/main.ts', ['purge', '--all']],
    ['explain', 'src/cli/main.ts', ['explain', 'masterchainBlockShards?seqno=7']],
    ['check-config --connect', 'src/cli/main.ts', ['check-config', '--connect']],
    ['the demo', 'src/cli/main.ts', ['demo', '--for', '1s']],
  ])('sends its requests directly: %s', async (_, file, args) => {
    await world.ask(newestBlock(world));
    expect(await exitOf(file, args)).toBe(0);
    expect(asked).toEqual([]);
  });
});
