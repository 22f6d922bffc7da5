import { setTimeout as delay } from 'node:timers/promises';
import { hasOnlyGrown, isErrorBody } from './bodies.ts';
import { headerProblems } from './cache-headers.ts';
import type { Run } from './examine.ts';
import type { ChainSample } from './learn-chain.ts';
import type { Finding } from './report.ts';

const HASH = 'A'.repeat(43);

/** A 404 is fresh for 300 ms. */
const LONGEST_ABSENCE_MS = 350;
const MOST_ATTEMPTS = 3;

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

/** Requests that contradict themselves, or name no sensible page. Versions of the indexer answer them differently. */
const AMBIGUOUS_INPUT: readonly (readonly [target: string, named: string])[] = [
  [`adjacentTransactions?hash=${HASH}&direction=in&direction=out`, 'direction'],
  ['masterchainBlockShards?seqno=1&seqno=2', 'seqno'],
  ['masterchainBlockShards?seqno=1&limit=0', 'limit'],
  ['masterchainBlockShards?seqno=1&offset=-1', 'offset'],
];

/** Checks that bad parameters are refused by name, without asking the indexer. */
export async function checkBadInput(run: Run): Promise<void> {
  for (const [target, named] of BAD_INPUT) {
    const refused = await refusal(run, target, named);
    const { status } = await run.indexer.ask(target);
    const problems = status === 200 ? [...refused.problems, 'the indexer answers it'] : refused.problems;
    run.report.add({ ...refused, check: 'bad input', problems, detail: `${refused.detail}; the indexer: ${status}` });
  }
  for (const [target, named] of AMBIGUOUS_INPUT) {
    run.report.add({ ...(await refusal(run, target, named)), check: 'ambiguous input' });
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

/** Checks that requests which no document allows, but every indexer answers, are answered as the indexer does. */
export async function checkOddInput(run: Run, { seqnos: [seqno], transactions, searched }: ChainSample): Promise<void> {
  const [first] = transactions;
  if (first === undefined) run.report.notAsked('odd input', 'adjacentTransactions', `no transaction in ${searched}`);
  const hash = encodeURIComponent(first?.hash ?? '');
  const around = `adjacentTransactions?hash=${hash}`;
  const blocks = `masterchainBlockShards?seqno=${seqno}`;
  const targets = [
    ...(first === undefined
      ? []
      : [`${around}&direction=both`, `${around}&hash=${hash}`, `${around}&x_no_address_book=`]),
    ...(seqno === undefined ? [] : [`${blocks}&limit=`, `${blocks}&limit=1&limit=1`, `${blocks}&limit[0]=1&x=%zz`]),
    'pendingTraces?ext_msg_hash=',
    `pendingTraces?ext_msg_hash=${HASH}%3D,&supported_action_types=nft.v3`,
  ];
  for (const target of targets) run.report.add(await compared(run, target));
}

/**
 * Asks toncache and the indexer. If they differ, asks again: a child or a trace may have come between the two requests.
 */
async function compared({ toncache, indexer }: Run, target: string): Promise<Finding> {
  for (let attempt = 1; ; attempt++) {
    const answered = await toncache.ask(target);
    const direct = await indexer.ask(target);
    const isComparable = [200, 404, 422].includes(direct.status);
    // An indexer that follows its document strictly may refuse a request that toncache answers.
    const isAlike =
      direct.status === 422 ||
      (answered.status === direct.status && (direct.status !== 200 || hasOnlyGrown(answered.body, direct.body)));
    if (isComparable && !isAlike && attempt < MOST_ATTEMPTS) {
      await delay(LONGEST_ABSENCE_MS);
      continue;
    }
    return {
      check: 'odd input',
      asked: target,
      problems: isAlike || !isComparable ? [] : [`status ${answered.status}, and the indexer has another answer`],
      detail: `the indexer: ${direct.status}`,
      unclear: !isComparable,
    };
  }
}
