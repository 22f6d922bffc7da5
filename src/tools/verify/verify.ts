import { createApp } from '../../app.ts';
import { loadSettings, SettingsError } from '../../config/load.ts';
import { createLogger } from '../../operate/logger.ts';
import { Asker, UnreachableError } from './asker.ts';
import { checkAdjacent, checkBlocks, checkPending } from './check-answers.ts';
import { checkNextBlock, checkPromises, checkUnknown } from './check-changes.ts';
import { checkBadInput } from './check-inputs.ts';
import { checkSpellings } from './check-spellings.ts';
import type { Run } from './examine.ts';
import { learnChain, NotAnIndexerError } from './learn-chain.ts';
import { EXIT_CODES, HELP, parseArguments, USAGE, type VerifyOptions, VerifyUsageError } from './parse-arguments.ts';
import { FindingReport } from './report.ts';
import { UpstreamTraffic } from './upstream-traffic.ts';

/** What the command gets from its process. */
export interface Surroundings {
  /** After the program's name. */
  readonly args: readonly string[];
  readonly apiKey: string | undefined;
  readonly stdout: Writer;
  readonly stderr: Writer;
}

interface Writer {
  write(text: string): void;
}

/** Longer than in service: a slow answer is not a wrong one. */
const UPSTREAM_TIMEOUT = '30s';

/** Runs the command and returns its exit code. Writes its findings, or one line that says why it cannot run. */
export async function verify(surroundings: Surroundings): Promise<number> {
  const { args, stdout, stderr } = surroundings;
  try {
    const options = parseArguments(args);
    if (options !== 'help') return await run(options, surroundings);
    stdout.write(`${HELP}\n`);
    return EXIT_CODES.right;
  } catch (error) {
    if (error instanceof VerifyUsageError || error instanceof SettingsError) {
      stderr.write(`${error.message}\n${USAGE}\n`);
      return EXIT_CODES.usage;
    }
    if (error instanceof UnreachableError || error instanceof NotAnIndexerError) {
      stderr.write(`verify: ${error.message}\n`);
      return EXIT_CODES.unavailable;
    }
    throw error;
  }
}

async function run(options: VerifyOptions, { apiKey, stdout, stderr }: Surroundings): Promise<number> {
  const { url, rate } = options;
  const { settings } = loadSettings({
    UPSTREAM_URL: url,
    UPSTREAM_API_KEY: apiKey,
    UPSTREAM_TIMEOUT,
    PORT: '0',
    ADMIN_PORT: '0',
  });
  const {
    apiKey: key,
    url: [indexerUrl],
  } = settings.upstream;
  const app = createApp({ logger: createLogger('warn', stderr) }, settings);
  const traffic = new UpstreamTraffic({ origin: new URL(indexerUrl).origin, rate });
  try {
    const { publicUrl } = await app.listen();
    const report = new FindingReport((line) => void stdout.write(`${line}\n`));
    const startedAt = performance.now();
    await check(
      {
        toncache: new Asker({ baseUrl: publicUrl, headers: {}, traffic }),
        indexer: new Asker({ baseUrl: indexerUrl, headers: keyHeader(key), traffic }),
        report,
        given: [],
      },
      options,
    );
    report.end(indexerUrl, traffic.count, Math.round((performance.now() - startedAt) / 1000));
    if (report.count('violation') > 0) return EXIT_CODES.violation;
    return report.count('unclear') > 0 ? EXIT_CODES.incomplete : EXIT_CODES.right;
  } finally {
    traffic.close();
    await app.close();
  }
}

async function check(run: Run, options: VerifyOptions): Promise<void> {
  const sample = await learnChain(run.indexer, options.samples);
  run.report.head();
  await checkBadInput(run);
  await checkUnknown(run);
  await checkBlocks(run, sample);
  // Must run before other checks cache these answers.
  await checkSpellings(run, sample);
  await checkAdjacent(run, sample);
  await checkPending(run, options.samples);
  await checkNextBlock(run, options);
  await checkPromises(run);
}

function keyHeader(apiKey: string | undefined): Readonly<Record<string, string>> {
  return apiKey === undefined ? {} : { 'X-Api-Key': apiKey };
}
