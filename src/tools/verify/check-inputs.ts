import { isErrorBody } from './bodies.ts';
import type { Run } from './examine.ts';

/** Requests that no indexer answers, each with the parameter that the error must name. */
const BAD_INPUT: readonly (readonly [target: string, named: string])[] = [
  ['pendingTraces', 'account'],
  ['pendingTraces?account=', 'account'],
  ['pendingTraces?account=EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'account'],
  ['pendingTraces?account=200:00', 'account'],
  ['pendingTraces?ext_msg_hash=abc', 'ext_msg_hash'],
  ['adjacentTransactions', 'hash'],
  ['adjacentTransactions?hash=', 'hash'],
  ['adjacentTransactions?hash=%ff%zz', 'hash'],
  ['masterchainBlockShards', 'seqno'],
  ['masterchainBlockShards?seqno=-1', 'seqno'],
  ['masterchainBlockShards?seqno=2147483648', 'seqno'],
  ['masterchainBlockShards?seqno=1&limit=1001', 'limit'],
  ['masterchainBlockShards?seqno=1&offset=x', 'offset'],
];

/** Checks that bad parameters are refused by name, without asking the indexer, and that the indexer refuses them too. */
export async function checkBadInput({ toncache, indexer, report }: Run): Promise<void> {
  for (const [target, named] of BAD_INPUT) {
    const { status, body, bytes, upstreamRequests } = await toncache.ask(target);
    const direct = await indexer.ask(target);
    const problems: string[] = [];
    if (status !== 422) problems.push(`status ${status}, expected 422`);
    if (!isErrorBody(body)) problems.push('the body is not {"error":"..."}');
    if (!bytes.toString().includes(named)) problems.push(`the error does not name ${named}`);
    if (upstreamRequests > 0) problems.push('the indexer was asked');
    if (direct.status === 200) problems.push('the indexer answers it');
    report.add({ check: 'bad input', asked: target, problems, detail: `${status}; the indexer: ${direct.status}` });
  }
}
