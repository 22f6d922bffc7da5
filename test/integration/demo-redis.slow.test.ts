import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { Demo, RIGHT } from './demo-process.ts';

afterEach(() => Demo.killAll());

/** A folder that ends with the test. */
function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toncache-demo-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A program on a PATH of its own that says it is a Redis server; it accepts no connections. */
function aRedisServer(version: string): { readonly path: string; pid(): number } {
  const folder = aFolder();
  const pidFile = join(folder, 'pid');
  const script = `#!/bin/sh
if [ "$1" = --version ]; then echo "Redis server v=${version} sha=00000000:0"; exit; fi
echo $$ > '${pidFile}'
echo 'Ready to accept connections tcp'
exec sleep 1000
`;
  writeFileSync(join(folder, 'redis-server'), script);
  chmodSync(join(folder, 'redis-server'), 0o755);
  return { path: `${folder}:${process.env['PATH']}`, pid: () => Number(readFileSync(pidFile, 'utf8')) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the Redis of npm run demo', () => {
  it('is that of REDIS_URL', async () => {
    const demo = new Demo({ env: { REDIS_URL: inject('redisUrl') } });
    const [, metricsUrl = ''] = await demo.untilSaid(/metrics +(\S+)/);
    await demo.untilCrowd();
    await expect
      .poll(async () => (await fetch(metricsUrl)).text())
      .toMatch(/^toncache_redis_calls_total\{call="write",outcome="stored"\} [1-9]/m);
    demo.child.kill('SIGINT');
    expect(await demo.exitCode).toBe(0);
    expect(demo.said).toMatch(/^ {2}redis {5}REDIS_URL, redis:\/\/[^ ]+$/m);
    expect(demo.said, 'a second instance answers what the first one stored').toMatch(
      /^A second instance .*\n\n +GET \S+\n +200 .* toncache; hit; ttl=\d+; detail=redis$/m,
    );
    expect(demo.said).toContain(RIGHT);
  });

  it('is printed without its password, and may be down', async () => {
    const demo = new Demo({ args: ['--for', '1s'], env: { REDIS_URL: 'redis://user:secret@127.0.0.1:1/2' } });
    expect(await demo.exitCode).toBe(0);
    expect(demo.said).toMatch(/redis {5}REDIS_URL, redis:\/\/127\.0\.0\.1:1\/2, does not answer \(.*ECONNREFUSED/);
    expect(demo.said).not.toContain('secret');
    expect(demo.said).toContain(RIGHT);
  });

  it('is a redis-server on PATH that ends with the demo', async () => {
    const { path, pid } = aRedisServer('7.0.15');
    const demo = new Demo({ args: ['--for', '1s'], env: { PATH: path } });
    await demo.untilSaid(/redis {5}redis-server 7\.0\.15 on port \d+, started for the demo \(.*\/redis-server\)$/m);
    expect(isAlive(pid())).toBe(true);
    expect(await demo.exitCode).toBe(0);
    await expect.poll(() => isAlive(pid())).toBe(false);
  });

  it('ends even if the demo is killed', async () => {
    const { path, pid } = aRedisServer('7.0.15');
    const demo = new Demo({ env: { PATH: path } });
    await demo.untilSaid(/redis-server 7\.0\.15/);
    demo.child.kill('SIGKILL');
    await expect.poll(() => isAlive(pid())).toBe(false);
  });

  it('is not used where the only one on PATH is too old', async () => {
    const { path } = aRedisServer('6.2.1');
    const [folder = ''] = path.split(':');
    const demo = new Demo({ args: ['--for', '100ms'], env: { PATH: folder } });
    expect(await demo.exitCode).toBe(0);
    expect(demo.said).toContain('none: memory alone');
  });
});
