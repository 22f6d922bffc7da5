import { createApp } from '../../app.ts';
import { loadSettings } from '../../config/load.ts';
import type { Environment } from '../../config/setting-source.ts';
import { shownUrl } from '../../config/shown-url.ts';
import { credentialsFor } from '../../indexer/credentials.ts';
import { createLogger } from '../../operate/logger.ts';
import { Asker } from './asker.ts';
import { checkBadInput, checkUnknown } from './check-answers.ts';
import { checkPromises } from './check-changes.ts';
import { learnChain } from './learn-chain.ts';
import { VERIFIED } from './operations.ts';
import { type FindingCounts, FindingReport } from './report.ts';
import { UpstreamTraffic } from './upstream-traffic.ts';

/** How a run is made. */
export interface VerifyOptions {
  /** The indexer's address in its original form, not validated. */
  readonly url: string;
  /** The variables of the indexer's key. */
  readonly key: Environment;
  readonly rate: number;
  /** The number of requested blocks, transactions and accounts. */
  readonly samples: number;
  /** The destination of the findings. */
  readonly stdout: { write(text: string): unknown };
  /** The destination of the proxy's warnings. */
  readonly stderr: { write(text: string): unknown };
}

/** Longer than in service: a slow answer is not a wrong one. */
const UPSTREAM_TIMEOUT = '30s';

/** Operations that are off by default are checked too. */
const CACHE_OPERATIONS = 'all';

/** Checks an indexer through toncache in this process. Throws an `UnreachableError` or a `SettingsError`. */
export async function verify({ url, key, rate, samples, stdout, stderr }: VerifyOptions): Promise<FindingCounts> {
  const environment = {
    UPSTREAM_URL: url,
    ...key,
    UPSTREAM_TIMEOUT,
    PORT: '0',
    ADMIN_PORT: '0',
    CACHE_OPERATIONS,
  };
  const { settings } = loadSettings(environment);
  const { upstream } = settings;
  const [indexerUrl] = upstream.url;
  const headers = credentialsFor(indexerUrl, upstream.apiKey)?.headers ?? [];
  const app = await createApp({ logger: createLogger('warn', stderr) }, settings);
  const traffic = new UpstreamTraffic(new URL(indexerUrl).origin, rate);
  try {
    const { publicUrl } = await app.listen();
    const toncache = new Asker({ baseUrl: publicUrl, headers: [], traffic });
    const indexer = new Asker({ baseUrl: indexerUrl, headers, traffic });
    const report = new FindingReport((line) => void stdout.write(`${line}\n`));
    const run = { toncache, indexer, report, given: [], rate, samples };
    const startedAt = performance.now();
    const sample = await learnChain(indexer, samples);
    report.head();
    for (const operation of VERIFIED) await checkBadInput(run, operation);
    for (const operation of VERIFIED) await checkUnknown(run, operation);
    for (const { check } of VERIFIED) await check(run, sample);
    for (const { checkNext } of VERIFIED) await checkNext?.(run);
    await checkPromises(run);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    return report.end(`${traffic.count} requests to ${shownUrl(indexerUrl)} in ${seconds} s`);
  } finally {
    traffic.close();
    await app.close();
  }
}
