import { setTimeout as delay } from 'node:timers/promises';
import type { Answered } from './asker.ts';
import { hasOnlyGrown, isUnchanged } from './bodies.ts';
import { promiseOf } from './cache-headers.ts';
import { inspect, type Run } from './examine.ts';
import { edges } from './learn-chain.ts';

/** How long the chain takes for a masterchain block, in milliseconds. */
const BLOCK_MS = 400;

/** Shorter than the 300 ms for which a 404 is fresh: polls that the cache answers cost the indexer nothing. */
const POLL_MS = 100;

/** How long a block is waited for once it is due, in milliseconds. */
const PATIENCE_MS = 5000;

/** Checks that a block that did not exist yet appears in time, although its absence was cached. */
export async function checkNextBlock({ toncache, indexer, report, given }: Run, rate: number): Promise<void> {
  // Beyond those blocks that come while two requests wait for the rate.
  const ahead = 10 + Math.ceil(2000 / rate / BLOCK_MS);
  const target = `masterchainBlockShards?seqno=${(await edges(indexer)).last + ahead}`;
  const startedAt = performance.now();
  for (let absences = 0; ; absences++) {
    const answered = await toncache.ask(target);
    const { problems, detail } = inspect('masterchainBlockShards', answered, [200, 404]);
    const elapsedMs = Math.round(performance.now() - startedAt);
    const isThere = problems.length > 0 || answered.status === 200;
    if (!isThere && elapsedMs <= ahead * BLOCK_MS + PATIENCE_MS) {
      await delay(POLL_MS);
      continue;
    }
    if (isThere) given.push(answered);
    else if ((await indexer.ask(target)).status === 200) problems.push('still 404, and the indexer has it');
    const waited = `404 ${absences} times, for ${elapsedMs} ms; ${detail}`;
    report.add({ check: 'next block', asked: target, problems, detail: waited, unclear: !isThere || absences === 0 });
    return;
  }
}

/** Checks by the indexer's own answers that final answers have not changed, and that growing ones have lost no row. */
export async function checkPromises({ indexer, given, report }: Run): Promise<void> {
  for (const before of given) {
    const promise = promiseOf(before.headers);
    if (before.status !== 200 || promise === 'none') continue;
    const check = promise === 'final' ? 'final is final' : 'growing only grows';
    const after = await indexer.ask(before.target);
    if (after.status !== 200 && after.status !== 404) {
      report.notAsked(check, before.target, `the indexer answers with status ${after.status}`);
      continue;
    }
    const isSame = isUnchanged(before.body, after.body);
    const isKept = isSame || (promise === 'growing' && hasOnlyGrown(before.body, after.body));
    const problems = isKept ? [] : [`was ${excerpt(before)}, is ${excerpt(after)} (status ${after.status})`];
    const rows = isSame ? 'same rows' : 'other rows';
    const detail = before.bytes.equals(after.bytes) ? 'byte for byte' : rows;
    report.add({ check, asked: before.target, problems, detail });
  }
}

/** The beginning of an answer, enough to recognize it. */
function excerpt({ bytes }: Answered): string {
  return `${bytes.length} bytes ${bytes.toString('utf8', 0, 80)}…`;
}
