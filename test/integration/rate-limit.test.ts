import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { RateLimit, type ReserveShared } from '../../src/admission/rate-limit.ts';
import { sharedReservations } from '../../src/admission/shared-reservations.ts';
import { UpstreamClient } from '../../src/indexer/upstream-client.ts';
import { systemNames } from '../../src/names/names.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { connectedRedis } from '../support/connected-redis.ts';
import { Reservations } from '../support/reservations.ts';
import { mostWithin } from '../support/sliding-count.ts';

const redisUrl = inject('redisUrl');

let indexer: Indexer;
/** The arrivals of requests at the indexer. */
let arrivals: number[];
/** The stalls of this process, in which everything runs. */
let stalls: ReturnType<typeof monitorEventLoopDelay>;
let connections: AsyncDisposableStack;

beforeEach(async () => {
  connections = new AsyncDisposableStack();
  indexer = await startIndexer();
  arrivals = [];
  stalls = monitorEventLoopDelay({ resolution: 1 });
  stalls.enable();
  indexer.requests.on('request', () => void arrivals.push(performance.now()));
});

afterEach(async () => {
  stalls.disable();
  await connections.disposeAsync();
  await indexer.close();
});

/** An instance: callers that send requests one after the other, each in its slot, until `signal` ends them. */
function instance(rateLimit: RateLimit, signal: AbortSignal): void {
  const turns = new Reservations(rateLimit);
  const client = new UpstreamClient({
    names: systemNames(),
    now: Date.now,
    baseUrl: new URL(indexer.url),
    ours: undefined,
    timeoutMs: 30_000,
    maxConnections: 16,
    maxForwardConnections: 1,
    maxBodyBytes: 1024 * 1024,
    keepAliveMs: 4000,
    connectionLifetimeMs: 300_000,
    onReading: () => {},
    report: () => {},
  });
  connections.defer(() => client.close());
  const keepAsking = async () => {
    while (!signal.aborted && (await turns.take(signal))) {
      await client.fetch({ operation: 'masterchainBlockShards', query: [['seqno', '1']], headers: [] });
    }
  };
  connections.defer(async () => {
    await Promise.all(askers);
  });
  const askers = Array.from({ length: 16 }, keepAsking);
}

type RunScript = Awaited<ReturnType<typeof connectedRedis>>['runScript'];

interface SharedRateOptions {
  readonly furthestMs?: number;
  /** Changes how scripts run in Redis. */
  readonly changed?: (runScript: RunScript) => RunScript;
}

async function sharedRate(
  key: string,
  { furthestMs = 2 * LONGEST_WAIT_MS, changed = (runScript) => runScript }: SharedRateOptions = {},
): Promise<ReserveShared> {
  const connection = await connectedRedis(redisUrl);
  connections.defer(() => connection.close());
  const runScript = changed((...script) => connection.runScript(...script));
  return sharedReservations({ runScript, call: (run) => run().catch(() => 'failed'), key, furthestMs });
}

const LONGEST_WAIT_MS = 60_000;
const now = () => performance.now();

/** Waiters for reservations all the time; returns the instants of all reservations so far. */
function saturate(rate: RateLimit, signal: AbortSignal): number[] {
  const turns = new Reservations(rate);
  const at: number[] = [];
  const keepTaking = async () => {
    while (await turns.take(signal)) at.push(performance.now());
  };
  for (let n = 0; n < 32; n++) void keepTaking();
  return at;
}

/**
 * The maximum number of requests in this many seconds: one at the beginning and one at the end, and overdue ones from
 * before. A request passes the event loop about five times on its way: its slot in Redis, its timer, its connection,
 * its arrival.
 */
function mostIn(seconds: number, perSecond: number): number {
  const overdueSeconds = (5 * stalls.max) / 1e9;
  return Math.floor((seconds + overdueSeconds) * perSecond) + 1;
}

test.each([
  [1, 2],
  [10, 25],
])('three instances on one Redis together never send more than %i requests in a second', async (perSecond, count) => {
  const ending = new AbortController();
  const key = `test:rate:${randomUUID()}`;
  for (let number = 0; number < 3; number++) {
    instance(
      new RateLimit({ reserveShared: await sharedRate(key), now, perSecond, longestWaitMs: LONGEST_WAIT_MS }),
      ending.signal,
    );
  }
  await indexer.requests.arrived(count);
  ending.abort();
  expect(mostWithin(arrivals, 1000)).toBeLessThanOrEqual(mostIn(1, perSecond));
  expect(mostWithin(arrivals, 3000)).toBeLessThanOrEqual(mostIn(3, perSecond));
});

test('a shared rate counts only for its key, and the key expires when its next reservation is free', async () => {
  const key = `test:rate:${randomUUID()}`;
  const connection = await connectedRedis(redisUrl);
  connections.defer(() => connection.close());
  const [one, other] = [await sharedRate(key), await sharedRate(`${key}:other`)];
  expect(await one(60_000, 5000, 0)).toEqual({ state: 'reserved', waitMs: 0 });
  expect(await other(60_000, 5000, 0)).toEqual({ state: 'reserved', waitMs: 0 });
  const remainingMs = await connection.runScript("return redis.call('PTTL', KEYS[1])", [key], []);
  expect(remainingMs).toBeLessThanOrEqual(60_000);
  expect(remainingMs).toBeCloseTo(60_000, -4);
});

test('a reservation may be overdue by at most the given time; older ones are lost', async () => {
  const key = `test:rate:${randomUUID()}`;
  const connection = await connectedRedis(redisUrl);
  connections.defer(() => connection.close());
  const aSecondAgo = "local now = redis.call('TIME'); redis.call('SET', KEYS[1], now[1] * 1000 + now[2] / 1000 - 1000)";
  const reserve = await sharedRate(key);
  await connection.runScript(aSecondAgo, [key], []);
  expect((await reserve(5, 5000, 100_000))?.waitMs).toBeLessThanOrEqual(-1000);
  expect(await reserve(5, 5000, 100)).toEqual({ state: 'reserved', waitMs: -100 });
  expect((await reserve(5, 5000, 0))?.waitMs).toBe(0);
});

test('a reservation that is too far away is not made', async () => {
  const reserve = await sharedRate(`test:rate:${randomUUID()}`);
  await reserve(60_000, 5000, 0);
  for (let time = 0; time < 2; time++) {
    const { state, waitMs } = (await reserve(60_000, 5000, 0)) ?? {};
    expect([state, waitMs]).toEqual(['too-long', expect.closeTo(60_000, -4)]);
  }
});

test.each(['garbage', '9'.repeat(20), '-1', '', 'nan', 'inf', '-inf'])(
  'a rate whose key in Redis holds %j starts again from now',
  async (garbage) => {
    const key = `test:rate:${randomUUID()}`;
    const connection = await connectedRedis(redisUrl);
    connections.defer(() => connection.close());
    await connection.runScript("redis.call('SET', KEYS[1], ARGV[1])", [key], [garbage]);
    expect(await (await sharedRate(key))(1000, 5000, 0)).toEqual({ state: 'reserved', waitMs: 0 });
  },
);

/**
 * Time that only the test moves, for instances and for Redis: a call to Redis takes none of it, however slow the
 * machine is.
 */
class MovedTime {
  /** The time by which Redis' clock was set forward, ms. */
  redisAheadMs = 0;
  readonly #inRedis = new Set<Promise<unknown>>();

  constructor() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  }

  /** Scripts see this time in Redis. */
  readonly inRedis =
    (runScript: RunScript): RunScript =>
    (script, keys, args) => {
      const ms = START_MS + performance.now() + this.redisAheadMs;
      const time = `{${Math.floor(ms / 1000)}, ${Math.floor((ms % 1000) * 1000)}}`;
      const reply = runScript(script.replace("redis.call('TIME')", time), keys, args);
      this.#inRedis.add(reply);
      return reply.finally(() => this.#inRedis.delete(reply));
    };

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed++) {
      await vi.advanceTimersByTimeAsync(1);
      while (this.#inRedis.size > 0) await Promise.allSettled(this.#inRedis);
    }
  }
}

const START_MS = 1_800_000_000_000;

describe("when Redis' clock is set", () => {
  const [PER_SECOND, STEP_MS, PATIENCE_MS] = [50, 20, 1500];
  const furthestMs = PATIENCE_MS + 2 * STEP_MS;

  afterEach(() => void vi.useRealTimers());

  test.each([-3600, -3, 3600])('by %i s, two instances use the rate, and do not exceed it', async (seconds) => {
    const ending = new AbortController();
    const key = `test:rate:${randomUUID()}`;
    const time = new MovedTime();
    const all: number[][] = [];
    for (let n = 0; n < 2; n++) {
      const reserveShared = await sharedRate(key, { furthestMs, changed: time.inRedis });
      const rate = new RateLimit({ reserveShared, now, perSecond: PER_SECOND, longestWaitMs: PATIENCE_MS });
      all.push(saturate(rate, ending.signal));
    }
    await time.pass(500);
    time.redisAheadMs = seconds * 1000;
    const before = all.flat().length;
    await time.pass(1000);
    ending.abort();
    const after = all.flat().length - before;
    expect(before).toBeGreaterThanOrEqual(0.9 * (PER_SECOND / 2));
    expect(after).toBeGreaterThanOrEqual(0.9 * PER_SECOND);
    // The reservations of both, and the rate that was free for 250 ms when the clock went forward.
    expect(after).toBeLessThanOrEqual(PER_SECOND + 1 + 2 + 0.25 * PER_SECOND);
  });

  test('a request that does not wait makes no reservation, and the reservations of waiting requests stay', async () => {
    const time = new MovedTime();
    const reserve = await sharedRate(`test:rate:${randomUUID()}`, { furthestMs, changed: time.inRedis });
    for (let n = 0; n < 40; n++) await reserve(STEP_MS, PATIENCE_MS, 0);
    expect((await reserve(STEP_MS, 0, 0))?.state).toBe('too-long');
    expect((await reserve(STEP_MS, PATIENCE_MS, 0))?.waitMs).toBeCloseTo(40 * STEP_MS, 0);
  });
});
