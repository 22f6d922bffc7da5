import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shownUrl } from '../../../src/config/shown-url.ts';
import { streamUrl, upstreamUrls } from '../../../src/config/values.ts';

const KEY = '0123456789abcdef';

describe('a displayed URL', () => {
  it.each([
    [`https://provider.example/${KEY}`, 'https://provider.example/(secret)'],
    [`https://provider.example/ton/${KEY}-and-more/api/v3`, 'https://provider.example/ton/(secret)/api/v3'],
    [`wss://provider.example:8443/${KEY}/stream`, 'wss://provider.example:8443/(secret)/stream'],
    [`https://provider.example/a=b;${KEY}%2F`, 'https://provider.example/(secret)'],
    // Other spellings that are read as the same URL.
    [`https://provider.example\\${KEY}`, 'https://provider.example/(secret)'],
    [`https:provider.example/${KEY}`, 'https://provider.example/(secret)'],
    [` HTTPS:/Provider.example/${KEY.slice(0, 8)}\t${KEY.slice(8)} `, 'https://provider.example/(secret)'],
    [`https://provider.example@host.example/${KEY}`, 'https://(secret)@host.example/(secret)'],
  ])('hides each part of the path that may be a key: %s', (text, shown) => {
    expect(shownUrl(text)).toBe(shown);
  });

  it.each([
    'http://user:hunter2@indexer:8081/a',
    'HTTP:hunter2:@indexer:8081\\a',
    ' http://:hun\tter2@@indexer:8081/a',
  ])('hides a login, in any spelling: %s', (text) => {
    expect(shownUrl(text)).toBe('http://(secret)@indexer:8081/a');
  });

  it.each(['http://indexer:8081', 'http://indexer:8081/api/v3/', 'http://indexer/a/short/path', 'ws://[::1]:1/x'])(
    'is unchanged if no part of it may be a key: %s',
    (text) => {
      expect(shownUrl(text)).toBe(text);
    },
  );

  it('hides every path segment of at least 16 characters in any URL that the settings accept', () => {
    const part = fc.stringMatching(/^[A-Za-z0-9_.~!$&'()*+;=:@%-]{0,40}$/);
    const url = fc.tuple(fc.constantFrom('https://a.example', 'wss://b.example:1'), fc.array(part, { maxLength: 5 }));
    fc.assert(
      fc.property(url, ([origin, parts]) => {
        const text = [origin, ...parts].join('/');
        const { success } = (origin.startsWith('ws') ? streamUrl : upstreamUrls).safeParse(text);
        fc.pre(success);
        const shown = shownUrl(text);
        expect(shown.startsWith(origin)).toBe(true);
        for (const secret of parts.filter(({ length }) => length >= 16)) expect(shown).not.toContain(secret);
      }),
    );
  });
});
