import { defineConfig } from 'vitest/config';

// Times are guards against hanging, not requirements: the machines of CI are slow and busy.
export default defineConfig({
  test: {
    dir: 'test',
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
