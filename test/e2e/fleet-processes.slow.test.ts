import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { distinctAnswers, someChildren } from '../support/fleet.ts';
import { ask } from '../support/http-client.ts';
import { answeringJson, asksForHead, children, type JsonAnswer } from '../support/json-upstream.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { someNetwork } from '../support/some-network.ts';

/** A machine that is busy with other things must not look like a Redis that fails, or like a load that is too old. */
const PATIENT = {
  redis: { budget: '10s', commandTimeout: '10s' },
  coalescing: { collapseWindow: '1min' },
};

/** Ten times the 3 s within which clients that wait for a killed instance get their answer. */
const TAKEN_OVER_GUARD_MS = 30_000;

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'toncache-fleet-'));
  await writeFile(join(dir, 'patient.json'), JSON.stringify(PATIENT));
});
afterAll(() => rm(dir, { recursive: true }));

const ANSWER = `200 ${JSON.stringify(children('a').body)}`;

/** Processes on one Redis, and an indexer that answers the n-th request when the test says so. */
class ProcessFleet implements AsyncDisposable {
  readonly upstream: ScriptedUpstream;
  readonly network: string;
  readonly processes: readonly ProxyProcess[];
  readonly #give: ((answer: JsonAnswer) => void)[];

  private constructor(
    upstream: ScriptedUpstream,
    network: string,
    processes: ProxyProcess[],
    give: ((answer: JsonAnswer) => void)[],
  ) {
    this.upstream = upstream;
    this.network = network;
    this.processes = processes;
    this.#give = give;
  }

  /** Of four processes. */
  static async start(): Promise<ProcessFleet> {
    const give: ((answer: JsonAnswer) => void)[] = [];
    const upstream = await startScriptedUpstream(
      answeringJson(() => new Promise<JsonAnswer>((resolve) => give.push(resolve))),
    );
    const network = someNetwork();
    const environment = {
      UPSTREAM_URL: upstream.url,
      NETWORK: network,
      REDIS_URL: inject('redisUrl'),
      CONFIG_FILE: join(dir, 'patient.json'),
      UPSTREAM_TIMEOUT: '60s',
    };
    const processes = await Promise.all(Array.from({ length: 4 }, () => ProxyProcess.start(environment)));
    await Promise.all(processes.map((it) => it.untilLogged('connected to Redis')));
    return new ProcessFleet(upstream, network, processes, give);
  }

  get(index: number): ProxyProcess {
    const process = this.processes[index];
    if (process === undefined) throw new Error(`there are only ${this.processes.length}`);
    return process;
  }

  /** How often the indexer was asked for a client. */
  get asked(): number {
    return this.upstream.heads.filter((head) => !asksForHead(head)).length;
  }

  async untilAsked(times: number): Promise<void> {
    await expect.poll(() => this.asked, { timeout: 60_000, interval: 5 }).toBe(times);
  }

  async untilFollowed(index: number): Promise<void> {
    const { adminUrl } = this.get(index);
    await expect
      .poll(async () => (await ask(adminUrl, '/metrics')).text, { timeout: 20_000, interval: 20 })
      .toMatch(/^toncache_followed_total\{.*\} [1-9]/m);
  }

  give(request: number, answer: JsonAnswer): void {
    this.#give[request]?.(answer);
  }

  /** The first instance loads a key; of each of the others so many clients wait for it. */
  async loadAtTheFirst(target: string, clientsEach: number) {
    // Its client may lose its connection.
    void ask(this.get(0).url, target).catch(() => {});
    await this.untilAsked(1);
    const waiting = this.processes.slice(1);
    const others = Array.from({ length: clientsEach }, () => waiting.map(({ url }) => ask(url, target))).flat();
    await Promise.all(waiting.map((_, index) => this.untilFollowed(index + 1)));
    return others;
  }

  /** Until the only lease of the fleet was renewed so often: each time it lasts for longer again. */
  async untilRenewed(times: number): Promise<void> {
    const redis = new Redis(inject('redisUrl'));
    const [lease = ''] = await redis.keys(`*${this.network}*:lease`);
    let [renewals, lastLeftMs] = [0, Number.POSITIVE_INFINITY];
    const renewed = async () => {
      const leftMs = await redis.pttl(lease);
      if (leftMs > lastLeftMs) renewals++;
      lastLeftMs = leftMs;
      return renewals;
    };
    await expect.poll(renewed, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(times);
    redis.disconnect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.processes.map((it) => it[Symbol.asyncDispose]()));
    await this.upstream[Symbol.asyncDispose]();
  }
}

describe('60 clients of three processes that wait for a fourth', () => {
  it.each([0, 1])(
    'get their answer from one that takes over when the fourth is killed after %i renewals',
    async (renewals) => {
      await using fleet = await ProcessFleet.start();
      const target = someChildren();
      const others = await fleet.loadAtTheFirst(target, 20);
      if (renewals > 0) await fleet.untilRenewed(renewals);
      const killedAt = performance.now();
      fleet.get(0).signal('SIGKILL');
      await fleet.untilAsked(2);
      fleet.give(1, children('a'));
      expect(distinctAnswers(await Promise.all(others))).toEqual([ANSWER]);
      expect(performance.now() - killedAt).toBeLessThan(TAKEN_OVER_GUARD_MS);
      expect(fleet.asked).toBe(2);
    },
  );
});
