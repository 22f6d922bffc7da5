import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ValkeyContainer } from '@testcontainers/valkey';
import { expect, test } from 'vitest';
import { dockerAnswers } from '../support/redis-container.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = ['-r', './src/require-node-24.cjs', 'node_modules/vitest/vitest.mjs', 'run'];
/** The tests that use the server that all files share. */
const FILES = [
  'test/contract/tier.test.ts',
  ...['lease', 'rate-limit', 'redis-tier'].map((name) => `test/integration/${name}.test.ts`),
  'test/e2e/shared-redis.test.ts',
];

/** The environment without the variables of the running vitest, which would count as those of the new one. */
function environmentFor(redisUrl: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
  return { ...Object.fromEntries(own), TEST_REDIS_URL: redisUrl };
}

test('the tests of the shared Redis pass on Valkey 8', async (context) => {
  if (!(await dockerAnswers())) context.skip('Valkey takes a container engine, and none answers here.');
  await using valkey = await new ValkeyContainer('valkey/valkey:8').start();
  const args = [...VITEST, '--config', 'test/vitest.config.ts', ...FILES];
  const options = { cwd: ROOT, env: environmentFor(valkey.getConnectionUrl()), encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  expect(status, `${stdout}\n${stderr}`).toBe(0);
});
