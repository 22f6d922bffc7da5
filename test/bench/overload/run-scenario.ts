import { type Launched, launch } from '../../support/launch.ts';
import { startToncache } from '../toncache-process.ts';
import { startBusyIndexer } from './busy-indexer.ts';
import type { LoadOrder, LoadResult } from './generate-load.ts';
import { startNginxLimit } from './nginx-limit.ts';
import type { Mode } from './options.ts';
import { POLITE, type Scenario } from './scenarios.ts';
import type { Tallied } from './tally.ts';

/** What clients got. */
export interface ScenarioResult extends LoadResult {
  /** What the {@link POLITE} got during the load, where there are any. */
  readonly polite: Tallied | undefined;
}

/** More than the greediest load takes. */
const KEYS_OF_THE_POLITE = 25_000;

/** Runs a scenario with processes of its own, all of which have ended when it returns. */
export async function runScenario(mode: Mode, scenario: Scenario): Promise<ScenarioResult> {
  const { serviceMs, fault, warmUp, phases, clients, identity = 'address', retries = false } = scenario;
  await using indexer = await startBusyIndexer(serviceMs, fault);
  const proxies = identity === 'forwarded' || mode === 'nginx' ? { TRUSTED_PROXIES: '127.0.0.1' } : {};
  await using toncache = await startToncache({ UPSTREAM_URL: indexer.url, ...proxies });
  await using nginx = mode === 'nginx' ? await startNginxLimit(toncache.port) : undefined;
  const order: LoadOrder = {
    port: nginx?.port ?? toncache.port,
    chainStartAt: indexer.chainStartAt,
    phases: warmUp ? [warmUp, ...phases] : phases,
    retries,
    addresses: addresses(1, clients ?? 1),
    identity,
    skip: 0,
  };
  await using generator = startGenerator(order);
  await using politeGenerator =
    clients === undefined
      ? undefined
      : startGenerator({
          ...order,
          phases: order.phases.map(({ seconds }) => ({ seconds, rates: POLITE.rates })),
          addresses: addresses(2, POLITE.clients),
          identity: identity === 'invented' ? 'address' : identity,
          skip: KEYS_OF_THE_POLITE,
        });
  const result = await generator.next((line) => line as LoadResult);
  const polite = await politeGenerator?.next((line) => line as LoadResult);
  return { ...result, polite: polite?.load };
}

function startGenerator(order: LoadOrder): Launched {
  return launch(new URL('./generate-load.ts', import.meta.url), { args: [JSON.stringify(order)] });
}

function addresses(network: number, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `127.0.${network}.${number + 1}`);
}
