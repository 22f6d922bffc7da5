import { fileURLToPath } from 'node:url';
import { defineConfig, mergeConfig } from 'vitest/config';
import type { Patch } from '../truth/patched-source.ts';
import usual from '../vitest.config.ts';

/** The variable that names the patch of a run, as JSON; without it nothing is patched. */
export const PATCH = 'TONCACHE_TEST_PATCH';

const { file, from, to }: Patch = JSON.parse(process.env[PATCH] ?? '{"file":"","from":"","to":""}');
const patched = fileURLToPath(new URL(`../../src/${file}`, import.meta.url));

/** Vitest as usual, with one place of the source replaced when it is loaded. */
export default defineConfig((environment) =>
  mergeConfig(usual(environment), {
    // Its keys do not name the patch.
    test: { fsModuleCache: false },
    plugins: [
      {
        name: 'patch',
        enforce: 'pre',
        transform: (code: string, id: string) =>
          id.split('?', 1)[0] === patched ? code.replace(from, () => to) : null,
      },
    ],
  }),
);
