import { afterEach, describe, expect, inject, it } from 'vitest';
import { Demo, RIGHT } from './demo-process.ts';

afterEach(() => Demo.killAll());

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
    expect(demo.said).toContain(RIGHT);
  });

  it('is printed without its password, and may be down', async () => {
    const demo = new Demo({ args: ['--for', '1s'], env: { REDIS_URL: 'redis://user:secret@127.0.0.1:1/2' } });
    expect(await demo.exitCode).toBe(0);
    expect(demo.said).toMatch(/redis {5}REDIS_URL, redis:\/\/127\.0\.0\.1:1\/2$/m);
    expect(demo.said).not.toContain('secret');
    expect(demo.said).toContain(RIGHT);
  });
});
