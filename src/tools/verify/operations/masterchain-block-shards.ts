import { setTimeout as delay } from 'node:timers/promises';
import { listed } from '../bodies.ts';
import { checkRepeat } from '../check-answers.ts';
import { examine, inspect, type Run } from '../examine.ts';
import { type ChainSample, edges } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

/** The time between masterchain blocks, in milliseconds. */
const BLOCK_MS = 400;

/** Shorter than the 300 ms for which a 404 is fresh: polls that the cache answers cost the indexer nothing. */
const POLL_MS = 100;

/** The longest wait for a block once it is due, in milliseconds. */
const PATIENCE_MS = 5000;

/** A block that is this far ahead, and is there at the first request, is not tried further ahead. */
const MOST_AHEAD = 80;

const rowsIn = listed('blocks', 'transactions');

/** Checks that past block sets are answered, and that each costs only one request to the indexer. */
async function check(run: Run, { seqnos }: ChainSample): Promise<void> {
  for (const seqno of seqnos) {
    const answered = await examine(run, {
      check: 'masterchain block',
      rowsIn,
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

/** Checks that a block that did not exist yet appears in time, although its absence was cached. */
async function checkNext(run: Run): Promise<void> {
  // More than the blocks that come while two requests wait for the rate. A slow machine or indexer may need more.
  for (let ahead = 10 + Math.ceil(2000 / run.rate / BLOCK_MS); ; ahead *= 2) {
    const isSettled = await awaitBlock(run, ahead, ahead >= MOST_AHEAD);
    if (isSettled) return;
  }
}

/**
 * Waits for the block that is this far ahead, and reports it. `false`, without a report, if it is there already at the
 * first request; `isLast`: then this is reported as well.
 */
async function awaitBlock({ toncache, indexer, report, given }: Run, ahead: number, isLast: boolean): Promise<boolean> {
  const target = `masterchainBlockShards?seqno=${(await edges(indexer)).last + ahead}`;
  const startedAt = performance.now();
  for (let absences = 0; ; absences++) {
    const answered = await toncache.ask(target);
    const { detail, ...inspected } = inspect(rowsIn, answered, [200, 404]);
    const problems = [...inspected.problems];
    const elapsedMs = Math.round(performance.now() - startedAt);
    const isThere = problems.length > 0 || answered.status === 200;
    if (!isThere && elapsedMs <= ahead * BLOCK_MS + PATIENCE_MS) {
      await delay(POLL_MS);
      continue;
    }
    if (absences === 0 && isThere && problems.length === 0 && !isLast) return false;
    if (isThere) given.push(answered);
    else if ((await indexer.ask(target)).status === 200) problems.push('still 404, and the indexer has it');
    const waited = `404 ${absences} times, for ${elapsedMs} ms; ${detail}`;
    report.add({ check: 'next block', asked: target, problems, detail: waited, unclear: !isThere || absences === 0 });
    return true;
  }
}

export const masterchainBlockShards: VerifiedOperation = {
  name: 'masterchainBlockShards',
  rowsIn,
  badInput: [
    ['', 'seqno'],
    ['seqno=-1', 'seqno'],
    ['seqno=2147483648', 'seqno'],
    ['seqno=1&limit=1001', 'limit'],
    ['seqno=1&offset=x', 'offset'],
  ],
  unknown: () => 'seqno=2147483647',
  check,
  checkNext,
};
