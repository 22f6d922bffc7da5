import { expect, it } from 'vitest';
import type { AnsweredAtOnce } from '../../../../src/tools/verify/asker.ts';
import { checkSet } from '../../../../src/tools/verify/check-spellings.ts';
import type { Run } from '../../../../src/tools/verify/examine.ts';
import { adjacentTransactions } from '../../../../src/tools/verify/operations/adjacent-transactions.ts';
import { FindingReport } from '../../../../src/tools/verify/report.ts';

const LIVE = 'no-store';
const FINAL = 'public, max-age=3600';

/** The result of a check whose requests get these responses, while the indexer is asked at these instants. */
async function resultOf(cacheControl: string, hashes: readonly string[], upstreamAt: readonly number[]) {
  const answers = hashes.map((hash) => {
    const body = { transactions: [{ hash }] };
    const headers = new Headers({ 'cache-control': cacheControl });
    const bytes = Buffer.from(JSON.stringify(body));
    return { target: 'adjacentTransactions', status: 200, headers, bytes, body, upstreamRequests: upstreamAt.length };
  });
  const said: AnsweredAtOnce = { answers, upstreamAt };
  const report = new FindingReport(() => {});
  // The cast: only these are used if each status is expected.
  const run = { toncache: { askAtOnce: async () => said }, report } as unknown as Run;
  await checkSet(run, adjacentTransactions, ['hash=a', 'hash=b', 'hash=c']);
  return report.end('').violation === 0 ? 'ok' : 'violation';
}

it.each([
  ['one request', LIVE, 'aaa', [1000], 'ok'],
  ['no request', LIVE, 'aaa', [], 'ok'],
  ['another response after one request', LIVE, 'aab', [1000], 'violation'],
  ['another response without a request', LIVE, 'aab', [], 'violation'],
  ['two requests at once', LIVE, 'aaa', [1000, 1000], 'violation'],
  [
    'two requests of which the second one comes before the answer to the first is old',
    LIVE,
    'aaa',
    [0, 249],
    'violation',
  ],
  ['two requests of which the second one comes when the answer to the first may be old', LIVE, 'aaa', [0, 250], 'ok'],
  ['another response after the second of such requests', LIVE, 'aab', [0, 250], 'ok'],
  ['three responses after two such requests', LIVE, 'abc', [0, 250], 'violation'],
  ['a final response that is another one after the second of such requests', FINAL, 'aab', [0, 250], 'violation'],
  ['a third request at once with the second', LIVE, 'aaa', [0, 250, 250], 'violation'],
])('spellings with %s', async (_, cacheControl, hashes, upstreamAt, result) => {
  expect(await resultOf(cacheControl, [...hashes], upstreamAt)).toBe(result);
});
