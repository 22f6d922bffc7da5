import { expect, inject } from 'vitest';
import type { Answered } from './http-client.ts';
import { answeringJson, type JsonAnswer } from './json-upstream.ts';
import { PATIENT_COALESCING, PATIENT_REDIS } from './patience.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';
import { someNetwork } from './some-network.ts';
import { type Overrides, type RunningProxy, startProxy } from './start-proxy.ts';

const POLL = { interval: 5 };

export interface FleetOptions {
  readonly instances?: number;
  readonly redisUrl?: string;
  /** Without Redis. */
  readonly memoryAlone?: boolean;
  readonly overrides?: Overrides;
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => number;
}

let targets = 0;

/** The children of a transaction that no other test requests. */
export function someChildren(): string {
  targets++;
  return `/api/v3/adjacentTransactions?hash=${targets.toString(16).padStart(64, '0')}&direction=out`;
}

/** The parent of such a transaction: a final answer, which does not expire within a test, even on a slow machine. */
export const someParent = () => someChildren().replace('direction=out', 'direction=in');

/** A message that no other test requests. */
export function someMessage(): string {
  targets++;
  return `/api/v3/pendingTraces?ext_msg_hash=${targets.toString(16).padStart(64, '0')}`;
}

/** Instances of one network on one Redis, in front of an indexer whose answers the test gives. */
export class Fleet implements AsyncDisposable {
  readonly upstream: ScriptedUpstream;
  readonly network: string;
  readonly #options: FleetOptions;
  readonly #proxies: RunningProxy[] = [];
  #warmUps = 0;

  private constructor(upstream: ScriptedUpstream, options: FleetOptions) {
    this.upstream = upstream;
    this.network = someNetwork();
    this.#options = options;
  }

  /** Resolves when all instances use Redis. */
  static async start(
    answer: (target: string) => JsonAnswer | Promise<JsonAnswer>,
    options: FleetOptions = {},
  ): Promise<Fleet> {
    const fleet = new Fleet(await startScriptedUpstream(answeringJson(answer)), options);
    await Promise.all(Array.from({ length: options.instances ?? 3 }, () => fleet.add()));
    return fleet;
  }

  /** One more instance. */
  async add(overrides: Overrides = {}): Promise<RunningProxy> {
    const { redisUrl = inject('redisUrl'), memoryAlone = false, env = {}, now } = this.#options;
    const all = { ...this.#options.overrides, ...overrides };
    const proxy = await startProxy({
      upstreamUrl: this.upstream.url,
      env: { NETWORK: this.network, ...(memoryAlone ? {} : { REDIS_URL: redisUrl }), ...env },
      overrides: {
        ...all,
        redis: { ...PATIENT_REDIS, ...all.redis },
        coalescing: { ...PATIENT_COALESCING, ...all.coalescing },
      },
      ...(now === undefined ? {} : { now }),
    });
    this.#proxies.push(proxy);
    if (!memoryAlone) {
      await expect.poll(() => proxy.log.map(({ msg }) => msg)).toContain('connected to Redis');
    }
    return proxy;
  }

  get proxies(): readonly RunningProxy[] {
    return this.#proxies;
  }

  get(index: number): RunningProxy {
    const proxy = this.#proxies[index];
    if (proxy === undefined) throw new Error(`there are only ${this.#proxies.length} instances`);
    return proxy;
  }

  /** The number of clients' requests at the indexer. */
  get asked(): number {
    return this.upstream.asked.length - this.#warmUps;
  }

  /** Lets each instance learn the head of the chain; its requests do not count in `asked`. */
  async learnHeads(): Promise<void> {
    for (const proxy of this.#proxies) await proxy.learnHead(someChildren());
    this.#warmUps += this.asked;
  }

  /** This many clients, spread over the instances from `first` on. */
  ask(target: string, clients = this.#proxies.length, first = 0): Promise<Answered[]> {
    return Promise.all(
      Array.from({ length: clients }, (_, client) =>
        this.get(first + (client % (this.#proxies.length - first))).ask(target),
      ),
    );
  }

  /** Until the indexer has this many requests in all. */
  async untilAsked(times: number): Promise<void> {
    await expect.poll(() => this.asked, POLL).toBe(times);
  }

  /** Until this many loads of its instances waited for others. */
  async untilFollowed(loads: number): Promise<void> {
    const followed = () => Promise.all(this.#proxies.map((proxy) => proxy.metric('leaseWaits')));
    await expect.poll(async () => (await followed()).reduce((sum, count) => sum + count, 0), POLL).toBe(loads);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Does not wait for a request that a test left without an answer.
    await this.upstream[Symbol.asyncDispose]();
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }
}

/** The status and body of each distinct answer. */
export function distinctAnswers(replies: readonly Answered[]): string[] {
  return [...new Set(replies.map(({ status, text }) => `${status} ${text}`))];
}
