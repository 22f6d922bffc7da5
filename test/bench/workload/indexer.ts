import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { chainOfHour } from './hour.ts';

// A process: the simulated indexer with the chain of the hour. Its argument is the beginning of the hour, epoch ms. It
// tells at `countsUrl` how many requests it has had.

/** The line that it prints. */
export interface Listening {
  readonly url: string;
  readonly countsUrl: string;
}

/** Requests since the start: all, `pendingTraces`, `adjacentTransactions`, `masterchainBlockShards`. */
export type Counts = readonly number[];

const LATENCY_MS = 20;
const OPERATIONS = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'] as const;

const chain = chainOfHour(Number(process.argv[2]));
chain.advanceTo(Date.now());
const indexer = await startIndexer({ chain });
indexer.faults.latencyMs = LATENCY_MS;
indexer.faults.jitterMs = LATENCY_MS;

const counts = createServer((_, response) => {
  const { requests } = indexer;
  const told: Counts = [requests.total, ...OPERATIONS.map((operation) => requests.count(operation))];
  response.end(JSON.stringify(told));
});
counts.listen(0, '127.0.0.1');
await once(counts, 'listening');
const countsUrl = `http://127.0.0.1:${(counts.address() as AddressInfo).port}`;
console.log(JSON.stringify({ url: indexer.url, countsUrl } satisfies Listening));
