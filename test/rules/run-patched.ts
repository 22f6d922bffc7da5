import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Patch } from '../truth/patched-source.ts';
import { PATCH } from './patched.config.ts';

/** The full titles of the tests that ran. */
export interface PatchedRun {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
}

/** The part of vitest's report as JSON that is read here. */
interface JsonReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const MOST_OUTPUT_BYTES = 64 * 1024 * 1024;

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs the tests whose titles hold one of these texts, in these files below `test`, with or without a patch of the
 * source. Rejects if they cannot run.
 */
export async function runPatched(
  redisUrl: string,
  patch: Patch | undefined,
  files: readonly string[],
  titles: readonly string[],
): Promise<PatchedRun> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'toncache-rule-'));
  const report = join(folder.path, 'report.json');
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/rules/patched.config.ts'];
  const named = titles.map((title) => title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const given = ['--reporter=json', `--outputFile=${report}`, '-t', named, ...files.map((file) => `test/${file}`)];
  const { file, from, to } = patch ?? {};
  const env = { ...process.env, TEST_REDIS_URL: redisUrl, [PATCH]: patch && JSON.stringify({ file, from, to }) };
  // A failed test is a result: vitest exits with 1 then.
  const output = await new Promise<string>((resolve) => {
    const all = ['-r', './src/require-node-24.cjs', ...vitest, ...given];
    execFile(process.execPath, all, { cwd: ROOT, env, maxBuffer: MOST_OUTPUT_BYTES }, (_, ...out) =>
      resolve(out.join('')),
    );
  });
  const json = await readFile(report, 'utf8').catch(() => {
    throw new Error(`vitest wrote no report: ${output}`);
  });
  const { testResults }: JsonReport = JSON.parse(json);
  const ran = testResults.flatMap(({ assertionResults }) => assertionResults);
  const titlesOf = (status: string) => ran.filter((each) => each.status === status).map(({ fullName }) => fullName);
  return { passed: titlesOf('passed'), failed: titlesOf('failed') };
}
