import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientRoom, openFilesLimit } from '../../../src/config/open-files.ts';
import { load, REQUIRED } from './configured.ts';

const roomOf = (openFiles: number | undefined, environment: Readonly<Record<string, string>> = {}, file?: unknown) =>
  clientRoom(load({ ...REQUIRED, NETWORK: 'mainnet', ...environment }, file).settings, openFiles);

/** The number of open files that are reserved for everything except client connections. */
const kept = (environment: Readonly<Record<string, string>> = {}, file?: unknown) =>
  5000 - roomOf(5000, environment, file).maxConnections;

describe('the maximum number of client connections', () => {
  it.each([undefined, Number.POSITIVE_INFINITY, 65_536])(
    'is http.maxConnections with an open file limit of %s',
    (openFiles) => {
      expect(roomOf(openFiles)).toEqual({ maxConnections: 10_000 });
    },
  );

  it.each([0, 64, 200, 224])('is 64 with an open file limit of %i, which leaves fewer', (openFiles) => {
    expect(roomOf(openFiles).maxConnections).toBe(64);
  });

  it('is the open file limit minus the pool, the admin port and the process itself, with a warning', () => {
    const { maxConnections, warning } = roomOf(4096);
    expect(maxConnections).toBe(4096 - 65 - 32 - 64);
    expect(warning).toContain('the limit of open files (4096)');
    expect(warning).toContain('raise it to 10161');
    expect(roomOf(10_161)).toEqual({ maxConnections: 10_000 });
    expect(roomOf(10_160).warning).toBeDefined();
  });

  it('never exceeds http.maxConnections, and is less only with a warning', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.nat(200_000), (maxConnections, openFiles) => {
        const room = roomOf(openFiles, {}, { http: { maxConnections } });
        expect(room.maxConnections).toBeLessThanOrEqual(maxConnections);
        expect(room.maxConnections).toBeGreaterThanOrEqual(Math.min(64, maxConnections));
        expect(room.warning === undefined).toBe(room.maxConnections === maxConnections);
      }),
    );
  });

  it.each([
    ['a second indexer', { UPSTREAM_URL: 'http://a,http://b' }, {}, 65],
    ['more slots at the indexer', { UPSTREAM_MAX_CONCURRENCY: '100' }, {}, 36],
    ['a backup', { UPSTREAM_BACKUP_URL: 'http://b' }, { upstream: { backup: { maxConcurrency: 10 } } }, 11],
    ['pass-through', { PASSTHROUGH: 'on' }, { passThrough: { maxConcurrency: 20 } }, 20 + 256 + 64],
    ['streams of clients', { PASSTHROUGH: 'on' }, { passThrough: { maxStreams: 100 } }, 32 + 256 + 100],
    [
      'pass-through to two indexers',
      { PASSTHROUGH: 'on', UPSTREAM_URL: 'http://a,http://b' },
      { passThrough: { maxConcurrency: 20 } },
      65 + 2 * (20 + 256) + 64,
    ],
    ['a Redis server', { REDIS_URL: 'redis://r' }, {}, 1],
    ['sentinels', { REDIS_URL: 'redis-sentinel://a,b/0?name=primary' }, {}, 2],
    ['a Redis Cluster', { REDIS_URL: 'redis-cluster://a,b' }, {}, 32],
    ['the stream of the indexer', { STREAM_URL: 'ws://s' }, {}, 1],
  ])('leaves room for %s', (_, environment, file, more) => {
    expect(kept(environment, file) - kept()).toBe(more);
  });
});

it('the open file limit is read on Linux, and is unknown on other systems', () => {
  if (process.platform === 'linux') expect(openFilesLimit()).toBeGreaterThan(0);
  else expect(openFilesLimit()).toBeUndefined();
});
