import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, failed } from '../../../src/tools/simulator/faults.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { startLoneTcpProxy } from '../../support/lone-tcp-proxy.ts';
import { Connections } from '../support/connections.ts';
import { Member } from '../support/members.ts';
import { evenly, openLoop } from '../support/open-loop.ts';
import { startToncache } from '../support/processes.ts';
import { markdownTable, quantilesOf } from '../support/report.ts';
import { Calls, chainOf, chainOptions, chainStart, isRight, NO_RATES, OPERATIONS, outcomeOf } from './calls.ts';

/** The fault of every request; or the indexer is killed, with or without a TCP proxy in front of it. */
const OUTAGES: Readonly<Record<string, Fault | 'killed' | 'killed behind a TCP proxy'>> = {
  'answers 500': failed(500),
  'resets connections': { kind: 'reset' },
  killed: 'killed',
  'killed, behind a TCP proxy that accepts and closes': 'killed behind a TCP proxy',
};

const LASTING_SECONDS = [10, 36, 75];
/** Concurrent outages of each kind, each with its own indexer and toncache. */
const REPETITIONS = 3;
/** New keys a second for each operation. */
const PER_SECOND = 10;
const CALM_MS = 3000;
const WATCHED_MS = 15_000;

/**
 * How long clients are still refused after an outage: each operation gets new keys all the time. A table with the
 * median and the longest time until every client got an answer of each, in seconds.
 */
export async function tableOfOutages(): Promise<string> {
  const startAt = chainStart();
  const calls = new Calls(chainOf(startAt), new SeededRandom('outages'));
  const rows: string[][] = [];
  for (const seconds of LASTING_SECONDS) {
    console.error(`... outages of ${seconds} s`);
    const ofKinds = Object.entries(OUTAGES).map(async ([name, outage]) => {
      const repeated = Array.from({ length: REPETITIONS }, () => recover(outage, seconds * 1000, calls, startAt));
      const recoveries = await Promise.all(repeated);
      const times = OPERATIONS.map((_, place) => recoveries.map((recovery) => recovery[place] ?? Infinity));
      const all = recoveries.map((recovery) => Math.max(...recovery));
      const quantiles = [...times, all].map((some) => quantilesOf(some, 1));
      return [`${name}, ${seconds} s`, ...quantiles.map((quantile) => `${quantile(0.5)}, ${quantile(1)}`)];
    });
    rows.push(...(await Promise.all(ofKinds)));
  }
  return markdownTable(['back after s, median and longest', ...OPERATIONS, 'all'], rows);
}

/** The time from the recovery of the indexer until every client got an answer, for each operation, in seconds. */
async function recover(
  outage: (typeof OUTAGES)[string],
  lastingMs: number,
  calls: Calls,
  startAt: number,
): Promise<number[]> {
  await using indexer = await Member.start(chainOptions(startAt));
  await using toncache = await startToncache({ UPSTREAM_URL: indexer.url });
  const connections = new Connections(toncache.port);
  const dues = evenly(PER_SECOND, (CALM_MS + lastingMs + WATCHED_MS) / 1000);
  const fresh = dues.flatMap((due) =>
    OPERATIONS.map((operation) => ({ ...due, call: calls.next({ ...NO_RATES, [operation]: 1 }) })),
  );
  const startedAt = performance.now();
  const asking = openLoop(fresh, async ({ call, dueMs }) => {
    const outcome = outcomeOf(call, await connections.ask(call.target));
    return { operation: call.operation, dueMs, isRight: isRight(outcome) };
  });
  await delay(CALM_MS);
  if (typeof outage === 'string') await indexer.kill();
  else indexer.faults.inject(outage);
  const proxy = outage === 'killed behind a TCP proxy' ? await startLoneTcpProxy(indexer.port) : undefined;
  await delay(lastingMs);
  await proxy?.close();
  if (typeof outage === 'string') await indexer.revive();
  else indexer.faults.clear();
  const wellMs = performance.now() - startedAt;
  const answers = (await asking).filter(({ dueMs }) => dueMs >= wellMs);
  connections.close();
  return OPERATIONS.map((name) => {
    const ofOperation = answers.filter(({ operation }) => operation === name);
    const wholeFrom = ofOperation[ofOperation.findLastIndex((answer) => !answer.isRight) + 1]?.dueMs ?? Infinity;
    return (wholeFrom - wellMs) / 1000;
  });
}
