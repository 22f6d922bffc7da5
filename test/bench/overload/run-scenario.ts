import { launch } from '../../support/launch.ts';
import { startRedis } from '../../support/redis-server.ts';
import { startNginx } from '../support/other-caches.ts';
import { startToncache } from '../support/processes.ts';
import { startBusyIndexer } from './busy-indexer.ts';
import type { LoadOrder, LoadResult } from './generate-load.ts';
import type { Trial } from './options.ts';
import type { Scenario } from './scenarios.ts';

export interface Run extends Trial, LoadResult {}

/** A client that disconnects only when its patience ends. */
const PATIENCE_MS = 2000;

/** Runs a scenario with its own processes, all of which have ended when it returns. */
export async function runScenario({ mode, scenario }: Trial): Promise<Run> {
  const { serviceMs, workers, fault, warmUp, phases, clients, polite, leavesAfterMs, retries = false } = scenario;
  const { identity = 'address' } = scenario;
  await using indexer = await startBusyIndexer(serviceMs, workers, fault);
  await using started = new AsyncDisposableStack();
  const ports = await startInstances(started, indexer.url, mode, scenario);
  const politeIdentity = identity === 'invented' ? 'address' : identity;
  const order: LoadOrder = {
    port: ports.load,
    chainStartAt: indexer.chainStartAt,
    phases: warmUp ? [warmUp, ...phases] : phases,
    retries,
    leavesAfterMs: leavesAfterMs ?? PATIENCE_MS,
    addresses: addresses(1, clients ?? 1),
    identity,
    polite: polite && {
      addresses: addresses(2, polite.clients),
      identity: politeIdentity,
      port: ports.polite,
      rates: polite.rates,
    },
  };
  await using generator = launch(new URL('./generate-load.ts', import.meta.url), { args: [JSON.stringify(order)] });
  return { mode, scenario, ...(await generator.next((line) => line as LoadResult)) };
}

/** The servers of the load and of the polite clients: the same toncache, or two that share a Redis. */
async function startInstances(
  started: AsyncDisposableStack,
  indexerUrl: string,
  mode: Trial['mode'],
  { env = {}, identity, instances = 1 }: Scenario,
): Promise<{ load: number; polite: number }> {
  const proxies = identity === 'forwarded' || mode === 'nginx' ? { TRUSTED_PROXIES: '127.0.0.1' } : {};
  const redis = instances === 1 ? undefined : started.use(await startRedis());
  const settings = { UPSTREAM_URL: indexerUrl, ...proxies, ...env, ...(redis && { REDIS_URL: redis.url }) };
  const { port } = started.use(await startToncache(settings));
  if (mode === 'nginx') {
    const nginx = started.use(await startNginx((listens) => limiting(listens, port)));
    return { load: nginx.port, polite: nginx.port };
  }
  return { load: port, polite: instances === 1 ? port : started.use(await startToncache(settings)).port };
}

function addresses(network: number, count: number): string[] {
  return Array.from(
    { length: count },
    (_, number) => `127.${network}.${Math.floor(number / 250)}.${1 + (number % 250)}`,
  );
}

/** nginx with `limit_req` for each address. Its operator has to know the numbers: here 20 a second and 100 at once. */
function limiting(port: number, toncachePort: number): string {
  return `  keepalive_requests 1000000; proxy_set_header X-Forwarded-For $remote_addr;
  limit_req_zone $binary_remote_addr zone=clients:10m rate=20r/s; limit_req_status 429;
  upstream toncache { server 127.0.0.1:${toncachePort}; keepalive 256; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port} backlog=4096; limit_req zone=clients burst=100 nodelay; location / { proxy_pass http://toncache; } }`;
}
