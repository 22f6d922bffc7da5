import { randomBytes } from 'node:crypto';
import { OPERATIONS } from '../../ton/operations.ts';
import type { Answered } from './asker.ts';
import { errorBodyProblems } from './bodies.ts';
import { isHit, promiseOf } from './cache-headers.ts';
import { examine, type Run, unkeepable } from './examine.ts';
import type { VerifiedOperation } from './operation.ts';

/**
 * Checks that toncache refuses bad parameters without a request to the indexer, and names them in its error: with 422,
 * or with 501 for a further operation, because it caches only one form of that. The indexer must not answer them with
 * 200.
 */
export async function checkBadInput({ toncache, indexer, report }: Run, operation: VerifiedOperation): Promise<void> {
  const refusal = OPERATIONS.get(operation.name)?.isFurther === true ? 501 : 422;
  for (const [query, named] of operation.badInput) {
    const target = query === '' ? operation.name : `${operation.name}?${query}`;
    const { status, body, bytes, upstreamRequests } = await toncache.ask(target);
    const direct = await indexer.ask(target);
    const problems = [...errorBodyProblems(body)];
    if (status !== refusal) problems.push(`status ${status}, expected ${refusal}`);
    if (!bytes.toString().includes(named)) problems.push(`the error does not name ${named}`);
    if (upstreamRequests > 0) problems.push('the indexer was asked');
    if (direct.status === 200) problems.push('the indexer answers it');
    report.add({ check: 'bad input', asked: target, problems, detail: `${status}; the indexer: ${direct.status}` });
  }
}

/** Checks that missing data is absent, and that clients must not keep the answer. */
export async function checkUnknown(run: Run, { name, rowsIn, unknown }: VerifiedOperation): Promise<void> {
  if (unknown === undefined) return;
  await examine(run, {
    check: 'unknown',
    rowsIn,
    target: `${name}?${unknown(randomBytes(32).toString('base64'))}`,
    statuses: [200, 404],
    problemsOf: (answered, rowCount) => [
      ...(answered.status === 200 ? unkeepable(answered) : []),
      ...(rowCount > 0 ? [`${rowCount} rows for what cannot be there`] : []),
    ],
  });
}

/** Requests a final answer again: it must have the same bytes, from the cache. Any other may cost a request. */
export async function checkRepeat(run: Run, first: Answered, respelled = first.target): Promise<void> {
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
