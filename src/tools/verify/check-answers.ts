import { randomBytes } from 'node:crypto';
import type { Answered } from './asker.ts';
import { errorBodyProblems } from './bodies.ts';
import { isHit, promiseOf } from './cache-headers.ts';
import { examine, type Run, unkeepable } from './examine.ts';
import { type ChainSample, lookBack, type SampledTransaction } from './learn-chain.ts';

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
    const problems = [...errorBodyProblems(body)];
    if (status !== 422) problems.push(`status ${status}, expected 422`);
    if (!bytes.toString().includes(named)) problems.push(`the error does not name ${named}`);
    if (upstreamRequests > 0) problems.push('the indexer was asked');
    if (direct.status === 200) problems.push('the indexer answers it');
    report.add({ check: 'bad input', asked: target, problems, detail: `${status}; the indexer: ${direct.status}` });
  }
}

/** Checks that things that do not exist are absent, and that clients must not keep the answer. */
export async function checkUnknown(run: Run): Promise<void> {
  const hash = encodeURIComponent(randomBytes(32).toString('base64'));
  for (const [operation, query] of [
    ['adjacentTransactions', `hash=${hash}`],
    ['masterchainBlockShards', 'seqno=2147483647'],
    ['pendingTraces', `ext_msg_hash=${hash}`],
  ] as const) {
    await examine(run, {
      check: 'unknown',
      operation,
      target: `${operation}?${query}`,
      statuses: [200, 404],
      problemsOf: (answered, rowCount) => [
        ...(answered.status === 200 ? unkeepable(answered) : []),
        ...(rowCount > 0 ? [`${rowCount} rows for what cannot be there`] : []),
      ],
    });
  }
}

/** Checks that block sets of the past are answered, and that the indexer is asked for each only once. */
export async function checkBlocks(run: Run, { seqnos }: ChainSample): Promise<void> {
  for (const seqno of seqnos) {
    const answered = await examine(run, {
      check: 'masterchain block',
      operation: 'masterchainBlockShards',
      target: `masterchainBlockShards?seqno=${seqno}`,
      statuses: [200],
      problemsOf: ({ upstreamRequests }, rowCount) => [
        ...(rowCount === 0 ? ['a masterchain block of the past has no rows'] : []),
        ...(upstreamRequests === 1 ? [] : [`the first request cost ${upstreamRequests} at the indexer`]),
      ],
    });
    await checkRepeat(run, answered, `MasterchainBlockShards/?_=1&SEQNO=${seqno}`);
  }
}

/** Checks that parents and children of indexed transactions are answered, or absent in the indexer's own form. */
export async function checkAdjacent(run: Run, { transactions }: ChainSample): Promise<void> {
  const found = { in: 0, out: 0 };
  for (const { hash } of transactions) {
    for (const direction of ['in', 'out', undefined] as const) {
      const query = direction === undefined ? '' : `&direction=${direction}`;
      const answered = await examine(run, {
        check: 'adjacent',
        operation: 'adjacentTransactions',
        target: `adjacentTransactions?hash=${encodeURIComponent(hash)}${query}`,
        statuses: [200, 404],
        // Another child can always come, so clients must not keep a list of children as if it were final.
        problemsOf: ({ headers }) =>
          direction !== 'in' && promiseOf(headers) === 'final' ? ['children are taken for final'] : [],
      });
      if (direction !== undefined && answered.status === 200) found[direction]++;
      await checkRepeat(run, answered);
    }
  }
  const among = `${transactions.length} transactions`;
  if (found.in === 0) run.report.notAsked('adjacent', 'parents', `none of ${among} has one`);
  if (found.out === 0) run.report.notAsked('adjacent', 'children', `none of ${among} has one`);
}

/** Checks pending traces of accounts that were busy just now: clients must never keep such an answer. */
export async function checkPending(run: Run, samples: number): Promise<void> {
  const accountsOf = (found: readonly SampledTransaction[]) => [...new Set(found.map(({ account }) => account))];
  const transactions = await lookBack(run.indexer, 0, (found) => accountsOf(found).length >= samples);
  const accounts = accountsOf(transactions).slice(-samples);
  if (accounts.length === 0) run.report.notAsked('pending', 'pendingTraces?account=', 'no transaction was found');
  for (const account of accounts) {
    const target = `pendingTraces?account=${account}`;
    const question = { check: 'pending', operation: 'pendingTraces', target, statuses: [200] } as const;
    await examine(run, { ...question, problemsOf: unkeepable });
  }
}

/** Asks for a final answer again: it must be the same bytes, from the cache. Any other may cost a request. */
async function checkRepeat(run: Run, first: Answered, respelled = first.target): Promise<void> {
  if (first.status !== 200 || promiseOf(first.headers) !== 'final') return;
  const again = await run.toncache.ask(respelled);
  const detail = again.headers.get('cache-status') ?? '';
  const problems = [
    ...(isHit(detail) ? [] : [`no hit the second time (${detail})`]),
    ...(again.bytes.equals(first.bytes) ? [] : ['other bytes the second time']),
    ...(again.upstreamRequests === 0 ? [] : [`asking again cost ${again.upstreamRequests} requests at the indexer`]),
  ];
  run.report.add({ check: 'asked again', asked: respelled, problems, detail });
}
