import { defineConfig } from 'vitest/config';
import { GUARD_MS, TEST_GUARD_MS } from './support/patience.ts';

// Times are guards against hanging, not requirements: the machines of CI are slow and busy.
export default defineConfig(({ mode }) => ({
  test: {
    dir: 'test',
    // By mode and not by a filter: vitest runs the files of any filter, so one of its own would add all slow files to them.
    include: [mode === 'slow' ? '**/*.slow.test.ts' : '**/!(*.slow).test.ts'],
    pool: 'forks',
    // Files share worker processes: a process and its modules cost each file 200 ms. Each file ends what it starts.
    isolate: false,
    restoreMocks: true,
    setupFiles: ['test/support/restore-timers.ts', 'test/support/compare-bytes.ts'],
    // More than cores: most of the time tests wait for a socket, a process or a timer.
    maxWorkers: 7,
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: TEST_GUARD_MS,
    hookTimeout: TEST_GUARD_MS,
    expect: { poll: { timeout: GUARD_MS } },
  },
}));
