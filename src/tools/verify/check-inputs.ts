import { isErrorBody } from './bodies.ts';
import { headerProblems } from './cache-headers.ts';
import type { Run } from './examine.ts';
import type { Finding } from './report.ts';

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

/** Checks that bad parameters are refused by name, without asking the indexer. */
export async function checkBadInput(run: Run): Promise<void> {
  for (const [target, named] of BAD_INPUT) {
    const refused = await refusal(run, target, named);
    const { status } = await run.indexer.ask(target);
    const problems = status === 200 ? [...refused.problems, 'the indexer answers it'] : refused.problems;
    run.report.add({ ...refused, check: 'bad input', problems, detail: `${refused.detail}; the indexer: ${status}` });
  }
}

async function refusal(run: Run, target: string, named: string): Promise<Omit<Finding, 'check'>> {
  const { status, headers, body, bytes, upstreamRequests } = await run.toncache.ask(target);
  const problems = headerProblems(headers, { isEntry: false });
  if (status !== 422) problems.push(`status ${status}, expected 422`);
  if (!isErrorBody(body)) problems.push('the body is not {"error":"..."}');
  if (!bytes.toString('utf8').includes(named)) problems.push(`the error does not name ${named}`);
  if (upstreamRequests > 0) problems.push('the indexer was asked');
  return { asked: target, problems, detail: `${status}` };
}
