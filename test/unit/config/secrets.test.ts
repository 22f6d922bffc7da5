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

describe('an error never shows the secret in', () => {
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
    ['an invalid API key', { UPSTREAM_API_KEY: `${SECRET} ${SECRET}` }],
    ['a Redis URL with another scheme', { REDIS_URL: `http://:${SECRET}@redis` }],
    ['a Redis URL without a scheme', { REDIS_URL: `:${SECRET}@redis` }],
    ['a login with a slash', { UPSTREAM_URL: `http://user:${SECRET}/${SECRET}@indexer` }],
    ['a login that begins like a port', { UPSTREAM_URL: `http://user:12/${SECRET}@indexer` }],
    ['a login with a backslash', { UPSTREAM_URL: `http://user:12\\${SECRET}@indexer` }],
    ['a login with a comma', { UPSTREAM_URL: `http://user:1,${SECRET}@indexer` }],
    ['a login with a question mark', { UPSTREAM_BACKUP_URL: `http://user:1?${SECRET}@indexer` }],
    ['a login with a number sign', { UPSTREAM_BACKUP_URL: `http://user:1#${SECRET}@indexer` }],
    ['a login that does not decode', { UPSTREAM_URL: `http://user:${SECRET}%zz@indexer` }],
    ['a login with a colon in its user', { UPSTREAM_URL: `http://${SECRET}%3Aa:${SECRET}@indexer` }],
    ['a login with a control character', { UPSTREAM_URL: `http://user:${SECRET}%0a@indexer` }],
    ['an address with two logins', { UPSTREAM_URL: `http://user:${SECRET}@indexer,http://x:${SECRET}@indexer` }],
    ['several keys', { UPSTREAM_API_KEY: `${SECRET},${SECRET}` }],
    ['a list of streams', { PASSTHROUGH: 'on', STREAM_URL: `ws://a,ws://${SECRET}` }],
    ['the URL of an indexer with a key in its query', { UPSTREAM_URL: `http://indexer?api_key=${SECRET}` }],
    ['the URL of a stream with userinfo', { STREAM_URL: `wss://user:${SECRET}@stream` }],
    ['the URL of a stream with a key in its query', { STREAM_URL: `wss://stream?api_key=${SECRET}` }],
    ['the URL of an indexer with another scheme', { UPSTREAM_URL: `ftp://user:${SECRET}@indexer` }],
    ['the URL of an indexer with a key in its path', { UPSTREAM_URL: `indexer:8081/${SECRET}` }],
    ['the URL of a backup with a key in its path', { UPSTREAM_BACKUP_URL: `ftp://backup/${SECRET}` }],
    ['the URL of a stream with a key in its path', { STREAM_URL: `https://stream/${SECRET}` }],
    ['a token with a space', { ADMIN_TOKEN: `${SECRET} ${SECRET}` }],
    ['a URL in a variable for something else', { NETWORK: `http://indexer/${SECRET}`, HOST: `user:${SECRET}@redis` }],
    ['an origin with a path', { ALLOWED_ORIGINS: `https://app.example/${SECRET}` }],
    ['a key in a variable for something else', { PORT: `${SECRET}-${'0'.repeat(32)}`, LOG_LEVEL: SECRET.repeat(5) }],
  ])('%s', (_, environment) => rejected({ ...REQUIRED, ...environment }));

  test.each([
    ['an API key', { upstream: { apiKey: SECRET } }],
    ['an API key of the wrong type', { upstream: { apiKey: [SECRET] } }],
    ['a Redis URL', { redis: { url: `redis://:${SECRET}@redis` } }],
    ['the URL of a backup, with a key in its path', { upstream: { backup: { url: `indexer/${SECRET}` } } }],
    ['an object in place of a value', { http: { port: { apiKey: SECRET } } }],
    ['text in place of a group', { http: SECRET }],
    ['a Redis URL in place of the group redis', { redis: `redis://:${SECRET}@redis` }],
    ['the value of an unknown key', { apiKey: SECRET }],
    ['a syntax error at the secret', `{"upstream":{"apiKey":${SECRET}}}`],
    ['a syntax error next to the secret', `{"apiKey":"${SECRET}";}`],
    ['only the secret and no JSON', SECRET],
  ])('a file with %s', (_, file) => rejected(REQUIRED, file));
});
