import { setTimeout as delay } from 'node:timers/promises';
import { failed } from '../../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { freePort } from '../../support/free-port.ts';
import { markdownTable } from '../markdown-table.ts';
import { startToncache } from '../toncache-process.ts';
import { Calls, chainOf, chainStart, NO_RATES, type Operation } from './calls.ts';
import { Connections } from './connections.ts';
import { outcomeOf } from './outcome.ts';

/** What the indexer does in an outage; `killed`: its port and all connections are closed, and it is started again. */
const KINDS = ['answers 500', 'resets connections', 'killed'] as const;
type Kind = (typeof KINDS)[number];

const OPERATIONS: readonly Operation[] = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'];
/** Outages of each kind at once, each of an indexer and a toncache of its own. */
const REPETITIONS = 3;
/** Each operation is asked for a fresh key this often, in milliseconds. */
const ASKED_EVERY_MS = 100;
const CALM_MS = 3000;
const WATCHED_MS = 15_000;

/** When each operation was answered for everybody again, in milliseconds after the indexer was well; or never seen. */
type Recovery = Readonly<Record<Operation, number | undefined>>;

/**
 * How long after an outage clients are still refused: each operation is asked for all the time, with keys that nobody
 * asked for before. A table with the median and the longest time after outages of so many seconds.
 */
export async function tableOfOutages(seconds: readonly number[]): Promise<string> {
  const startAt = chainStart();
  const calls = new Calls(advanced(startAt), new SeededRandom('outages'));
  const rows: string[][] = [];
  for (const lasting of seconds) {
    console.error(`... ${REPETITIONS * KINDS.length} outages of ${lasting} s`);
    const recoveries = await Promise.all(
      KINDS.flatMap((kind) => Array.from({ length: REPETITIONS }, () => recover(kind, lasting * 1000, calls, startAt))),
    );
    rows.push(
      ...KINDS.map((kind, number) => {
        const ofKind = recoveries.slice(number * REPETITIONS, (number + 1) * REPETITIONS);
        const everybody = ofKind.map((recovery) => Math.max(...OPERATIONS.map((name) => recovery[name] ?? Infinity)));
        const times = [...OPERATIONS.map((name) => ofKind.map((recovery) => recovery[name] ?? Infinity)), everybody];
        return [`${kind}, ${lasting} s`, ...times.map(medianAndLongest)];
      }),
    );
  }
  return markdownTable(['back after s, median and longest', ...OPERATIONS, 'all'], rows);
}

async function recover(kind: Kind, lastingMs: number, calls: Calls, startAt: number): Promise<Recovery> {
  const port = await freePort();
  const start = () => startIndexer({ port, chain: advanced(startAt) });
  let indexer = await start();
  await using toncache = await startToncache({ UPSTREAM_URL: indexer.url });
  const connections = new Connections(toncache.port);
  const wholeFrom: Partial<Record<Operation, number>> = {};
  let wellAt = Infinity;
  const ask = (operation: Operation) => {
    const askedAt = performance.now();
    const call = calls.next({ ...NO_RATES, [operation]: 1 });
    connections.ask(call.target, (heard) => {
      if (askedAt < wellAt) return;
      if (outcomeOf(call, heard).kind === 'right') wholeFrom[operation] ??= askedAt - wellAt;
      else delete wholeFrom[operation];
    });
  };
  const clients = setInterval(() => OPERATIONS.forEach(ask), ASKED_EVERY_MS);
  await delay(CALM_MS);
  const end = await begin(kind, indexer);
  await delay(lastingMs);
  if (end === undefined) indexer = await start();
  else end();
  wellAt = performance.now();
  await delay(WATCHED_MS);
  clearInterval(clients);
  connections.close();
  await indexer.close();
  return { pendingTraces: undefined, adjacentTransactions: undefined, masterchainBlockShards: undefined, ...wholeFrom };
}

/** Begins an outage; returns what ends it, nothing where the indexer has to be started again. */
async function begin(kind: Kind, indexer: Indexer): Promise<(() => void) | undefined> {
  if (kind !== 'killed') return indexer.faults.inject(kind === 'answers 500' ? failed(500) : { kind: 'reset' }).remove;
  await indexer.close();
  return undefined;
}

function advanced(startAt: number) {
  const chain = chainOf(startAt);
  chain.advanceTo(Date.now());
  return chain;
}

function medianAndLongest(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const seconds = (ms: number) => (ms === Infinity ? `> ${WATCHED_MS / 1000}` : (ms / 1000).toFixed(1));
  return `${seconds(sorted[Math.floor(sorted.length / 2)] ?? Infinity)}, ${seconds(sorted.at(-1) ?? Infinity)}`;
}
