import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Builds an app in a separate process, and prints whether ioredis was loaded. */
const PROGRAM = `
import { createRequire } from 'node:module';
import { createApp } from './src/app.ts';
import { loadSettings } from './src/config/load.ts';
import { createLogger } from './src/operate/logger.ts';
const { settings } = loadSettings(process.env);
await createApp({ logger: createLogger('silent', { write: () => {} }) }, settings);
console.log(Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/ioredis/')));
process.exit();`;

it.each([
  ['is not loaded without a Redis', {}, 'false'],
  ['is loaded with one', { REDIS_URL: 'redis://127.0.0.1:1' }, 'true'],
])('ioredis, which takes memory, %s', async (_, redis, isLoaded) => {
  const env = { PATH: process.env['PATH'], UPSTREAM_URL: 'http://127.0.0.1:1', PORT: '0', ADMIN_PORT: '0', ...redis };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM], { env });
  expect(stdout.trim()).toBe(isLoaded);
});
