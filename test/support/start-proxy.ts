import { levels } from 'pino';
import { expect } from 'vitest';
import { type App, createApp, type Listening } from '../../src/app.ts';
import { CONSTANTS, type Constants } from '../../src/compose/constants.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { Settings } from '../../src/config/schema.ts';
import type { AskResolver } from '../../src/names/names.ts';
import { createLogger } from '../../src/operate/logger.ts';
import { type CacheStatus, parseCacheStatus } from './cache-status.ts';
import { type Answered, type Asking, ask, exchange, type Sent, send } from './http-client.ts';
import { type MetricName, metricAt } from './metric.ts';
import { PATIENT_TIMEOUT } from './patience.ts';

type Group = Exclude<{ [N in keyof Settings]: Settings[N] extends object ? N : never }[keyof Settings], undefined>;

/** Settings in the form after loading, and constants, by group: milliseconds and bytes. */
export type Overrides = {
  readonly [N in Group | keyof Constants]?: Partial<N extends Group ? Settings[N] : unknown> &
    Partial<N extends keyof Constants ? Constants[N] : unknown>;
};

export interface ProxyOptions {
  readonly upstreamUrl: string;
  /** Environment in addition to `UPSTREAM_URL`, the ports, which are free ones, and {@link PATIENT_TIMEOUT}. */
  readonly env?: Readonly<Record<string, string>>;
  readonly overrides?: Overrides;
  readonly now?: () => number;
  readonly monotonic?: () => number;
  readonly wall?: () => number;
  readonly askResolver?: AskResolver;
  /** Default: always 0, which is no jitter. */
  readonly random?: () => number;
}

/** An answer with its `Cache-Status` read. */
export interface Reply extends Answered {
  readonly cache: CacheStatus;
}

export interface LogLine {
  /** In pino's numbers: 30 for info, 40 for warn. */
  readonly level: number;
  readonly msg: string;
}

/** A line of the log, whose level is a word. */
export function readLogLine<L extends LogLine>(line: string): L {
  const parsed: L & { readonly level: unknown } = JSON.parse(line);
  return { ...parsed, level: levels.values[String(parsed.level)] ?? Number.NaN };
}

/** Starts the whole proxy in this process, on free ports of 127.0.0.1. Resolves when both ports listen. */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { upstreamUrl, env = {}, overrides = {}, now, monotonic, wall, askResolver, random = () => 0 } = options;
  const ours = { UPSTREAM_URL: upstreamUrl, UPSTREAM_TIMEOUT: PATIENT_TIMEOUT, PORT: '0', ADMIN_PORT: '0' };
  const { settings } = loadSettings({ ...ours, ...env });
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(line) });
  const clocks = { ...(now && { now }), ...(monotonic && { monotonic }), ...(wall && { wall }) };
  const resolver = askResolver && { askResolver };
  const constants = withOverrides(CONSTANTS, overrides);
  const world = { logger, ...clocks, ...resolver, random, constants };
  const app = await createApp(world, withOverrides(settings, overrides));
  return new RunningProxy(app, await app.listen(), lines);
}

/** A group has settings and constants, so each of the two also gets the values of the other, which nothing reads. */
function withOverrides<T extends Settings | Constants>(values: T, overrides: Overrides): T {
  const groups = Object.entries(overrides).map(([name, group]) => [name, { ...values[name as keyof T], ...group }]);
  return { ...values, ...Object.fromEntries(groups) };
}

/** A proxy as its clients and its operator see it. */
export class RunningProxy implements AsyncDisposable {
  readonly url: string;
  readonly adminUrl: string;
  readonly #app: App;
  readonly #lines: readonly string[];

  constructor(app: App, { publicUrl, adminUrl }: Listening, lines: readonly string[]) {
    this.#app = app;
    this.url = publicUrl;
    this.adminUrl = adminUrl;
    this.#lines = lines;
  }

  get log(): readonly LogLine[] {
    return this.#lines.map(readLogLine);
  }

  ask(target: string, asking?: Asking): Promise<Answered> {
    return ask(this.url, target, asking);
  }

  /** Sends a request, and reads `Cache-Status`; rejects for an answer without one. */
  async reply(target: string, asking?: Asking): Promise<Reply> {
    const answered = await this.ask(target, asking);
    return { ...answered, cache: parseCacheStatus(answered.headers['cache-status']) };
  }

  askAdmin(target: string, asking?: Asking): Promise<Answered> {
    return ask(this.adminUrl, target, asking);
  }

  /**
   * Sends a request that shows nothing until its answer comes, and resolves once the proxy has received it: later
   * requests on other connections have been answered by then.
   */
  async sendIn(target: string, asking?: Asking): Promise<Sent> {
    const sending = send(this.url, target, asking);
    await sending.sent;
    await this.untilTakenIn();
    return sending;
  }

  /** Resolves once the proxy has seen all data of clients, and all ended connections. */
  async untilTakenIn(): Promise<void> {
    for (let time = 0; time < 5; time++) await this.ask('/no/such/path');
  }

  /** Bytes out, bytes in, on the public port. */
  exchange(bytes: string): Promise<string> {
    return exchange(this.url, bytes);
  }

  /** See {@link metricAt}. */
  metric(name: MetricName, labels?: Readonly<Record<string, string>>): Promise<number> {
    return metricAt(this.adminUrl, name, labels);
  }

  /** Until this many requests wait to be sent to an indexer. */
  async untilQueued(count: number): Promise<void> {
    await expect.poll(() => this.metric('upstreamQueued'), { interval: 5 }).toBe(count);
  }

  /** Until Redis has all stored entries. */
  async untilRedisHasAll(): Promise<void> {
    await expect.poll(() => this.metric('redisPendingWrites'), { interval: 5 }).toBe(0);
  }

  /**
   * Lets it learn the head of the chain by a request for children, unless it did at its start: until then growing answers
   * live for 1 s. Call when 10 s have passed since the start.
   */
  async learnHead(children: string): Promise<void> {
    const heads = () => this.metric('upstreamRequests', { operation: 'masterchainInfo' });
    await this.ask(children);
    await expect.poll(heads, { interval: 2 }).toBeGreaterThan(0);
  }

  close(): Promise<void> {
    return this.#app.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
