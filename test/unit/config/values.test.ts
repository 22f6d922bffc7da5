import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import {
  duration,
  headerValue,
  integer,
  listenHost,
  networks,
  origins,
  pathPrefixes,
  size,
  streamUrl,
  upstreamUrls,
  word,
} from '../../../src/config/values.ts';

/** The parsed value; `undefined` if it is refused. */
const read = <T>(schema: z.ZodType<T>, given: unknown): T | undefined => schema.safeParse(given).data;
const DAY_MS = 86_400_000;

describe('a duration', () => {
  const anyDuration = duration('0ms', '30d');

  test.each([
    ['400ms', 400],
    ['5s', 5000],
    ['5 s', 5000],
    [' 5s ', 5000],
    ['1.5s', 1500],
    ['0.25s', 250],
    ['2m', 120_000],
    ['10min', 600_000],
    ['24h', DAY_MS],
    ['30d', 30 * DAY_MS],
    ['0s', 0],
  ])('is written with its unit: %j is %d ms', (text, ms) => expect(read(anyDuration, text)).toBe(ms));

  test.each([5, '', '5', 's', '5S', '5sec', '-5s', '+5s', '.5s', '5.s', '1e3s', '1h30m', '٥s', '31d', 'forever', null])(
    'cannot be %j',
    (text) => expect(read(anyDuration, text)).toBeUndefined(),
  );

  test('must lie within its bounds, inclusive', () => {
    fc.assert(
      fc.property(fc.nat(10_000), (ms) => {
        expect(read(duration('250ms', '5s'), `${ms}ms`)).toBe(ms >= 250 && ms <= 5000 ? ms : undefined);
      }),
    );
  });
});

describe('a size', () => {
  test.each([
    ['512B', 512],
    ['1KiB', 1024],
    ['256MiB', 256 * 1024 ** 2],
    ['1.5GiB', 1.5 * 1024 ** 3],
  ])('is written with its unit: %j is %d bytes', (text, bytes) => {
    expect(read(size('1B', '1024GiB'), text)).toBe(bytes);
  });

  test.each([1024, '1024', '256MB', '256mib', '256M', '1TiB', '-1B', '0B', '1025GiB'])('cannot be %j', (text) => {
    expect(read(size('1B', '1024GiB'), text)).toBeUndefined();
  });
});

describe('a whole number', () => {
  test.each([
    [0, 0],
    [65_535, 65_535],
    ['8080', 8080],
    ['0', 0],
  ])('is read from %j as %d', (given, value) => expect(read(integer(0, 65_535), given)).toBe(value));

  test.each([
    -1,
    65_536,
    1.5,
    Number.NaN,
    '',
    ' 80',
    '80 ',
    '-1',
    '+1',
    '0x50',
    '8e1',
    '1.0',
    '65536',
    true,
    null,
    [1],
  ])('cannot be %j', (given) => expect(read(integer(0, 65_535), given)).toBeUndefined());
});

describe('the URL of an indexer', () => {
  test.each([
    ['http://indexer:8081', 'http://indexer:8081'],
    ['http://indexer:8081/', 'http://indexer:8081'],
    ['http://indexer:8081/api/v3', 'http://indexer:8081'],
    ['http://indexer:8081/api/v3/', 'http://indexer:8081'],
    ['https://toncenter.example/API/V3', 'https://toncenter.example'],
    ['https://host/behind/a/path/api/v3', 'https://host/behind/a/path'],
    ['https://host/toncenter/v3/', 'https://host/toncenter/v3'],
    ['https://host/api/v3x', 'https://host/api/v3x'],
    ['http://[::1]:8081', 'http://[::1]:8081'],
    ['http://10.0.0.1', 'http://10.0.0.1'],
    ['http://user:p%40ss@indexer/api/v3', 'http://user:p%40ss@indexer'],
    ['http://user@indexer', 'http://user:@indexer'],
    ['http://:pass@indexer', 'http://:pass@indexer'],
    ['http://:@indexer', 'http://indexer'],
  ])('%s is read as %s', (text, url) => expect(read(upstreamUrls, text)).toEqual([url]));

  test.each([
    ...['', 'indexer:8081', '//indexer', 'ftp://indexer', 'file:///etc/passwd', 'http://', 'unix:/x', 'redis://r'],
    ...[
      'http://indexer?',
      'http://indexer?x=1',
      'http://indexer/api/v3?api_key=k',
      'http://indexer#',
      'http://indexer#x',
    ],
    ...[
      'http://i/api/v2',
      'https://toncenter.com/api/v2/',
      'http://i/API/V1',
      'http://i/api/v3/api/v3',
      'http://a,http://b/api/v2',
    ],
  ])('cannot be %j', (text) => expect(read(upstreamUrls, text)).toBeUndefined());

  test('can be one of several, separated by commas, without duplicates', () => {
    expect(read(upstreamUrls, 'http://a:8081, https://b/api/v3')).toEqual(['http://a:8081', 'https://b']);
    for (const text of ['http://a,', 'http://a,http://a/api/v3', ',', 'http://a,b']) {
      expect(read(upstreamUrls, text)).toBeUndefined();
    }
  });
});

describe('the URL of a stream', () => {
  test.each([
    ['ws://indexer:8085', 'ws://indexer:8085/api/streaming/v2/ws'],
    ['wss://indexer/', 'wss://indexer/api/streaming/v2/ws'],
    ['wss://provider.example/streaming/v2/ws', 'wss://provider.example/streaming/v2/ws'],
  ])('%s is read as %s', (text, url) => expect(read(streamUrl, text)).toBe(url));

  test.each([
    ...['', 'indexer:8085', 'http://indexer', 'ws://'],
    ...['ws://user@indexer', 'ws://indexer?api_key=k', 'ws://indexer#', 'ws://indexer?'],
  ])('cannot be %j', (text) => expect(read(streamUrl, text)).toBeUndefined());
});

describe('other values', () => {
  test.each(['mainnet', 'testnet', 'a', '0', 'my-net-2', 'a'.repeat(32)])('a word in keys can be %s', (text) =>
    expect(read(word, text)).toBe(text),
  );
  test.each(['', '-a', 'Main', 'a b', 'a:b', 'a?b', 'a{b}', 'a\n', 'é', 'a'.repeat(33)])(
    'a word in keys cannot be %j',
    (text) => expect(read(word, text)).toBeUndefined(),
  );
  test.each(['', ' ', 'a b', 'a\r\nb', 'a\n', 'é', '\u007f'])('a header value cannot be %j', (text) =>
    expect(read(headerValue, text)).toBeUndefined(),
  );
  test.each(['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost', 'my-host.example'])(
    'an address to listen on can be %s',
    (text) => expect(read(listenHost, text)).toBe(text),
  );
  test.each([
    ['10.0.0.0/8', ['10.0.0.0/8']],
    ['127.0.0.1, ::1 ,fd00::/8', ['127.0.0.1', '::1', 'fd00::/8']],
  ])('a list of networks can be %s', (text, list) => expect(read(networks, text)).toEqual(list));
  test.each([
    '',
    ' ',
    ',',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    'localhost',
    '0x0a.0.0.1',
    '*',
  ])('a list of networks cannot be %j', (text) => expect(read(networks, text)).toBeUndefined());
  test.each(['', ' ', 'a b', 'http://a', '1.2.3.4:80', '[::1]', '/tmp/sock'])(
    'an address to listen on cannot be %j',
    (text) => expect(read(listenHost, text)).toBeUndefined(),
  );
});

describe('the path prefixes for pass-through', () => {
  test.each([
    ['/api/v3/', ['/api/v3/']],
    ['/api/', ['/api/']],
    ['/api/v3/, /API/V2/,/api/emulate/v1/', ['/api/v3/', '/api/v2/', '/api/emulate/v1/']],
    ['/x.y-z_~/', ['/x.y-z_~/']],
  ])('can be %j', (text, prefixes) => expect(read(pathPrefixes, text)).toEqual(prefixes));

  test.each([
    ...['', ' ', ',', '/', '//', '*', 'all', 'api/v2/', '/api/v2', 'api', '/api//v2/', '//api/', '/api/v2//'],
    ...['/./', '/../', '/api/../v2/', '/api/./', '/api/v2/?', '/api/v2/#', '/api/%76%32/', '/api\\v2/', '/api/v2;x/'],
    ...['/api/v2/,', '/api/v2/,/', 'http://h/api/v2/', '/api/v 2/', '/\u00e9/', 7, null, ['/api/v2/']],
  ])('cannot be %j', (text) => expect(read(pathPrefixes, text)).toBeUndefined());

  test('have an example in their error message', () => {
    const { error } = pathPrefixes.safeParse('/api/v2');
    expect(error?.issues[0]?.message).toMatch(/^must be paths with a slash at both ends.* "\/api\/v3\/, \/api\/v2\/"$/);
  });
});

describe('origins', () => {
  test.each([
    'https://app.example',
    'http://localhost:3000',
    'https://app.example:8443',
    'http://[::1]:3000',
    'capacitor://localhost',
    'chrome-extension://abcdefghijklmnop',
    'https://xn--e1afmkfd.example',
    'https://*.example.org',
    'https://*.a.example.org:8443',
    'capacitor://*.example.org',
  ])('as browsers send them are accepted: %s', (text) => {
    expect(read(origins, `${text}, https://b.example`)).toEqual([text, 'https://b.example']);
  });

  test.each([
    ...[
      'null',
      '*',
      'app.example',
      'https://',
      'https://app.example/',
      'https://app.example/path',
      'https://App.example',
    ],
    ...['HTTPS://app.example', 'https://app.example:443', 'http://app.example:80', 'https://*.example', 'https://a b'],
    ...[
      'https://*',
      'https://*.',
      'https://*.org',
      'https://*.example.org.',
      'https://*example.org',
      'https://*.*.org',
    ],
    ...['https://a.*.example.org', 'https://a.example.*', 'https://a*.example.org', 'https://*.example.org/'],
    ...['https://*.example.org:443', 'https://*.EXAMPLE.org', '*.example.org', '*://a.example.org', 'https://*.0.0.1'],
    ...['https://*..example.org', 'https://*.example.org:*', 'https://**.example.org'],
    ...['https://user@app.example', 'https://app.example?x', 'https://app.example#x', 'https://пример.example', ''],
  ])('in another form are refused: %s', (text) => {
    expect(read(origins, text)).toBeUndefined();
  });
});
