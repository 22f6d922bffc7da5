import { expect, test } from 'vitest';
import {
  banKeysOf,
  entryKeysOf,
  headKeyOf,
  leaseKeyOf,
  rateKeyOf,
  SCHEMA_VERSION,
} from '../../../src/cache/redis-keys.ts';

/** The SHA-256 of `a key`, in base64url. */
const DIGEST = 'j6Oqsvqpt54KA5jaW1q9B4AUJEKlvoC5pkYI1xjLH80';

test('keys of bans and rates are the same in all versions; those of entries and leases name the version', () => {
  const entry = entryKeysOf('mainnet')('a key');
  expect({ entry, lease: leaseKeyOf(entry) }).toEqual({
    entry: `toncache:${SCHEMA_VERSION}:mainnet:{${DIGEST}}`,
    lease: `toncache:${SCHEMA_VERSION}:mainnet:{${DIGEST}}:lease`,
  });
  expect(banKeysOf('mainnet')).toEqual({
    bans: 'toncache:bans:mainnet',
    instances: 'toncache:bans:{toncache:bans:mainnet}:instances',
    polled: 'toncache:bans:{toncache:bans:mainnet}:polled',
  });
  expect(rateKeyOf('mainnet', 'indexer:8081')).toBe('toncache:rate:mainnet:indexer:8081');
});

test('the head is shared by instances with the same indexers, in whatever order, and by no others', () => {
  const key = headKeyOf('mainnet', ['a:1', 'b:1']);
  expect(key).toMatch(/^toncache:head:mainnet:\{[\w-]{43}\}$/);
  expect(headKeyOf('mainnet', ['b:1', 'a:1'])).toBe(key);
  for (const other of [['a:1'], ['b:1'], ['a:1', 'b:1', 'c:1']]) expect(headKeyOf('mainnet', other)).not.toBe(key);
});
