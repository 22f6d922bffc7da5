import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OperationName } from '../../ton/operations.ts';
import type { Answered, HttpAnswer } from './asker.ts';
import { hasOnlyGrown, isUnchanged } from './bodies.ts';
import { promiseOf } from './cache-headers.ts';
import { examine, inspect, type Run, unkeepable } from './examine.ts';
import { edges } from './learn-chain.ts';
import type { VerifyOptions } from './parse-arguments.ts';

/** How long the chain takes for a masterchain block, in milliseconds. */
const BLOCK_MS = 400;

/** Shorter than the 300 ms for which a 404 is fresh: polls that the cache answers cost the indexer nothing. */
const POLL_MS = 100;

/** Checks that things that do not exist are absent, and that clients must not keep the answer. */
export async function checkUnknown(run: Run): Promise<void> {
  const hash = encodeURIComponent(randomBytes(32).toString('base64'));
  const unknown: readonly [OperationName, string][] = [
    ['adjacentTransactions', `hash=${hash}`],
    ['masterchainBlockShards', 'seqno=2147483647'],
    ['pendingTraces', `ext_msg_hash=${hash}`],
  ];
  for (const [operation, query] of unknown) {
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

/** How long a block is waited for once it is due, in milliseconds. */
const PATIENCE_MS = 5000;

/** Checks that a block that did not exist yet appears in time, although its absence was cached. */
export async function checkNextBlock(run: Run, { rate }: VerifyOptions): Promise<void> {
  const { toncache, indexer, report, given } = run;
  // Beyond those blocks that come while two requests wait for the rate.
  const ahead = 10 + Math.ceil(2000 / rate / BLOCK_MS);
  const target = `masterchainBlockShards?seqno=${(await edges(indexer)).last + ahead}`;
  const startedAt = performance.now();
  for (let absences = 0; ; absences++) {
    const answered = await toncache.ask(target);
    const { problems, detail } = inspect('masterchainBlockShards', answered, [200, 404]);
    const elapsedMs = Math.round(performance.now() - startedAt);
    const finding = { check: 'next block', asked: target };
    if (problems.length > 0 || answered.status === 200) {
      const waited = `404 ${absences} times, for ${elapsedMs} ms; ${detail}`;
      report.add({ ...finding, problems, detail: waited, unclear: absences === 0 });
      given.push(answered);
      return;
    }
    if (elapsedMs > ahead * BLOCK_MS + PATIENCE_MS) {
      const { status } = await indexer.ask(target);
      const hidden = status === 200 ? [`still ${answered.status}, and the indexer has it`] : [];
      report.add({ ...finding, problems: hidden, detail: `not there after ${elapsedMs} ms`, unclear: true });
      return;
    }
    await delay(POLL_MS);
  }
}

/** Checks by the indexer's own answers that final answers have not changed, and that growing ones have lost no row. */
export async function checkPromises({ indexer, given, report }: Run): Promise<void> {
  for (const before of given) {
    const promise = promiseOf(before.headers);
    if (before.status !== 200 || promise === 'none') continue;
    const after = await indexer.ask(before.target);
    const isComparable = after.status === 200 || after.status === 404;
    const isKept = (promise === 'final' ? isUnchanged : hasOnlyGrown)(before.body, after.body);
    report.add({
      check: promise === 'final' ? 'final is final' : 'growing only grows',
      asked: before.target,
      problems:
        isKept || !isComparable ? [] : [`was ${excerpt(before)}, is ${excerpt(after)} (status ${after.status})`],
      detail: isComparable ? sameness(before, after) : `the indexer answers with status ${after.status}`,
      unclear: !isComparable,
    });
  }
}

function sameness(before: HttpAnswer, after: Answered): string {
  if (before.bytes.equals(after.bytes)) return 'byte for byte';
  return isUnchanged(before.body, after.body) ? 'same rows' : 'other rows';
}

/** The beginning of an answer, enough to recognize it. */
function excerpt({ bytes }: HttpAnswer): string {
  return `${bytes.length} bytes ${bytes.toString('utf8', 0, 80)}…`;
}
