import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { ask } from '../support/http-client.ts';
import { newestBlock } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

const HAS_NGINX = spawnSync('nginx', ['-v']).status === 0;
const DAY_MS = 24 * 3_600_000;

/** nginx with a cache in front of a proxy. */
async function startNginx(proxyUrl: string) {
  const folder = mkdtempSync(join(tmpdir(), 'toncache-nginx-'));
  // Its worker has another user.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const config = join(folder, 'nginx.conf');
  writeFileSync(
    config,
    `daemon off; worker_processes 1; pid ${folder}/pid; events { worker_connections 64; }
    http { access_log off; ${paths.join(' ')}
      proxy_cache_path ${folder}/cache keys_zone=c:1m;
      server { listen 127.0.0.1:${port}; location / {
        proxy_pass ${proxyUrl}; proxy_cache c; add_header X-From $upstream_cache_status always; } } }`,
  );
  const nginx = spawn('nginx', ['-p', folder, '-c', config, '-e', join(folder, 'error.log')], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await expect
    .poll(() =>
      ask(url, '/').then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(404);
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      const ended = once(nginx, 'exit');
      nginx.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

describe.runIf(HAS_NGINX)('nginx with a cache in front of toncache', () => {
  it.each(['GET', 'HEAD'])('keeps an old answer only for the rest of its lifetime: %s', async (method) => {
    await using world = await World.start({ ...ANY_WORLD, proxy: { stopsTime: true } });
    await using nginx = await startNginx(world.proxy.url);
    const target = newestBlock(world);
    await world.ask(target);
    // By `max-age` alone nginx would keep it for another day.
    await world.leap(DAY_MS - 2500);
    const from = async () => (await ask(nginx.url, target, { method })).headers;
    expect(await from()).toMatchObject({ 'x-from': 'MISS', 'cache-control': 'public, max-age=86399' });
    const kept = await from();
    expect(kept).toMatchObject({ 'x-from': 'HIT' });
    expect(kept).not.toHaveProperty('x-accel-expires');
    await expect.poll(async () => (await from())['x-from'], { interval: 200 }).toBe('EXPIRED');
  });
});
