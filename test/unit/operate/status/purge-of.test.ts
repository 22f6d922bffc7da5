import { describe, expect, test } from 'vitest';
// @ts-expect-error -- a script of the page, which has no types
import { purgeOf } from '../../../../src/operate/status/page/purge-of.js';
import { cacheKey, withoutNetwork } from '../../../../src/ton/cache-key.ts';
import { OPERATION_NAMES, type OperationName } from '../../../../src/ton/operation-names.ts';
import { parsePurge } from '../../../../src/ton/purge-selector.ts';
import { ACCOUNT, callOf, EXAMPLES, HASH_HEX } from '../../ton/requests.ts';

/** The tag that the purge of a row of the status page covers, and the tags of the row's request. */
function purged(name: OperationName, query: string) {
  const call = callOf(name, query);
  const selector = purgeOf(withoutNetwork(cacheKey('mainnet', call), 'mainnet'));
  return { tag: selector && parsePurge(selector).tag, tags: call.tags };
}

describe('the purge of a row of the status page', () => {
  const examples = OPERATION_NAMES.flatMap((name) => EXAMPLES[name].queries.map((query) => [name, query] as const));
  test.each([
    ...examples,
    ['transactions', `account=${ACCOUNT}&limit=10`] as const,
    ['pendingTraces', `ext_msg_hash=${HASH_HEX},${'ab'.repeat(32)}`] as const,
  ])('covers the answers to its request, unless the request has no parameters: %s %s', (name, query) => {
    const { tag, tags } = purged(name, query);
    if (query === '') expect(tag).toBe(undefined);
    else expect(tags).toContain(tag);
  });

  test('is not offered for a shard block: another block may have the same seqno', () => {
    const { tag, tags } = purged('blocks', 'workchain=0&shard=8000000000000000&seqno=7');
    expect([tag, tags]).toEqual([undefined, []]);
  });
});
