import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { upstreamUrls } from '../../../src/config/values.ts';
import { credentialsFor, loginIn, placeOf } from '../../../src/indexer/credentials.ts';

/** What an indexer reads in a header of the Basic scheme (RFC 7617). */
function readBasic(header: string | undefined): string[] {
  const [, token = ''] = /^Basic ([A-Za-z0-9+/]+=*)$/.exec(header ?? '') ?? [];
  const [, user = '', password = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(token, 'base64').toString()) ?? [];
  return [user, password];
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((each) => !/\p{Cc}/u.test(each));
const user = text.filter((each) => !each.includes(':'));

describe('the login in the address of an indexer', () => {
  it('arrives as it was written, whatever its characters, with or without an API key', () => {
    fc.assert(
      fc.property(user, text, fc.option(fc.constant('a-key'), { nil: undefined }), (name, password, key) => {
        fc.pre(name + password !== '');
        const login = `${encodeURIComponent(name)}:${encodeURIComponent(password)}`;
        const [url] = upstreamUrls.parse(`https://${login}@indexer.example:8443/base/api/v3`);
        const { headers = [], hasLogin, hasKey } = credentialsFor(url, key) ?? {};
        expect(readBasic(headers.at(-1))).toEqual([name, password]);
        expect(headers.filter((_, at) => at % 2 === 0)).toEqual([...(key ? ['x-api-key'] : []), 'authorization']);
        expect([hasLogin, hasKey]).toEqual([true, key !== undefined]);
        expect(placeOf(url)).toBe('https://indexer.example:8443/base');
      }),
    );
  });

  it.each([
    ['https://token@host', ['token', '']],
    ['https://:only@host', ['', 'only']],
    ['https://us er:p@ss@host', ['us er', 'p@ss']],
  ])('may have one half alone, or characters that a URL encodes by itself: %s', (address, expected) => {
    const [url] = upstreamUrls.parse(address);
    expect(readBasic(credentialsFor(url, undefined)?.headers[1])).toEqual(expected);
  });

  it.each(['https://host', 'https://@host', 'https://:@host/a'])('is absent in %s', (address) => {
    const [url] = upstreamUrls.parse(address);
    expect(loginIn(url)).toBeUndefined();
    expect(credentialsFor(url, undefined)).toBeUndefined();
  });

  it('belongs to the place: one place with two logins is refused', () => {
    const { success } = upstreamUrls.safeParse('https://a:b@host,https://c:d@host/api/v3');
    expect(success).toBe(false);
  });
});

it('the secrets are all forms in which a login may come back', () => {
  const { secrets = [] } = credentialsFor('https://us%20er:p%22a%2Fs%7E@host', 'the-key') ?? {};
  const said = [
    ...['us er', 'us%20er', 'p"a/s~', 'p%22a%2Fs~', 'p%22a%2Fs%7E', 'p\\"a/s~', 'the-key'],
    ...[Buffer.from('us er:p"a/s~').toString('base64'), Buffer.from('us er:p"a/s~').toString('base64url')],
  ];
  const shown = said.map((each) => secrets.reduce((words, secret) => words.replaceAll(secret, '***'), each));
  expect(shown.filter((each) => !/^\**=*$/.test(each))).toEqual([]);
});
