import { isErrorBody } from './body-shape.ts';
import { headerProblems } from './cache-headers.ts';
import type { Run } from './run.ts';

const HASH = 'A'.repeat(43);

/** Each with the parameter that its error names. */
const BAD_INPUT: readonly (readonly [target: string, named: string])[] = [
  ['pendingTraces', 'account'],
  ['pendingTraces?account=', 'account'],
  ['pendingTraces?account=EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'account'],
  ['pendingTraces?account=200:00', 'account'],
  ['pendingTraces?ext_msg_hash=abc', 'ext_msg_hash'],
  ['adjacentTransactions', 'hash'],
  [`adjacentTransactions?hash=${HASH}&direction=in&direction=out`, 'direction'],
  ['adjacentTransactions?hash=%ff%zz', 'hash'],
  ['masterchainBlockShards', 'seqno'],
  ['masterchainBlockShards?seqno=-1', 'seqno'],
  ['masterchainBlockShards?seqno=2147483648', 'seqno'],
  ['masterchainBlockShards?seqno=1&seqno=2', 'seqno'],
  ['masterchainBlockShards?seqno=1&limit=1001', 'limit'],
  ['masterchainBlockShards?seqno=1&offset=x', 'offset'],
];

/** What no indexer could answer is refused by name, and no indexer sees it. */
export async function checkBadInput(run: Run): Promise<void> {
  for (const [target, named] of BAD_INPUT) {
    const { status, headers, body, bytes, upstreamRequests } = await run.toncache.ask(target);
    const problems = headerProblems(headers, { isEntry: false });
    if (status !== 422) problems.push(`status ${status}, expected 422`);
    if (!isErrorBody(body)) problems.push('the body is not {"error":"..."}');
    if (!bytes.toString('utf8').includes(named)) problems.push(`the error does not name ${named}`);
    if (upstreamRequests > 0) problems.push('the indexer was asked');
    run.report.add({ check: 'bad input', asked: target, problems, detail: `${status}` });
  }
}
