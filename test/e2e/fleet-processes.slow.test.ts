import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { constantsInEnvironment } from '../support/constants-in-environment.ts';
import { distinctAnswers, someChildren } from '../support/fleet.ts';
import { ask } from '../support/http-client.ts';
import { answeringJson, children, GatedAnswers, type JsonAnswer } from '../support/json-upstream.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { someNetwork } from '../support/some-network.ts';

/** A busy machine must not look like a failed Redis, or like a load that is too old. */
const PATIENT = { redis: { budget: '10s' } };
const PATIENT_CONSTANTS = constantsInEnvironment({
  redis: { commandTimeout: 10_000 },
  coalescing: { collapseWindow: 10_000 },
});

/** Three times the lease of a killed instance. */
const TAKEN_OVER_GUARD_MS = 30_000;

const SOON = { timeout: 60_000, interval: 5 };

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'toncache-fleet-'));
  await writeFile(join(dir, 'patient.json'), JSON.stringify(PATIENT));
});
afterAll(() => rm(dir, { recursive: true }));

/** The newest block of the indexer, which each process requests in its head check. */
const NEWEST: JsonAnswer = { status: 200, body: { blocks: [{ workchain: -1, seqno: 7 }] } };

const asksForChildren = (text: string) => text.includes('/adjacentTransactions?');

/** Four processes on one Redis, and an indexer that holds its answers to clients. */
async function startFleet() {
  await using stack = new AsyncDisposableStack();
  const gated = new GatedAnswers();
  const answer = (target: string) => (asksForChildren(target) ? gated.answer() : NEWEST);
  const upstream = stack.use(await startScriptedUpstream(answeringJson(answer)));
  const network = someNetwork();
  const environment = {
    UPSTREAM_URL: upstream.url,
    NETWORK: network,
    REDIS_URL: inject('redisUrl'),
    CONFIG_FILE: join(dir, 'patient.json'),
    UPSTREAM_TIMEOUT: '60s',
    ...PATIENT_CONSTANTS,
  };
  const start = async () => stack.use(await ProxyProcess.start(environment));
  const processes = await Promise.all([start(), start(), start(), start()]);
  await Promise.all(processes.map((it) => it.untilLogged('connected to Redis')));
  const started = stack.move();
  return {
    processes,
    gated,
    /** The number of clients' requests at the indexer. */
    asked: () => upstream.heads.filter(asksForChildren).length,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const untilFollowed = (process: ProxyProcess) =>
  expect.poll(() => process.metric('leaseWaits'), { timeout: 20_000, interval: 20 }).toBeGreaterThan(0);

describe('60 clients of three processes that wait for a fourth', () => {
  it('get their answer from a process that takes over the load when the fourth is killed', async () => {
    await using fleet = await startFleet();
    const { asked, gated } = fleet;
    const [holder, ...waiting] = fleet.processes;
    const target = someChildren();
    // Its client loses its connection.
    void ask(holder.url, target).catch(() => {});
    await expect.poll(asked, SOON).toBe(1);
    const others = Array.from({ length: 20 }, () => waiting.map(({ url }) => ask(url, target))).flat();
    await Promise.all(waiting.map(untilFollowed));
    const killedAt = performance.now();
    holder.signal('SIGKILL');
    await expect.poll(asked, SOON).toBe(2);
    for (let time = 0; time < 2; time++) gated.give(children('a'));
    expect(distinctAnswers(await Promise.all(others))).toEqual([`200 ${JSON.stringify(children('a').body)}`]);
    expect(performance.now() - killedAt).toBeLessThan(TAKEN_OVER_GUARD_MS);
    expect(asked()).toBe(2);
  });
});
