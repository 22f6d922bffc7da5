import { launch } from '../../support/launch.ts';
import { startNginx } from '../support/other-caches.ts';
import { startToncache } from '../support/processes.ts';
import { startBusyIndexer } from './busy-indexer.ts';
import type { LoadOrder, LoadResult } from './generate-load.ts';
import type { Trial } from './options.ts';
import { POLITE } from './scenarios.ts';

/** What clients got. */
export interface Run extends Trial, LoadResult {}

/** Runs a scenario with processes of its own, all of which have ended when it returns. */
export async function runScenario({ mode, scenario }: Trial): Promise<Run> {
  const { serviceMs, fault, warmUp, phases, clients, identity = 'address', retries = false } = scenario;
  await using indexer = await startBusyIndexer(serviceMs, fault);
  const proxies = identity === 'forwarded' || mode === 'nginx' ? { TRUSTED_PROXIES: '127.0.0.1' } : {};
  await using toncache = await startToncache({ UPSTREAM_URL: indexer.url, ...proxies });
  await using nginx = mode === 'nginx' ? await startNginx((port) => limiting(port, toncache.port)) : undefined;
  const politeIdentity = identity === 'invented' ? 'address' : identity;
  const polite = { addresses: addresses(2, POLITE.clients), identity: politeIdentity };
  const order: LoadOrder = {
    port: nginx?.port ?? toncache.port,
    chainStartAt: indexer.chainStartAt,
    phases: warmUp ? [warmUp, ...phases] : phases,
    retries,
    addresses: addresses(1, clients ?? 1),
    identity,
    polite: clients === undefined ? undefined : polite,
  };
  await using generator = launch(new URL('./generate-load.ts', import.meta.url), { args: [JSON.stringify(order)] });
  return { mode, scenario, ...(await generator.next((line) => line as LoadResult)) };
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
