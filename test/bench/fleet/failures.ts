import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { failed } from '../../../src/tools/simulator/faults.ts';
import { freePort } from '../../support/free-port.ts';
import { startRedis } from '../../support/redis-server.ts';
import { startBusyIndexer } from '../overload/busy-indexer.ts';
import { Connections } from '../support/connections.ts';
import { startToncache, type Toncache } from '../support/processes.ts';
import { markdownTable } from '../support/report.ts';

const OPERATION = 'adjacentTransactions';
const FLEETS = [2, 8];
const CLIENTS_OF_EACH = 20;
const KEYS = 5;
/** The time of a worker of the indexer: long enough that all clients arrive within it. */
const SERVICE_MS = 200;
/** The default of `UPSTREAM_TIMEOUT`, and a second. */
const LONGEST_REQUEST_MS = 6000;

const HTML = { 'Content-Type': 'text/html' };

/** How the indexer fails; `undefined`: nothing listens on its port. */
const CASES = [
  ['500, in its own words', failed(500)],
  ['502 of a gateway, HTML', { kind: 'answer', status: 502, body: '<h1>502 Bad Gateway</h1>', headers: HTML }],
  ['refuses connections', undefined],
  ['hangs', { kind: 'hang' }],
] as const;

/**
 * The requests of fleets for one cold key whose load fails, as a table: 20 clients of each instance request it at once.
 * Each count uses another key. `source`: the folder of another toncache.
 */
export async function requestsForFailingKeys(source?: string): Promise<string> {
  const rows = [];
  for (const [name, fault] of CASES) {
    const counts = [];
    for (const instances of FLEETS) counts.push((await countRequests(instances, fault, source)).join(', '));
    rows.push([name, ...counts]);
  }
  return markdownTable(['The indexer', ...FLEETS.map((instances) => `requests of ${instances}`)], rows);
}

async function countRequests(
  instances: number,
  fault: (typeof CASES)[number][1],
  source: string | undefined,
): Promise<number[]> {
  const scope = { operation: OPERATION } as const;
  await using indexer = await startBusyIndexer(SERVICE_MS, 1000, fault && { fault, scope });
  await using redis = await startRedis();
  await using fleet = new AsyncDisposableStack();
  const url = fault === undefined ? `http://127.0.0.1:${await freePort()}` : indexer.url;
  const settings = { UPSTREAM_URL: url, REDIS_URL: redis.url };
  const from = source === undefined ? {} : { source };
  const starting = Array.from({ length: instances }, () => startToncache(settings, from));
  const servers = (await Promise.all(starting)).map((server) => fleet.use(server));
  // The first count is a warm-up.
  await askAll(servers);
  const counts = [];
  for (let key = 0; key < KEYS; key++) {
    const before = await requestsOf(servers);
    await askAll(servers);
    // A request is counted at its end, and a hanging one may be the last that was sent.
    if (fault?.kind === 'hang') await delay(LONGEST_REQUEST_MS);
    counts.push((await requestsOf(servers)) - before);
    await delay(1000);
  }
  return counts;
}

async function askAll(servers: readonly Toncache[]): Promise<void> {
  const target = `/api/v3/${OPERATION}?hash=${randomBytes(32).toString('hex')}`;
  const connections = servers.map(({ port }) => new Connections(port));
  await Promise.all(connections.flatMap((each) => Array.from({ length: CLIENTS_OF_EACH }, () => each.ask(target))));
  for (const each of connections) each.close();
}

async function requestsOf(servers: readonly Toncache[]): Promise<number> {
  const counts = await Promise.all(servers.map((server) => server.upstreamRequests(OPERATION)));
  return counts.reduce((sum, count) => sum + count, 0);
}
