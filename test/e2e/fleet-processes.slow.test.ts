import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { someChildren, told } from '../support/fleet.ts';
import { ask } from '../support/http-client.ts';
import { answeringJson, asksForHead, children, type JsonAnswer } from '../support/json-upstream.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { someNetwork } from '../support/some-network.ts';

/** A machine that is busy with other things must not look like a Redis that fails. */
const PATIENT = { redis: { budget: '10s', commandTimeout: '10s' }, admission: { maxEventLoop: 1 } };

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'toncache-fleet-'));
  await writeFile(join(dir, 'patient.json'), JSON.stringify(PATIENT));
});
afterAll(() => rm(dir, { recursive: true }));

const ANSWER = `200 ${JSON.stringify(children('a').body)}`;

/** Three processes on one Redis, and an indexer that answers the n-th request when it is told to. */
class ProcessFleet implements AsyncDisposable {
  readonly upstream: ScriptedUpstream;
  readonly processes: readonly ProxyProcess[];
  readonly #give: ((answer: JsonAnswer) => void)[];

  private constructor(upstream: ScriptedUpstream, processes: ProxyProcess[], give: ((answer: JsonAnswer) => void)[]) {
    this.upstream = upstream;
    this.processes = processes;
    this.#give = give;
  }

  static async start(env: Readonly<Record<string, string>> = {}): Promise<ProcessFleet> {
    const give: ((answer: JsonAnswer) => void)[] = [];
    const upstream = await startScriptedUpstream(
      answeringJson(() => new Promise<JsonAnswer>((resolve) => give.push(resolve))),
    );
    const environment = {
      UPSTREAM_URL: upstream.url,
      NETWORK: someNetwork(),
      REDIS_URL: inject('redisUrl'),
      CONFIG_FILE: join(dir, 'patient.json'),
      ...env,
    };
    const processes = await Promise.all([0, 1, 2].map(() => ProxyProcess.start(environment)));
    await Promise.all(processes.map((it) => it.untilLogged('connected to Redis')));
    return new ProcessFleet(upstream, processes, give);
  }

  get(index: number): ProxyProcess {
    const process = this.processes[index];
    if (process === undefined) throw new Error('there are three');
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

  /** The first instance loads a key, the other two wait for it. */
  async loadAtTheFirst(target: string) {
    const own = ask(this.get(0).url, target).catch(String);
    await this.untilAsked(1);
    const others = [1, 2].map((index) => ask(this.get(index).url, target));
    await Promise.all([1, 2].map((index) => this.untilFollowed(index)));
    return { own, others };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.processes) process.signal('SIGCONT');
    await Promise.all(this.processes.map((it) => it[Symbol.asyncDispose]()));
    await this.upstream[Symbol.asyncDispose]();
  }
}

describe('of three processes', () => {
  it('one asks the indexer for a cold key of 300 clients, every time', async () => {
    await using fleet = await ProcessFleet.start({ UPSTREAM_TIMEOUT: '60s' });
    for (let round = 0; round < 10; round++) {
      const target = someChildren();
      const replies = Array.from({ length: 300 }, (_, client) => ask(fleet.get(client % 3).url, target));
      await fleet.untilAsked(round + 1);
      setTimeout(() => fleet.give(round, children('a')), 400);
      expect(told(await Promise.all(replies))).toEqual([ANSWER]);
      expect(fleet.asked).toBe(round + 1);
    }
  });

  it('one takes over when the holder was killed, once its lease has ended, and all who come later have its answer', async () => {
    await using fleet = await ProcessFleet.start({ UPSTREAM_TIMEOUT: '3s' });
    const target = someChildren();
    const { others } = await fleet.loadAtTheFirst(target);
    const killedAt = performance.now();
    fleet.get(0).signal('SIGKILL');
    await fleet.untilAsked(2);
    // Timeout and one second, and the last look at it.
    expect(performance.now() - killedAt).toBeLessThan(10 * 4_000);
    fleet.give(1, children('a'));
    // These had no more patience than the timeout.
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([504, 504]);
    await expect.poll(async () => told([await ask(fleet.get(2).url, target)])).toEqual([ANSWER]);
    expect(told([await ask(fleet.get(1).url, target)])).toEqual([ANSWER]);
    expect(fleet.asked).toBe(2);
  });

  it('one takes over when a client comes a second after the holder was killed, and those who waited have its answer', async () => {
    await using fleet = await ProcessFleet.start({ UPSTREAM_TIMEOUT: '30s' });
    const target = someChildren();
    const { others } = await fleet.loadAtTheFirst(target);
    fleet.get(0).signal('SIGKILL');
    const later: Promise<unknown>[] = [];
    while (fleet.asked < 2) {
      later.push(ask(fleet.get(1).url, target));
      await ask(fleet.get(2).adminUrl, '/healthz');
    }
    fleet.give(1, children('a'));
    expect(told(await Promise.all(others))).toEqual([ANSWER]);
    await Promise.all(later);
    expect(fleet.asked).toBe(2);
  });

  it('one that was stopped and goes on does no harm: neither its late answer nor its end of a lease counts', async () => {
    await using fleet = await ProcessFleet.start({ UPSTREAM_TIMEOUT: '3s' });
    const target = someChildren();
    const { own, others } = await fleet.loadAtTheFirst(target);
    fleet.get(0).signal('SIGSTOP');
    // Its answer lies in its socket all the time.
    fleet.give(0, children());
    await fleet.untilAsked(2);
    await Promise.all(others);
    const waiting = ask(fleet.get(1).url, target);
    fleet.get(0).signal('SIGCONT');
    await own;
    // The lease of the one that took over stands: nobody else asks, and its answer is everybody's.
    await ask(fleet.get(0).adminUrl, '/healthz');
    expect(fleet.asked).toBe(2);
    fleet.give(1, children('a'));
    expect(told([await waiting])).toEqual([ANSWER]);
    for (const { url } of fleet.processes) {
      await expect.poll(async () => told([await ask(url, target)])).toEqual([ANSWER]);
    }
    expect(fleet.asked).toBe(2);
  });

  it('one takes over at once when the holder was told to end', async () => {
    await using fleet = await ProcessFleet.start({ UPSTREAM_TIMEOUT: '5min' });
    const target = someChildren();
    const { own, others } = await fleet.loadAtTheFirst(target);
    fleet.get(0).signal('SIGTERM');
    // After its drain of seconds, and not after the minutes of its lease.
    await fleet.untilAsked(2);
    expect(await own).toMatchObject({ status: 503 });
    fleet.give(1, children('a'));
    expect(told(await Promise.all(others))).toEqual([ANSWER]);
    expect(fleet.asked).toBe(2);
    expect(await fleet.get(0).ended).toEqual({ code: 0, signal: null });
  });
});
