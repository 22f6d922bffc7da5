import { expect, test } from 'vitest';
import { banKeysOf, entryKeysOf, leaseKeyOf, rateKeyOf, SCHEMA_VERSION } from '../../../src/cache/redis-keys.ts';

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
  });
  expect(rateKeyOf('mainnet', 'indexer:8081')).toBe('toncache:rate:mainnet:indexer:8081');
});
