import { type Launched, launch } from '../../support/launch.ts';
import { startNginx } from '../support/other-caches.ts';
import { startToncache } from '../support/processes.ts';
import { startBusyIndexer } from './busy-indexer.ts';
import type { LoadOrder, LoadResult } from './generate-load.ts';
import type { Trial } from './options.ts';
import { POLITE } from './scenarios.ts';
import type { Tally } from './tally.ts';

/** What clients got. */
export interface Run extends Trial, LoadResult {
  /** What the {@link POLITE} got during the load, where there are any. */
  readonly polite: Tally | undefined;
}

/** More than the greediest load takes. */
const KEYS_OF_THE_POLITE = 25_000;

/** Runs a scenario with processes of its own, all of which have ended when it returns. */
export async function runScenario({ mode, scenario }: Trial): Promise<Run> {
  const { serviceMs, fault, warmUp, phases, clients, identity = 'address', retries = false } = scenario;
  await using indexer = await startBusyIndexer(serviceMs, fault);
  const proxies = identity === 'forwarded' || mode === 'nginx' ? { TRUSTED_PROXIES: '127.0.0.1' } : {};
  await using toncache = await startToncache({ UPSTREAM_URL: indexer.url, ...proxies });
  await using nginx = mode === 'nginx' ? await startNginx((port) => limiting(port, toncache.port)) : undefined;
  const order: LoadOrder = {
    port: nginx?.port ?? toncache.port,
    chainStartAt: indexer.chainStartAt,
    phases: warmUp ? [warmUp, ...phases] : phases,
    retries,
    addresses: addresses(1, clients ?? 1),
    identity,
    skip: 0,
  };
  const politeOrder: LoadOrder = {
    ...order,
    phases: order.phases.map(({ seconds }) => ({ seconds, rates: POLITE.rates })),
    addresses: addresses(2, POLITE.clients),
    identity: identity === 'invented' ? 'address' : identity,
    skip: KEYS_OF_THE_POLITE,
  };
  await using generator = startGenerator(order);
  await using politeGenerator = clients === undefined ? undefined : startGenerator(politeOrder);
  const result = await generator.next((line) => line as LoadResult);
  const polite = await politeGenerator?.next((line) => line as LoadResult);
  return { mode, scenario, ...result, polite: polite?.load };
}

function startGenerator(order: LoadOrder): Launched {
  return launch(new URL('./generate-load.ts', import.meta.url), { args: [JSON.stringify(order)] });
}

function addresses(network: number, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `127.0.${network}.${number + 1}`);
}

/** nginx with `limit_req` for each address: its operator has to know the numbers, here 20 a second and 100 at once. */
function limiting(port: number, toncachePort: number): string {
  return `  keepalive_requests 1000000; proxy_set_header X-Forwarded-For $remote_addr;
  limit_req_zone $binary_remote_addr zone=clients:10m rate=20r/s; limit_req_status 429;
  upstream toncache { server 127.0.0.1:${toncachePort}; keepalive 256; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port} backlog=4096; limit_req zone=clients burst=100 nodelay; location / { proxy_pass http://toncache; } }`;
}
