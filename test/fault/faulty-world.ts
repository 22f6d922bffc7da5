import { expect } from 'vitest';
import type { Fault } from '../../src/tools/simulator/faults.ts';
import { ANY_WORLD, World, type WorldOptions, type WorldProxyOptions } from '../e2e/world.ts';
import { ask } from '../support/http-client.ts';
import { metricIn } from '../support/metric.ts';
import type { Reply, RunningProxy } from '../support/start-proxy.ts';

/** Clients wait without a limit: nothing depends on the speed of the machine. */
export const PATIENT_ADMISSION = { patience: 3_600_000, maxMemoryShare: 1 };

/** A world without a failure TTL: the request after a failure goes to the indexer again. */
export function startFaultyWorld(
  { overrides, ...options }: WorldProxyOptions = {},
  world: Pick<WorldOptions, 'port'> = {},
): Promise<World> {
  const coalescing = { failureTtl: 0, ...overrides?.coalescing };
  const admission = { ...PATIENT_ADMISSION, ...overrides?.admission };
  const proxy = { ...options, overrides: { ...overrides, admission, coalescing } };
  return World.start({ ...ANY_WORLD, ...world, proxy });
}

/** Such a world whose proxy ends immediately, though the indexer never answers. */
export function startEndingWorld({ overrides, ...options }: WorldProxyOptions = {}): Promise<World> {
  const http = { drainTimeout: 100, ...overrides?.http };
  return startFaultyWorld({ ...options, overrides: { ...overrides, http } });
}

/**
 * A world in which only the test's clocks matter: a busy machine may stand still for longer than the usual timeouts and
 * windows.
 */
export function startPatientWorld({ env, overrides, ...options }: WorldProxyOptions = {}): Promise<World> {
  const admission = { ...PATIENT_ADMISSION, ...overrides?.admission };
  const proxy = { ...options, env: { UPSTREAM_TIMEOUT: '60s', ...env }, overrides: { ...overrides, admission } };
  return World.start({ ...ANY_WORLD, proxy });
}

/** An answer in place of the true one. */
export function answering(
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): Fault & { kind: 'answer' } {
  return { kind: 'answer', status, body, headers };
}

/** Expects a failure as clients get it: in the indexer's form, with a reason, and not to be cached. */
export function expectFailure({ status, headers, text, cache }: Reply, expected: number, detail?: string): void {
  expect([status, text]).toEqual([expected, expect.stringMatching(/^\{"error":".+"\}$/)]);
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  expect(headers).not.toHaveProperty('etag');
  expect(headers).not.toHaveProperty('age');
  expect(cache).not.toHaveProperty('hit');
  expect(cache).not.toHaveProperty('stored');
  if (detail !== undefined) expect(cache).toMatchObject({ fwd: 'miss', detail });
}

/**
 * Expects that nothing of the last answer was kept: the indexer gets the request again, and its new answer is served.
 */
export async function expectNotKept(world: World, target: string): Promise<void> {
  const before = world.forwarded.length;
  const again = await world.ask(target);
  expect([again.status, again.cache['fwd'], world.forwarded.length]).toEqual([200, 'miss', before + 1]);
}

/** The number of circuit breakers that are open or, on a busy machine, half-open by now. */
export async function openBreakers({ adminUrl }: RunningProxy): Promise<number> {
  const { text } = await ask(adminUrl, '/metrics');
  return metricIn(text, 'breakersOpen') + metricIn(text, 'breakersHalfOpen');
}
