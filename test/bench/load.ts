import { createHistogram } from 'node:perf_hooks';
import autocannon from 'autocannon';

// A process: asks a server for the paths of its argument, each connection for the next one as soon as it has an answer.

/** The argument, as JSON. */
export interface LoadOrder {
  readonly url: string;
  readonly paths: readonly string[];
  readonly connections: number;
  readonly seconds: number;
}

/** What it prints, as JSON. */
export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: number;
}

const order: LoadOrder = JSON.parse(process.argv[2] ?? '');
const requests = order.paths.map((path) => ({ path }));
const micros = createHistogram();
let clients = 0;

const run = autocannon({
  url: order.url,
  connections: order.connections,
  duration: order.seconds,
  requests,
  // Each connection starts elsewhere, or all would ask for the same key at the same moment.
  setupClient: (client) => {
    const start = Math.floor((clients++ * requests.length) / order.connections);
    client.setRequests([...requests.slice(start), ...requests.slice(0, start)]);
  },
});
const startedAt = performance.now();
// Autocannon's own histogram counts whole milliseconds.
run.on('response', (_client, _status, _bytes, ms) => micros.record(Math.max(1, Math.round(ms * 1000))));
const { errors, non2xx } = await run;
const result: LoadResult = {
  requestsPerSecond: micros.count / ((performance.now() - startedAt) / 1000),
  p50Ms: micros.percentile(50) / 1000,
  p99Ms: micros.percentile(99) / 1000,
  failures: errors + non2xx,
};
console.log(JSON.stringify(result));
