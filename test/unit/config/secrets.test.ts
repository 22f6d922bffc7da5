import { describe, expect, test } from 'vitest';
import { SettingsError } from '../../../src/config/load.ts';
import { load, problemsOf, REQUIRED } from './configured.ts';

const SECRET = 'hunter2';

describe('a secret', () => {
  test('is refused in the file, whether or not the environment sets it', () => {
    const file = { upstream: { apiKey: SECRET }, redis: { url: `redis://:${SECRET}@r` } };
    const refused = [
      'upstream.apiKey: is a secret and comes from the environment only (UPSTREAM_API_KEY)',
      'redis.url: is a secret and comes from the environment only (REDIS_URL)',
    ];
    expect(problemsOf(REQUIRED, file)).toEqual(refused);
    expect(problemsOf({ ...REQUIRED, UPSTREAM_API_KEY: 'k', REDIS_URL: 'redis://r' }, file)).toEqual(refused);
  });
});

describe('a secret is never echoed', () => {
  const rejected = (environment: Readonly<Record<string, string>>, file?: unknown) => {
    expect(problemsOf(environment, file)).not.toEqual([]);
    let shown = '';
    try {
      load(environment, file);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      shown = `${error.message} ${error.stack} ${JSON.stringify(error.problems)}`;
    }
    expect(shown).not.toContain(SECRET);
  };

  test.each([
    ['an API key that is none', { UPSTREAM_API_KEY: `${SECRET} ${SECRET}` }],
    ['a Redis URL of another scheme', { REDIS_URL: `http://:${SECRET}@redis` }],
    ['a Redis URL that is none', { REDIS_URL: `:${SECRET}@redis` }],
    ['an indexer with userinfo', { UPSTREAM_URL: `http://user:${SECRET}@indexer` }],
    ['an indexer with a key in its query', { UPSTREAM_URL: `http://indexer?api_key=${SECRET}` }],
    ['a stream with userinfo', { STREAM_URL: `wss://user:${SECRET}@stream` }],
    ['a stream with a key in its query', { STREAM_URL: `wss://stream?api_key=${SECRET}` }],
    ['an indexer of another scheme', { UPSTREAM_URL: `ftp://user:${SECRET}@indexer` }],
    ['a secret in the wrong variable', { LOG_LEVEL: SECRET, PORT: SECRET, HOST: ` ${SECRET}`, NETWORK: `${SECRET}!` }],
  ])('%s', (_, environment) => rejected({ ...REQUIRED, ...environment }));

  test.each([
    ['a key', { upstream: { apiKey: SECRET } }],
    ['a key of a wrong type', { upstream: { apiKey: [SECRET] } }],
    ['a Redis URL', { redis: { url: `redis://:${SECRET}@redis` } }],
    ['a Redis URL where a group belongs', { redis: `redis://:${SECRET}@redis` }],
    ['a value of a key that is not known', { apiKey: SECRET }],
    ['a file whose JSON breaks at a secret', `{"upstream":{"apiKey":${SECRET}}}`],
    ['a file whose JSON breaks beside a secret', `{"apiKey":"${SECRET}";}`],
    ['a file that is no JSON but a secret', SECRET],
  ])('%s in the file', (_, file) => rejected(REQUIRED, file));
});
