import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OperationName } from '../ton/operations.ts';
import { examine, judge, unkeepable } from './examine.ts';
import { newestSeqno } from './learn-chain.ts';
import type { Run } from './run.ts';

/** An absence is kept for 300 ms, so asking more often learns nothing. */
const POLL_MS = 300;
const LONGEST_POLL_MS = 15_000;

/** What nobody knows is absent, and no client may keep that. */
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

/** A block that is not there yet is there soon after, though its absence was cached. */
export async function checkNextBlock({ indexer, toncache, report, given }: Run): Promise<void> {
  const operation = 'masterchainBlockShards';
  const target = `${operation}?seqno=${(await newestSeqno(indexer)) + 2}`;
  const startedAt = performance.now();
  for (let requests = 1; ; requests++) {
    const answered = await toncache.ask(target);
    const { problems, detail } = judge(operation, answered, [200, 404]);
    const there = answered.status === 200;
    const ms = Math.round(performance.now() - startedAt);
    if (problems.length > 0 || there) {
      report.add({
        check: 'next block',
        asked: target,
        problems,
        detail: `after ${ms} ms, ${requests} times; ${detail}`,
      });
      given.push(answered);
      return;
    }
    if (ms > LONGEST_POLL_MS) {
      const { status } = await indexer.ask(target);
      const hidden = status === 200 ? [`still ${answered.status}, and the indexer has it`] : [];
      report.add({ check: 'next block', asked: target, problems: hidden, detail: `after ${ms} ms`, unclear: true });
      return;
    }
    await delay(POLL_MS);
  }
}
