import { createApp } from '../app.ts';
import { loadSettings, SettingsError } from '../config/load.ts';
import { createLogger } from '../telemetry/logger.ts';
import { Asker, UnreachableError } from './asker.ts';
import { checkNextBlock, checkUnknown } from './check-absent.ts';
import { checkAdjacent } from './check-adjacent.ts';
import { checkBadInput } from './check-bad-input.ts';
import { checkBlocks } from './check-blocks.ts';
import { checkPending } from './check-pending.ts';
import { checkPromises } from './check-promises.ts';
import { checkSpellings } from './check-spellings.ts';
import { learnChain, NotAnIndexerError } from './learn-chain.ts';
import { parseArguments, USAGE, UsageError, type VerifyOptions } from './parse-arguments.ts';
import { Report } from './report.ts';
import type { Run } from './run.ts';
import { UpstreamTraffic } from './upstream-traffic.ts';

/** Of sysexits.h: the command line is wrong, the indexer cannot be had. */
const EXIT_USAGE = 64;
const EXIT_UNAVAILABLE = 69;
const EXIT_VIOLATION = 1;

/** Longer than in service: a slow answer is no wrong one. */
const UPSTREAM_TIMEOUT = '30s';

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    return await verify(parseArguments(process.argv.slice(2)));
  } catch (error) {
    if (error instanceof UsageError || error instanceof SettingsError) {
      console.error(`${error.message}\n${USAGE}`);
      return EXIT_USAGE;
    }
    if (error instanceof UnreachableError || error instanceof NotAnIndexerError) {
      console.error(`verify: ${error.message}`);
      return EXIT_UNAVAILABLE;
    }
    throw error;
  }
}

async function verify({ url, rate, samples }: VerifyOptions): Promise<number> {
  const { settings } = loadSettings({
    UPSTREAM_URL: url,
    UPSTREAM_API_KEY: process.env['UPSTREAM_API_KEY'],
    UPSTREAM_TIMEOUT,
    PORT: '0',
    ADMIN_PORT: '0',
  });
  const { upstream } = settings;
  const app = createApp({ settings, logger: createLogger('warn', process.stderr) });
  const traffic = new UpstreamTraffic({ origin: new URL(upstream.url).origin, rate });
  try {
    const { publicUrl } = await app.listen();
    const report = new Report((line) => console.log(line));
    const startedAt = performance.now();
    await check(
      {
        toncache: new Asker({ baseUrl: publicUrl, headers: {}, traffic }),
        indexer: new Asker({ baseUrl: upstream.url, headers: keyHeader(upstream.apiKey), traffic }),
        report,
        given: [],
      },
      samples,
    );
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(
      `\n${report.count('ok')} ok, ${report.count('unclear')} unclear, ${report.count('violation')} violations; ` +
        `${traffic.count} requests to ${upstream.url} in ${seconds} s`,
    );
    return report.count('violation') > 0 ? EXIT_VIOLATION : 0;
  } finally {
    traffic.close();
    await app.close();
  }
}

async function check(run: Run, samples: number): Promise<void> {
  const { seqnos, transactions } = await learnChain(run.indexer, samples);
  run.report.head();
  await checkBadInput(run);
  await checkUnknown(run);
  await checkBlocks(run, seqnos);
  // Before these answers are cached for another reason.
  await checkSpellings(run, transactions);
  await checkAdjacent(run, transactions);
  await checkPending(run, samples);
  await checkNextBlock(run);
  await checkPromises(run);
}

function keyHeader(apiKey: string | undefined): Readonly<Record<string, string>> {
  return apiKey === undefined ? {} : { 'X-Api-Key': apiKey };
}
