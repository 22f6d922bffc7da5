import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { finalityOf } from '../../../src/ton/finality.ts';
import { findOperation } from '../../../src/ton/operations.ts';
import { parseCall } from '../../../src/ton/parse-call.ts';
import { blocksBody, transactionsBody } from './bodies.ts';
import { nginxConfiguration } from './nginx.ts';
import { findPrograms } from './required-programs.ts';
import { hitTarget } from './targets.ts';
import { nameOfToncache } from './toncache.ts';
import { varnishConfiguration } from './varnish.ts';

describe('the configuration of nginx', () => {
  const setting = { folder: '/f', indexerPort: 1, ports: { small: 2, large: 3, gzip: 4 }, isRoot: false };
  const serverOn = (port: number) =>
    nginxConfiguration(setting)
      .split('\n  server {')
      .find((text) => text.includes(`listen 127.0.0.1:${port} `));

  it('is the best one for each size, and one that compresses', () => {
    expect(serverOn(2)).toContain('tcp_nopush on;');
    expect(serverOn(3)).toContain('tcp_nopush off;');
    expect(serverOn(3)).not.toContain('gzip on;');
    expect(serverOn(4)).toContain('gzip on;');
  });

  it('has the access log that is in use, and names a user only where root starts it', () => {
    expect(nginxConfiguration(setting)).toContain('access_log /f/access.log combined;');
    expect(nginxConfiguration(setting)).not.toContain('user root;');
    expect(nginxConfiguration({ ...setting, isRoot: true })).toContain('user root;');
  });
});

describe('the configuration of Varnish', () => {
  it('keeps compressed answers apart from plain ones', () => {
    expect(varnishConfiguration(81)).toContain('.port = "81"');
    expect(varnishConfiguration(81)).toContain('hash_data(req.http.X-Socket);');
  });
});

describe('the name of a toncache', () => {
  it('is that of its folder where several are compared', () => {
    expect(nameOfToncache('/a/main', ['/a/main'])).toBe('toncache');
    expect(nameOfToncache('/a/main/', ['/a/main/', '/a/lane'])).toBe('toncache main');
  });
});

describe('the required programs', () => {
  it('are named with what to install when one is missing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toncache-programs-'));
    try {
      for (const name of ['nginx', 'varnishd', 'taskset', 'redis-server']) {
        await writeFile(join(folder, name), '#!/bin/sh\necho version 1\n', { mode: 0o755 });
      }
      await expect(findPrograms(folder)).rejects.toThrow('not found: wrk. On Debian or Ubuntu: apt-get install wrk.');
      await writeFile(join(folder, 'wrk'), '#!/bin/sh\necho wrk 4.2.0 [epoll]\nexit 1\n', { mode: 0o755 });
      expect((await findPrograms(folder)).get('wrk')).toEqual({ path: join(folder, 'wrk'), version: '4.2.0' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('the bodies', () => {
  const bodies = [blocksBody().join(hitTarget(2, 0).split('seqno=')[1]), transactionsBody(20), transactionsBody(200)];

  it('are as large and as compressible as those of the indexer', () => {
    for (const [place, least] of [1700, 20_000, 200_000].entries()) {
      const body = bodies[place] ?? '';
      expect(body.length).toBeGreaterThan(least);
      expect(body.length).toBeLessThan(least * 1.15);
      const ratio = body.length / gzipSync(body).length;
      expect(ratio).toBeGreaterThan(2.4);
      expect(ratio).toBeLessThan(5.5);
    }
  });

  it.each([
    [2, 0, 'shardsFinal'],
    [20, 1, 'adjacentGrowing'],
    [200, 2, 'adjacentGrowing'],
  ])('of %s KB are answers that a cache keeps', (sizeKb, place, rule) => {
    const [path = '', query = ''] = hitTarget(sizeKb, 0).split('?');
    const operation = findOperation(path);
    const finality = operation && finalityOf(parseCall(operation, query, {}), 200, JSON.parse(bodies[place] ?? ''));
    expect(finality?.rule).toBe(rule);
  });
});
