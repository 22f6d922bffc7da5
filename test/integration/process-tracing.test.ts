import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Indexer, startIndexer } from '../../src/simulator/indexer.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startTraceCollector } from '../support/trace-collector.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Writes the name of every package that is loaded to the file that LOADED names. */
const WATCH_LOADING = `
  const { appendFileSync } = require('node:fs');
  require('node:module').registerHooks({
    resolve(specifier, context, next) {
      if (!/^(node:|[./])/.test(specifier)) appendFileSync(process.env.LOADED, specifier + '\\n');
      return next(specifier, context);
    },
  });
`;

let indexer: Indexer;
let dir: string;

beforeAll(async () => {
  indexer = await startIndexer();
  dir = await mkdtemp(join(tmpdir(), 'toncache-tracing-'));
  await writeFile(join(dir, 'watch.cjs'), WATCH_LOADING);
});

afterAll(async () => {
  await indexer.close();
  await rm(dir, { recursive: true });
});

/** The packages that a process loads which answers one miss. */
async function packagesLoaded(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const file = join(dir, `loaded-${Object.keys(env).length}`);
  const args = ['-r', join(dir, 'watch.cjs'), 'src/main.ts'];
  const program = { args, cwd: ROOT };
  await using started = await ProxyProcess.start(
    { UPSTREAM_URL: indexer.url, LOADED: file, ...env },
    undefined,
    program,
  );
  await askForOne(started);
  return readFileSync(file, 'utf8').trim().split('\n');
}

function askForOne(started: ProxyProcess): Promise<Response> {
  return fetch(`${started.url}/api/v3/masterchainBlockShards?seqno=${indexer.chain.headSeqno}`);
}

describe('the packages of OpenTelemetry', () => {
  // That prom-client loads the interface (`api`) is no doing of ours.
  const isOfSdk = (specifier: string) => /^@opentelemetry\/(?!api$)/.test(specifier);

  it('are not loaded without OTEL_EXPORTER_OTLP_ENDPOINT', async () => {
    const loaded = await packagesLoaded({});
    expect(loaded).toContain('undici');
    expect(loaded.filter(isOfSdk)).toEqual([]);
  });

  it('are loaded with it', async () => {
    await using collector = await startTraceCollector();
    const loaded = await packagesLoaded({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect(loaded.filter(isOfSdk)).toContain('@opentelemetry/sdk-trace');
  });
});

describe('the last spans', () => {
  it('are exported when the process ends, under the name of the service in the environment', async () => {
    await using collector = await startTraceCollector();
    await using started = await ProxyProcess.start({
      UPSTREAM_URL: indexer.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_SERVICE_NAME: 'toncache-mainnet',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    await askForOne(started);
    started.signal('SIGTERM');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(collector.paths).toEqual(['/v1/traces']);
    expect(collector.spans).toHaveLength(2);
    expect(collector.resource).toMatchObject({
      'service.name': 'toncache-mainnet',
      'deployment.environment.name': 'test',
    });
  });

  it('are lost without harm where the collector refuses them: one line of the log', async () => {
    await using collector = await startTraceCollector();
    collector.status = 400;
    await using started = await ProxyProcess.start({
      UPSTREAM_URL: indexer.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    expect((await askForOne(started)).status).toBe(200);
    started.signal('SIGTERM');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(started.log.filter(({ msg }) => msg.startsWith('traces are not exported'))).toHaveLength(1);
    expect(started.errors).toBe('');
  });

  it('are given up after a second where nobody answers', async () => {
    await using collector = await startTraceCollector();
    collector.status = 0;
    await using started = await ProxyProcess.start({
      UPSTREAM_URL: indexer.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    await askForOne(started);
    started.signal('SIGTERM');
    expect(await started.ended).toEqual({ code: 0, signal: null });
    expect(collector.paths).toEqual(['/v1/traces']);
  });
});
