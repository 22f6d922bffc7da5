import { describe, expect, test } from 'vitest';
import { withReason } from '../../../../src/operate/status/causes.ts';

describe('the reason behind a cause', () => {
  test.each([
    ['the indexer answers 403', '403: quota used up', 'the indexer answers 403 (quota used up)'],
    ['indexer:8081 refuses our API key', '401: no such key', 'indexer:8081 refuses our API key (401: no such key)'],
    ['indexer:40131 refuses our API key', '401: no such key', 'indexer:40131 refuses our API key (401: no such key)'],
    ['the indexer answers 500', 'connection closed', 'the indexer answers 500 (connection closed)'],
    ['it fails (now)', 'connection closed', 'it fails (now) (connection closed)'],
    ['the indexer fails', undefined, 'the indexer fails'],
  ])(
    'has the status of the indexer unless the cause has it, which a port is not: %s, %s',
    (words, reason, expected) => {
      expect(withReason(words, reason)).toBe(expected);
    },
  );
});
