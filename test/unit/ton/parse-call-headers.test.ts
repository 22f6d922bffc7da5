import { describe, expect, test } from 'vitest';
import type { RequestHeaders } from '../../../src/ton/parse-call.ts';
import { QUESTION } from './parsed-query.ts';
import { HASH, requestOf } from './requests.ts';

describe('header and query parameter are one input', () => {
  const pending = (rest: string, headers?: RequestHeaders) =>
    requestOf('pendingTraces', `${QUESTION.pendingTraces}${rest}`, headers);

  test.each(['true', 'True', 'TRUE', 't', 'T', '1'])('for flags that are %s', (yes) => {
    const expected = pending('', { 'x-no-address-book': 'true', 'x-no-metadata': 'true' });
    expect(expected.headers).toEqual([
      ['X-No-Address-Book', 'true'],
      ['X-No-Metadata', 'true'],
    ]);
    expect(pending(`&x_no_address_book=${yes}&X_No_Metadata=${yes}`)).toEqual(expected);
    expect(pending(`&x_no_metadata=${yes}`, { 'x-no-address-book': yes })).toEqual(expected);
  });

  test.each(['false', 'False', 'FALSE', 'f', 'F', '0', '', 'yes', 'on', '2', 'tRUE', 'null', '-1'])(
    'and a flag that is %j counts as omitted',
    (no) => expect(pending(`&x_no_address_book=${no}`, { 'x-no-metadata': no })).toEqual(pending('')),
  );

  test('for a header that was sent twice with one meaning', () => {
    const expected = pending('', { 'x-no-metadata': 'true', 'x-actions-version': 'nft' });
    expect(pending('', { 'x-no-metadata': 'true, 1', 'x-actions-version': 'nft, nft' })).toEqual(expected);
    expect(pending('', { 'x-no-metadata': ['true', 'T'], 'x-actions-version': ['nft', 'nft'] })).toEqual(expected);
    expect(pending('', { 'x-no-metadata': 'yes, false' })).toEqual(pending(''));
  });

  test.each(['latest', 'v1', 'v99', 'V1', 'v0', 'LATEST', 'nft', 'nft.v3', 'dns.v2', 'multisig_approve', 'a b&c=d%'])(
    'for the actions version, shortcut or action type %s, which is sent unchanged',
    (version) => {
      const expected = pending('', { 'x-actions-version': version });
      expect(expected.headers).toEqual([['X-Actions-Version', version]]);
      expect(pending(`&supported_action_types=${encodeURIComponent(version)}`)).toEqual(expected);
      expect(pending('&supported_action_types=call,stake', { 'x-actions-version': version })).toEqual(expected);
    },
  );

  test('and for action types, as a set', () => {
    const expected = [
      ['ext_msg_hash', HASH],
      ['supported_action_types', 'call'],
      ['supported_action_types', 'stake'],
      ['supported_action_types', 'v1'],
    ];
    const words = ['v1', 'stake', 'call', 'stake'];
    const repeated = words.map((word) => `&supported_action_types=${word}`).join('');
    expect(pending(repeated)).toEqual({ query: expected, headers: [] });
    expect(pending(repeated.replaceAll('=', '[]=')).query).toEqual(expected);
  });

  test.each(['v1,v2', ',', '', ' v2', 'v2 '])(
    'and a word that a header cannot hold unchanged stays in the query: %j',
    (word) => {
      const expected = {
        query: [
          ['ext_msg_hash', HASH],
          ['supported_action_types', word],
        ],
        headers: [],
      };
      expect(pending(`&supported_action_types=${encodeURIComponent(word)}`)).toEqual(expected);
      if (word === '') expect(pending('', { 'x-actions-version': '' })).toEqual(expected);
    },
  );

  test.each([
    ['x_no_address_book=true', { 'x-no-address-book': 'false' }],
    ['x_no_metadata=1', { 'x-no-metadata': '0' }],
  ])('and where they differ the header counts: %s', (rest, headers) => {
    expect(pending(`&${rest}`, headers)).toEqual(pending(''));
  });
});
