import { describe, expect, test } from 'vitest';
import { loadSettings, SettingsError } from '../../../src/config/load.ts';
import { shownPaths } from '../../../src/config/passed-paths.ts';

const load = (PASSTHROUGH: string, more: Record<string, string> = {}) =>
  loadSettings({ UPSTREAM_URL: 'http://indexer', NETWORK: 'mainnet', PASSTHROUGH, ...more });

function problemsOf(...given: Parameters<typeof load>): readonly string[] {
  try {
    load(...given);
    return [];
  } catch (error) {
    return error instanceof SettingsError ? error.problems : [String(error)];
  }
}

describe('PASSTHROUGH', () => {
  test.each([
    ...['on', 'ON', 'true', '1', 'yes', 'y', 'enabled'].map((word) => [word, true] as const),
    ...['off', 'false', '0', 'No', 'n', 'disabled', ''].map((word) => [word, false] as const),
  ])('with the word of a flag %j is %s', (word, enabled) => {
    expect(load(word).settings.passThrough.enabled).toBe(enabled);
  });

  test.each([
    ['message', ['message']],
    ['message, jetton/wallets ,runGetMethod', ['message', 'jetton/wallets', 'runGetMethod']],
    ['streaming', ['streaming']],
  ])('with names is a list: %s', (text, enabled) => {
    expect(load(text).settings.passThrough.enabled).toEqual(enabled);
  });

  test.each([
    '/message',
    'message/',
    'jetton//wallets',
    'message,',
    'on,message',
    'message,true',
    'a b',
    'a?b=1',
    '*',
    '..',
    'a/./b',
    'a/..',
  ])('is refused: %s', (text) => {
    expect(problemsOf(text)).toEqual([
      expect.stringContaining(`PASSTHROUGH="${text}": must be on, off, or paths below /api/v3/`),
    ]);
  });

  test('with names refuses other prefixes', () => {
    const PASSTHROUGH_PREFIXES = '/api/v3/,/api/v2/';
    expect(problemsOf('on', { PASSTHROUGH_PREFIXES })).toEqual([]);
    expect(problemsOf('message', { PASSTHROUGH_PREFIXES: '/api/v3/' })).toEqual([]);
    expect(problemsOf('message', { PASSTHROUGH_PREFIXES })).toEqual([
      expect.stringMatching(/^PASSTHROUGH_PREFIXES=.*must be \/api\/v3\/ if PASSTHROUGH names paths/),
    ]);
  });

  test.each([
    ['message,estimateFee,jetton/wallets,runGetMethod,streaming,account,traces,NFT/Items', []],
    ['mesage', ['PASSTHROUGH names mesage, which no known indexer serves: did you mean message?']],
    ['jeton/wallets', ['PASSTHROUGH names jeton/wallets, which no known indexer serves: did you mean jetton/wallets?']],
    ['ture', ['PASSTHROUGH names ture, which no known indexer serves: did you mean true?']],
    ['ofOneProvider', ['PASSTHROUGH names ofOneProvider, which no known indexer serves']],
    ['message,PendingTraces', ['PASSTHROUGH names PendingTraces, which is always cached and never passed through']],
  ])('warns about names that are probably a mistake: %s', (text, warnings) => {
    expect(load(text).warnings).toEqual(warnings);
  });
});

test.each([
  ['off', 'nothing'],
  ['on', 'all paths below /api/v3/, streams'],
  ['message,jetton/wallets', 'message, jetton/wallets, no streams'],
  ['Streaming,message', 'message, streams'],
])('the open paths with PASSTHROUGH=%s are shown as %j', (text, shown) => {
  const { enabled, prefixes } = load(text).settings.passThrough;
  expect(shownPaths(enabled, prefixes)).toBe(shown);
});
