import { describe, expect, test } from 'vitest';
import { SETTINGS } from '../../../src/config/load.ts';
import { lifetimesWith, POLICIES } from '../../../src/ton/lifetime-table.ts';
import { load, problemsOf, REQUIRED } from './configured.ts';

const { settings } = load(REQUIRED);

describe('defaults', () => {
  test('are the documented ones', () => {
    expect(settings).toMatchObject({
      network: 'mainnet',
      logLevel: 'info',
      upstream: { timeout: 5000, maxConcurrency: 64, maxBodySize: 8 * 1024 ** 2 },
      redis: { budget: 50 },
      memory: { maxSize: 256 * 1024 ** 2 },
      http: { host: '127.0.0.1', port: 8080, adminHost: '127.0.0.1', adminPort: 9464 },
    });
    expect(settings.upstream.apiKey).toBeUndefined();
    expect(settings.redis.url).toBeUndefined();
  });

  test('replace no lifetime of the table', () => {
    expect(lifetimesWith(settings.lifetimes)).toEqual(POLICIES);
  });
});

describe('every setting', () => {
  test('has a description', () => {
    for (const { description, path } of SETTINGS) expect(description, path.join('.')).toMatch(/^[A-Z].*\.$/);
  });

  test('of a lifetime can be set in the file only', () => {
    const policies = SETTINGS.filter(({ path }) => path[0] === 'lifetimes');
    expect(policies).toHaveLength(8);
    expect(policies.filter(({ env }) => env !== undefined)).toEqual([]);
  });
});

describe('a lifetime', () => {
  const problems = (lifetimes: object) => problemsOf(REQUIRED, { lifetimes });
  const NAMES = ['final', 'page', 'growingMin', 'growingMax', 'live', 'pending', 'head', 'notFound'];

  test.each(NAMES)('%s must be from 1 ms to 30 days', (name) => {
    for (const lifetime of ['0s', '0ms', '0.1ms', '-1s', 'forever', 'Infinity', '', '31d', '1000000h']) {
      expect(problems({ [name]: lifetime }), lifetime).toEqual([
        expect.stringMatching(new RegExp(`^lifetimes\\.${name}="${lifetime}": must be 1ms to 30d`)),
      ]);
    }
    const bounds = name === 'growingMin' ? ['1ms', '1h'] : name === 'growingMax' ? ['1s', '30d'] : ['1ms', '30d'];
    for (const bound of bounds) expect(problems({ [name]: bound }), bound).toEqual([]);
  });

  test.each<[string, string[]]>([
    ['final', ['shardsFinal', 'adjacentFinal', 'byHashFinal']],
    ['page', ['shardsFinalPage']],
    ['live', ['shardsLive', 'adjacentLive', 'byHashLive', 'accountLive']],
    ['pending', ['pendingFinalized', 'pendingLive']],
    ['head', ['head']],
    ['notFound', ['notFound']],
  ])('%s replaces the lifetime of its rows, and nothing else', (name, rows) => {
    const { lifetimes } = load(REQUIRED, { lifetimes: { [name]: '7s' } }).settings;
    const replaced = Object.entries(POLICIES).map(([rule, policy]) => [
      rule,
      rows.includes(rule) ? { ...policy, lifetime: 7000 } : policy,
    ]);
    expect(lifetimesWith(lifetimes)).toEqual(Object.fromEntries(replaced));
  });

  test('of growing answers is bounded by growingMin and growingMax, each alone or both', () => {
    const grown = (given: object) => {
      const { adjacentGrowing, byHashGrowing, ...others } = lifetimesWith(
        load(REQUIRED, { lifetimes: given }).settings.lifetimes,
      );
      expect(POLICIES).toMatchObject(others);
      expect(adjacentGrowing).toEqual(byHashGrowing);
      return adjacentGrowing;
    };
    expect(grown({ growingMin: '2s' })).toEqual({ ...POLICIES.byHashGrowing, minLifetime: 2000 });
    expect(grown({ growingMax: '2s' })).toEqual({ ...POLICIES.byHashGrowing, maxLifetime: 2000 });
    expect(grown({ growingMin: '2s', growingMax: '2s' })).toMatchObject({ minLifetime: 2000, maxLifetime: 2000 });
    const refused = (value: string) => [
      `lifetimes.growingMin${value}: must not be longer than growingMax (1s and 1h if not set)`,
    ];
    expect(problems({ growingMin: '2h' })).toEqual(refused('="2h"'));
    expect(problems({ growingMax: '999ms' })).toEqual(refused(''));
    expect(problems({ growingMin: '3s', growingMax: '2s' })).toEqual(refused('="3s"'));
  });

  test('of an unknown kind is refused', () => {
    expect(problems({ shards: '1s' })).toEqual(['lifetimes.shards: is not a setting']);
  });
});
