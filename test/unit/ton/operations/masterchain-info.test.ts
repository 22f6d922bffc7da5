import { expect, test } from 'vitest';
import { factsOf } from '../../../../src/answer/body-facts.ts';
import { callOf, refusalOf } from '../requests.ts';

const FIRST = { workchain: -1, seqno: 1 };
const LAST = { workchain: -1, seqno: 62_000_000, gen_utime: '1700000000', global_id: -239 };

const factsFor = (body: unknown) => factsOf(callOf('masterchainInfo', ''), 200, Buffer.from(JSON.stringify(body)));

test('a head is live, its chain point has its time and seqno, and its rank is its seqno', () => {
  const { finality, chainPoint, completeness } = factsFor({ first: FIRST, last: LAST });
  expect(finality).toEqual({ rule: 'head' });
  expect(chainPoint).toMatchObject({ seqno: LAST.seqno, at: 1_700_000_000_000 });
  expect(completeness.rank).toBe(LAST.seqno);
});

test.each([
  [{ last: LAST }],
  [{ first: FIRST, last: { ...LAST, workchain: 0 } }],
  [{ first: FIRST, last: { ...LAST, seqno: '62000000' } }],
  [{ first: {}, last: LAST }],
  [{ first: FIRST, last: { ...LAST, seqno: 1.5 } }],
  [{ first: FIRST, last: null }],
  [{}],
])('%j is not a head and is not cached', (body) => {
  expect(factsFor(body).finality).toBeUndefined();
});

test('a request with a parameter that is not dropped has no cached form', () => {
  expect(refusalOf('masterchainInfo', '_=1&api_key=x&x_timeout=1&x_debug_request=1')).toBeUndefined();
  expect(refusalOf('masterchainInfo', 'seqno=1')).toMatch(
    /^masterchainInfo is cached only with these parameters: none;/,
  );
});
