import { describe, expect, test } from 'vitest';
import { SETTINGS } from '../../../src/config/load.ts';
import { TABLE } from '../ton/table-of-lifetimes.ts';
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

  test('of lifetimes equal the table', () => {
    expect(settings.lifetimes).toEqual(TABLE);
  });
});

describe('every setting', () => {
  test('has a description', () => {
    for (const { description, path } of SETTINGS) expect(description, path.join('.')).toMatch(/^[A-Z].*\.$/);
  });

  test('of a lifetime can be set in the file only', () => {
    const policies = SETTINGS.filter(({ path }) => path[0] === 'lifetimes');
    expect(policies).toHaveLength(14 * 3 + 2 * 5);
    expect(policies.filter(({ env }) => env !== undefined)).toEqual([]);
  });
});

describe('a lifetime', () => {
  const rules = Object.keys(settings.lifetimes).filter((rule) => !rule.endsWith('Growing'));
  const problems = (rule: string, times: object) => problemsOf(REQUIRED, { lifetimes: { [rule]: times } });

  test.each(rules)('of %s must be from 1 ms to 30 days', (rule) => {
    for (const lifetime of ['0s', '0ms', '0.1ms', '-1s', 'forever', 'Infinity', '', '31d', '1000000h']) {
      expect(problems(rule, { lifetime }), lifetime).toEqual([
        expect.stringMatching(new RegExp(`^lifetimes\\.${rule}\\.lifetime: must be 1ms to 30d`)),
      ]);
    }
    expect(problems(rule, { lifetime: '1ms' })).toEqual([]);
    expect(problems(rule, { lifetime: '30d' })).toEqual([]);
  });

  test('of a growing answer is bounded, and its minimum must not exceed its maximum', () => {
    const growing = (times: object) => problems('adjacentGrowing', times);
    for (const name of ['minLifetime', 'maxLifetime']) {
      for (const text of ['0s', 'forever', '31d']) expect(growing({ [name]: text })).toHaveLength(1);
    }
    expect(growing({ ageDivisor: 0 })).toHaveLength(1);
    expect(growing({ minLifetime: '2s', maxLifetime: '2s' })).toEqual([]);
    expect(growing({ minLifetime: '2h' })).toEqual([
      'lifetimes.adjacentGrowing: minLifetime must not be longer than maxLifetime',
    ]);
  });

  test('of an unknown rule is refused', () => {
    expect(problems('shards', {})).toEqual(['lifetimes.shards: is not a setting']);
  });
});
