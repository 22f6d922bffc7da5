import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describeRedisUrl, parseRedisUrl } from '../../../src/redis/redis-url.ts';

const nobody = { username: undefined, password: undefined };

describe('a REDIS_URL that is accepted', () => {
  test.each([
    ['redis://r', { topology: 'server', tls: false, endpoints: [{ host: 'r', port: 6379 }], database: 0, ...nobody }],
    ['rediss://r:1/', { topology: 'server', tls: true, endpoints: [{ host: 'r', port: 1 }], database: 0, ...nobody }],
    [
      'redis://user:pass@10.0.0.1:6380/3',
      {
        topology: 'server',
        tls: false,
        endpoints: [{ host: '10.0.0.1', port: 6380 }],
        database: 3,
        username: 'user',
        password: 'pass',
      },
    ],
    [
      'redis://:p%40ss%3A+%2F@[::1]:7',
      {
        topology: 'server',
        tls: false,
        endpoints: [{ host: '::1', port: 7 }],
        database: 0,
        username: undefined,
        password: 'p@ss:+/',
      },
    ],
    [
      'redis-cluster://u:p@a:1,b,[::1]:3',
      {
        topology: 'cluster',
        endpoints: [
          { host: 'a', port: 1 },
          { host: 'b', port: 6379 },
          { host: '::1', port: 3 },
        ],
        database: 0,
        username: 'u',
        password: 'p',
      },
    ],
    [
      'redis-sentinel://u:p@a:1,b/2?name=my%20primary',
      {
        topology: 'sentinel',
        endpoints: [
          { host: 'a', port: 1 },
          { host: 'b', port: 26379 },
        ],
        database: 2,
        username: 'u',
        password: 'p',
        primaryName: 'my primary',
        sentinelCredentials: nobody,
      },
    ],
    [
      'redis-sentinel://a?sentinelUsername=s&sentinelPassword=x%26+y=&name=m',
      {
        topology: 'sentinel',
        endpoints: [{ host: 'a', port: 26379 }],
        database: 0,
        ...nobody,
        primaryName: 'm',
        sentinelCredentials: { username: 's', password: 'x&+y=' },
      },
    ],
  ])('%s', (url, address) => expect(parseRedisUrl(url)).toEqual(address));

  test('may have any percent-encoded user and password', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (username, password) => {
        fc.pre(username.isWellFormed() && password.isWellFormed());
        const [user, pass] = [username, password].map(encodeURIComponent);
        expect(parseRedisUrl(`redis://${user}:${pass}@r`)).toMatchObject({ username, password });
        const sentinel = `redis-sentinel://${user}:${pass}@r?name=m&sentinelUsername=${user}&sentinelPassword=${pass}`;
        expect(parseRedisUrl(sentinel)).toMatchObject({
          username,
          password,
          sentinelCredentials: { username, password },
        });
      }),
    );
  });
});

describe('a REDIS_URL that is refused, and its error', () => {
  test.each([
    ['', 'must be like redis://'],
    ['r:6379', 'must be like'],
    ['/tmp/redis.sock', 'must be like'],
    ['http://r', 'must be like'],
    ['redis://', 'must be like'],
    ['redis://user:se#cret@r', 'percent-encode'],
    ['redis://user:se/cret@r', '%2F'],
    ['redis-cluster://u:p@a,u:p@b', 'once'],
    ['toString://r', 'must be like'],
    ['redis://a,b', 'one host'],
    ['redis://a:0', 'hosts'],
    ['redis://a:65536', 'hosts'],
    ['redis://a b', 'hosts'],
    ['redis-cluster://a,,b', 'hosts'],
    ['redis-cluster://a/1', 'database'],
    ['redis-cluster://a?name=x', 'query'],
    ['redis://a?family=6', 'query'],
    ['redis://a/name', 'number'],
    ['redis://%zz@a', 'percent sign'],
    ['redis-sentinel://a', 'name'],
    ['redis-sentinel://a?name=', 'name'],
    ['redis-sentinel://a?name=m&password=x', 'sentinelPassword'],
  ])('%j: %s', (url, said) => expect(() => parseRedisUrl(url)).toThrow(said));

  test('the error contains no part of the URL that may be a password', () => {
    const secret = 'hunter2';
    for (const url of [
      `:${secret}@redis`,
      `http://:${secret}@redis`,
      `redis://:${secret}%@r`,
      `redis://:${secret}@r:${secret}`,
      `redis://:${secret}/${secret}@r`,
      `redis://:a?${secret}@r`,
      `redis://u:p@r/${secret}`,
      `redis-sentinel://r?${secret}=${secret}`,
      `redis-cluster://:${secret}@a,${secret}@b`,
    ]) {
      let said = '';
      try {
        parseRedisUrl(url);
      } catch (error) {
        said = String((error as Error).stack);
      }
      expect(said, url).toContain('must');
      expect(said).not.toContain(secret);
    }
  });
});

test('a REDIS_URL is described without credentials and query', () => {
  expect(describeRedisUrl('redis-sentinel://u:p@a:1,b/2?name=m&sentinelPassword=x')).toBe('redis-sentinel://a:1,b/2');
});
