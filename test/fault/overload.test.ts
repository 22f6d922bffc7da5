import { afterEach, describe, expect, it, vi } from 'vitest';
import { failed, rateLimited } from '../../src/simulator/faults.ts';
import { startIndexer } from '../../src/simulator/indexer.ts';
import {
  childrenOfSettled,
  newestBlock,
  nothingPending,
  parentOfSettled,
  targetOf,
  unknownTransaction,
} from '../e2e/questions.ts';
import type { World, WorldProxyOptions } from '../e2e/world.ts';
import type { Answered, Sent } from '../support/http-client.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { mostWithin } from '../support/sliding-count.ts';
import { startProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION, startFaultyWorld } from './faulty-world.ts';

let world: World;

afterEach(() => {
  vi.useRealTimers();
});

/** A world whose proxy ends at once, though the indexer never answers. */
async function start({ overrides, ...options }: WorldProxyOptions = {}): Promise<AsyncDisposable> {
  const http = { drain: 100, ...overrides?.http };
  world = await startFaultyWorld({ ...options, overrides: { ...overrides, http } });
  return world;
}

/** Clients that give up soon. */
const IMPATIENT = { patience: 100 };

const NEVER = { env: { UPSTREAM_TIMEOUT: '60s' } };

function expectShed({ status, text, headers }: Answered): void {
  expect([status, text]).toEqual([503, expect.stringMatching(/^\{"error":".+"\}$/)]);
  expect(headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' });
}

/** A permit's request at an indexer that does not go on. */
async function hold(count = 1): Promise<Sent[]> {
  const gate = world.indexer.hold();
  const sent = await Promise.all(Array.from({ length: count }, () => world.proxy.sendIn(unknownTransaction())));
  await gate.arrived(count);
  return sent;
}

const queued = (count: number) =>
  expect.poll(() => world.proxy.metric('toncache_upstream_queued'), { interval: 5 }).toBe(count);

const shed = (reason: string) => world.proxy.metric('toncache_shed_total', { reason });

const times = (lifetime: number, staleWhileRevalidate: number, staleIfError: number) => ({
  lifetime,
  memoryTtl: lifetime,
  staleWhileRevalidate,
  staleIfError,
});

/** One question for each operation, never asked before, all with an answer. */
const misses = () => ({
  pendingTraces: nothingPending(),
  adjacentTransactions: parentOfSettled(world),
  masterchainBlockShards: newestBlock(world),
});

describe('an indexer that hangs', () => {
  it('leaves no request waiting for a slot: such requests get 503 with Retry-After', async () => {
    await using _ = await start({
      ...NEVER,
      overrides: { upstream: { maxConcurrency: 2 }, admission: { ...IMPATIENT, maxQueue: 30 } },
    });
    world.indexer.faults.inject({ kind: 'hang' });
    const stuck = await Promise.all([1, 2].map(() => world.proxy.sendIn(unknownTransaction())));
    await world.indexer.requests.arrived(2);
    for (const answered of await Promise.all(Array.from({ length: 50 }, () => world.ask(unknownTransaction())))) {
      expectShed(answered);
    }
    // The queue has room for thirty; while nothing starts for as long as they wait, later requests are refused at once.
    const [waited, full, late] = [await shed('waited-too-long'), await shed('queue-full'), await shed('expected-wait')];
    expect(waited).toBeGreaterThan(0);
    expect(waited + full + late).toBe(50);
    expect(world.forwarded).toHaveLength(2);
    for (const { leave } of stuck) leave();
  });

  it('lets clients have the stale copy where its class allows it', async () => {
    const lifetimes = { adjacentFinal: times(1000, 0, 60_000), shardsFinal: times(1000, 0, 0) };
    await using _ = await start({
      ...NEVER,
      overrides: { lifetimes, upstream: { maxConcurrency: 1 }, admission: { ...IMPATIENT, maxQueue: 30 } },
    });
    const [allowed, notAllowed] = [parentOfSettled(world), newestBlock(world)];
    const { text } = await world.ask(allowed);
    await world.ask(notAllowed);
    world.advance(2000);
    await hold();
    expect(await world.ask(allowed)).toMatchObject({ status: 200, text, cache: { hit: true, ttl: -1 } });
    expectShed(await world.ask(notAllowed));
    expect(await shed('waited-too-long')).toBe(2);
    expect(world.forwarded).toHaveLength(3);
  });
});

describe('a full queue', () => {
  it('refuses new requests, and serves stale copies where that is allowed', async () => {
    const lifetimes = { adjacentFinal: times(1000, 0, 60_000) };
    await using _ = await start({
      ...NEVER,
      overrides: { lifetimes, upstream: { maxConcurrency: 1 }, admission: { maxQueue: 1 } },
    });
    const withCopy = parentOfSettled(world);
    const { text } = await world.ask(withCopy);
    world.advance(1500);
    const gate = world.indexer.hold();
    const holder = await world.proxy.sendIn(unknownTransaction());
    await gate.arrived(1);
    const waiting = await world.proxy.sendIn(nothingPending());
    await queued(1);

    expect(await world.ask(withCopy)).toMatchObject({ status: 200, text, cache: { hit: true, ttl: -1 } });
    expectShed(await world.ask(unknownTransaction()));
    expect(await shed('queue-full')).toBe(2);

    gate.release();
    expect([(await holder.answer).status, (await waiting.answer).status]).toEqual([404, 200]);
    expect(world.forwarded).toHaveLength(3);
  });
});

describe('a refresh in the queue', () => {
  it('has the priority of a miss as soon as a client waits for it', async () => {
    const lifetimes = { shardsFinal: times(1000, 1000, 0) };
    await using _ = await start({ ...NEVER, overrides: { lifetimes, upstream: { maxConcurrency: 1 } } });
    const refreshed = newestBlock(world);
    await world.ask(refreshed);
    world.advance(1500);
    const gate = world.indexer.hold();
    const holder = await world.proxy.sendIn(unknownTransaction());
    await gate.arrived(1);
    expect(await world.ask(refreshed)).toMatchObject({ status: 200, cache: { hit: true } });
    await queued(1);
    // The copy is too old to be served from now on.
    world.advance(600);
    const joined = await world.proxy.sendIn(refreshed);
    const later = await world.proxy.sendIn(nothingPending());
    await queued(2);
    gate.release(1);
    await gate.arrived(2);
    expect(world.forwarded.map(({ target }) => target.includes('masterchainBlockShards')).at(-1)).toBe(true);
    gate.release();
    for (const { answer } of [holder, joined, later]) await answer;
  });
});

describe('shares', () => {
  it('let the requests of one operation start before those of another that floods the queue', async () => {
    await using _ = await start({ ...NEVER, overrides: { upstream: { maxConcurrency: 10 } } });
    const gate = world.indexer.hold();
    const flood = await Promise.all(Array.from({ length: 40 }, () => world.proxy.sendIn(unknownTransaction())));
    await gate.arrived(10);
    const others = [
      ...(await Promise.all(Array.from({ length: 4 }, () => world.proxy.sendIn(nothingPending())))),
      await world.proxy.sendIn(newestBlock(world)),
    ];
    await queued(35);
    gate.release(5);
    await gate.arrived(15);
    expect(world.indexer.requests.count('pendingTraces')).toBe(4);
    expect(world.indexer.requests.count('masterchainBlockShards')).toBe(1);
    gate.release();
    for (const { answer } of others) expect((await answer).status).toBe(200);
    for (const { answer } of flood) expect((await answer).status).toBe(404);
    expect(world.indexer.requests.maxInHand).toBe(10);
  });
});

describe('a process that is nearly out of memory', () => {
  it('sheds all misses and sends nothing, serves hits, and answers its health check', async () => {
    // It looks at itself when the test says so.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const lifetimes = { adjacentFinal: times(1000, 0, 60_000), adjacentGrowing: { ...growing(), staleIfError: 0 } };
    await using _ = await start({ overrides: { lifetimes, admission: { maxMemory: 0 } } });
    const [fresh, stale, tooOld] = [newestBlock(world), parentOfSettled(world), childrenOfSettled(world)];
    for (const target of [fresh, stale, tooOld]) expect((await world.ask(target)).status).toBe(200);
    world.advance(30_000);
    const before = world.forwarded.length;
    vi.advanceTimersByTime(1000);

    for (let time = 0; time < 3; time++) {
      expect(await world.ask(fresh)).toMatchObject({ status: 200, cache: { hit: true, detail: 'memory' } });
      expect(await world.ask(stale)).toMatchObject({ status: 200, cache: { hit: true, ttl: -29 } });
      expectShed(await world.ask(tooOld));
      for (const target of [unknownTransaction(), nothingPending()]) expectShed(await world.ask(target));
      expect((await world.proxy.askAdmin('/healthz')).status).toBe(200);
      expect((await world.proxy.askAdmin('/readyz')).status).toBe(200);
    }
    expect(world.forwarded).toHaveLength(before);
    expect(await shed('memory')).toBe(12);
  });
});

function growing() {
  return {
    shortestLifetime: 1000,
    longestLifetime: 1000,
    ageDivisor: 10,
    memoryTtl: 1000,
    staleWhileRevalidate: 0,
    staleIfError: 0,
  };
}

describe('the circuit breaker', () => {
  /** Asks for so many keys of pendingTraces and gives the statuses. */
  const pending = async (count: number) =>
    (await Promise.all(Array.from({ length: count }, () => world.ask(nothingPending())))).map(({ status }) => status);

  it('of an operation that fails opens, and the other operations are served as before', async () => {
    await using _ = await start({ overrides: { breaker: { openDuration: 60_000, longestOpenDuration: 60_000 } } });
    world.indexer.faults.inject(failed(500), { operation: 'pendingTraces' });
    expect(await pending(20)).toEqual(Array(20).fill(500));
    const shedNow = await world.ask(nothingPending());
    expectShed(shedNow);
    expect(shedNow.headers['retry-after']).toBe('60');
    expect(new Set(await pending(30))).toEqual(new Set([503]));
    expect(world.indexer.requests.count('pendingTraces')).toBe(20);
    const { adjacentTransactions, masterchainBlockShards } = misses();
    for (const target of [adjacentTransactions, masterchainBlockShards]) {
      expect(await world.ask(target)).toMatchObject({ status: 200, cache: { fwd: 'miss' } });
    }
    expect(await world.proxy.metric('toncache_breaker_open')).toBe(1);
    expect(await shed('breaker-open')).toBe(31);
  });

  it('sends a trial after the open duration, and closes with the first success', async () => {
    await using _ = await start({ overrides: { breaker: { openDuration: 50, longestOpenDuration: 200 } } });
    const fault = world.indexer.faults.inject(failed(500), { operation: 'pendingTraces' });
    await pending(20);
    expect(await world.proxy.metric('toncache_breaker_open')).toBe(1);
    fault.remove();
    await expect.poll(async () => (await world.ask(nothingPending())).status).toBe(200);
    expect(await world.proxy.metric('toncache_breaker_open')).toBe(0);
    expect(await pending(20)).toEqual(Array(20).fill(200));
  });

  it('lets stale answers be served where their class allows it', async () => {
    const lifetimes = { adjacentFinal: times(1000, 0, 60_000) };
    await using _ = await start({
      overrides: { lifetimes, breaker: { openDuration: 60_000, longestOpenDuration: 60_000 } },
    });
    const target = parentOfSettled(world);
    const { text } = await world.ask(target);
    world.advance(2000);
    world.indexer.faults.inject(failed(500), { operation: 'adjacentTransactions' });
    // The answer that is stale now was a success.
    for (let time = 0; time < 19; time++) expect((await world.ask(unknownTransaction())).status).toBe(500);
    const before = world.forwarded.length;
    expect(await world.ask(target)).toMatchObject({ status: 200, text, cache: { hit: true, ttl: -1 } });
    expect(world.forwarded).toHaveLength(before);
  });

  it.each([404, 422, 429])('does not open for %i', async (status) => {
    await using _ = await start();
    world.indexer.faults.inject(status === 429 ? rateLimited('json') : failed(status));
    for (let time = 0; time < 40; time++) {
      await world.ask(unknownTransaction());
      world.advance(61_000);
    }
    expect(await world.proxy.metric('toncache_breaker_open')).toBe(0);
    expect(await shed('breaker-open')).toBe(0);
  });

  it('opens for all operations when the indexer cannot be reached, and closes by itself when it is back', async () => {
    const indexer = await startIndexer();
    const { port, chain } = indexer;
    await using proxy = await startProxy({
      upstreamUrl: indexer.url,
      overrides: {
        admission: PATIENT_ADMISSION,
        breaker: { openDuration: 300, longestOpenDuration: 300 },
        coalescing: { failureTtl: 0 },
      },
    });
    await indexer.close();
    for (let time = 0; time < 20; time++) expect([502, 503]).toContain((await proxy.ask(unknownTransaction())).status);
    expect(await proxy.metric('toncache_breaker_open')).toBeGreaterThanOrEqual(3);
    const again = await startIndexer({ port, chain });
    const status = async (target: string) => (await proxy.ask(target)).status;
    await expect.poll(() => status(nothingPending())).toBe(200);
    await expect.poll(() => status(unknownTransaction())).toBe(404);
    const seqno = chain.headSeqno;
    await expect.poll(() => status(targetOf('masterchainBlockShards', { seqno }))).toBe(200);
    // Nor is the rest of the API said to be cut off, which is not passed through and so never asked for.
    expect(await proxy.metric('toncache_breaker_open')).toBe(0);
    await again.close();
  });
});

describe('after the pause of a 429', () => {
  it('only one trial is sent, and its success lets all others through', async () => {
    await using _ = await start();
    world.indexer.faults.inject(rateLimited('text', '5'), { times: 1 });
    expectShed(await world.ask(newestBlock(world)));
    world.advance(5000);
    const gate = world.indexer.hold();
    const trial = await world.proxy.sendIn(nothingPending());
    await gate.arrived(1);
    const others = await Promise.all(Array.from({ length: 10 }, () => world.ask(unknownTransaction())));
    for (const other of others) expectShed(other);
    gate.release();
    expect((await trial.answer).status).toBe(200);
    expect(world.forwarded).toHaveLength(2);
    expect((await world.ask(nothingPending())).status).toBe(200);
  });
});

describe('UPSTREAM_RPS', () => {
  it('is kept in any second, and all requests that can be sent in time are answered', async () => {
    await using _ = await start({ env: { UPSTREAM_RPS: '25', UPSTREAM_TIMEOUT: '30s' } });
    const arrivals: number[] = [];
    world.indexer.requests.on('request', () => arrivals.push(performance.now()));
    const answers = await Promise.all(Array.from({ length: 80 }, () => world.ask(nothingPending())));
    expect(answers.map(({ status }) => status)).toEqual(Array(80).fill(200));
    expect(mostWithin(arrivals, 1000)).toBeLessThanOrEqual(50);
    expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(1000);
  });

  it('sheds at once each request that could not be sent in time', async () => {
    await using _ = await start({ env: { UPSTREAM_RPS: '1', UPSTREAM_TIMEOUT: '2500ms' } });
    // One slot a second; half a second after the last slot that comes in time no request is on its way to the indexer.
    // Requests that come before any waits are accepted; later ones learn the wait and are refused.
    const early = await Promise.all(Array.from({ length: 5 }, () => world.proxy.sendIn(nothingPending())));
    const late = await Promise.all(Array.from({ length: 20 }, () => world.ask(nothingPending())));
    const answers = [...late, ...(await Promise.all(early.map(({ answer }) => answer)))];
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThanOrEqual(21);
    for (const answered of refused) expectShed(answered);
    expect(await shed('rate-limit')).toBeGreaterThan(0);
    expect(world.forwarded.length).toBeLessThanOrEqual(4);
  });

  it('below one is refused at the start, because nothing would ever be sent', async () => {
    await expect(start({ env: { UPSTREAM_RPS: '0.5' } })).rejects.toThrow(/UPSTREAM_RPS/);
  });
});

describe('a retry', () => {
  it('is made once, when the connection was reset', async () => {
    await using _ = await start();
    world.indexer.faults.inject({ kind: 'reset' }, { times: 1 });
    expect((await world.ask(nothingPending())).status).toBe(200);
    expect(world.forwarded).toHaveLength(2);
    world.indexer.faults.inject({ kind: 'reset' });
    for (let time = 0; time < 10; time++) await world.ask(newestBlock(world));
    expect(world.forwarded.length).toBeGreaterThan(12);
    expect((await world.ask(nothingPending())).status).toBe(502);
  });

  it.each([
    ['an answer of 500', failed(500)],
    ['an answer that was cut', { kind: 'cut', framing: 'content-length' }],
    ['no answer', { kind: 'hang' }],
  ] as const)('is not made after %s', async (_name, fault) => {
    await using _ = await start({ env: { UPSTREAM_TIMEOUT: '200ms' } });
    world.indexer.faults.inject(fault);
    expect((await world.ask(newestBlock(world))).status).toBeGreaterThanOrEqual(500);
    expect(world.forwarded).toHaveLength(1);
  });

  it('is made for at most a tenth of the requests, and once a second', async () => {
    await using _ = await start({ overrides: { breaker: { minimumThroughput: 100_000 } } });
    world.indexer.faults.inject({ kind: 'reset' });
    const startedAt = performance.now();
    for (let time = 0; time < 100; time++) expect((await world.ask(unknownTransaction())).status).toBe(502);
    const seconds = (performance.now() - startedAt) / 1000;
    expect(world.forwarded.length).toBeGreaterThanOrEqual(110);
    expect(world.forwarded.length).toBeLessThanOrEqual(100 + 10 + 1 + Math.ceil(seconds));
  });
});

describe('bytes of answers being read', () => {
  const MIB = 1024 * 1024;
  const EMPTY = '{"traces":[]}';
  const KEPT = nothingPending();
  const answer = (text: string) =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`;
  const whole = `${answer(EMPTY)}\r\n\r\n${EMPTY}`;

  /** An indexer that answers pendingTraces, and whose other answers the test writes; a proxy that reads 1 MiB at once. */
  async function startReading(maxConcurrency: number, maxQueue: number) {
    const held: Parameters<Parameters<typeof startScriptedUpstream>[0]>[0][] = [];
    const upstream: ScriptedUpstream = await startScriptedUpstream((socket, head) => {
      if (head.includes('pendingTraces')) socket.write(whole);
      else held.push(socket);
    });
    const proxy = await startProxy({
      upstreamUrl: upstream.url,
      env: NEVER.env,
      overrides: {
        admission: { ...PATIENT_ADMISSION, maxQueue },
        lifetimes: { empty: times(600_000, 0, 0) },
        upstream: { maxReading: MIB, maxConcurrency },
        http: { drain: 100 },
      },
    });
    const body = `{"traces":[],"padding":"${'x'.repeat(4 * MIB)}"}`;
    return {
      proxy,
      upstream,
      held,
      /** All but the end of an answer. */
      writeMost: () => held[0]?.write(`${answer(body)}\r\n\r\n${body.slice(0, -1)}`),
      writeRest: () => held[0]?.write('}'),
      [Symbol.asyncDispose]: async () => {
        await proxy.close();
        await upstream[Symbol.asyncDispose]();
      },
    };
  }

  const exhausted = (proxy: { metric: World['proxy']['metric'] }) =>
    proxy.metric('toncache_shed_total', { reason: 'memory' });

  it('are bounded: above the limit misses are shed and hits served, until they are fewer', async () => {
    await using reading = await startReading(10, 0);
    const { proxy, upstream } = reading;
    expect((await proxy.ask(KEPT)).status).toBe(200);
    const large = await proxy.sendIn(unknownTransaction());
    await expect.poll(() => reading.held.length).toBe(1);
    reading.writeMost();
    await expect.poll(async () => (await proxy.ask(nothingPending())).status, { interval: 5 }).toBe(503);
    const sent = upstream.heads.length;
    expectShed(await proxy.ask(nothingPending()));
    expect((await proxy.ask(KEPT)).headers['cache-status']).toContain('hit');
    expect(upstream.heads).toHaveLength(sent);
    expect(await exhausted(proxy)).toBe(2);
    reading.writeRest();
    await large.answer;
    expect((await proxy.ask(nothingPending())).status).toBe(200);
  });

  it('are bounded for requests too that had been waiting for a slot', async () => {
    await using reading = await startReading(2, 1);
    const { proxy, upstream } = reading;
    const holding = [await proxy.sendIn(unknownTransaction()), await proxy.sendIn(unknownTransaction())];
    await expect.poll(() => reading.held.length).toBe(2);
    const waiting = await proxy.sendIn(nothingPending());
    await expect.poll(() => proxy.metric('toncache_upstream_queued')).toBe(1);
    reading.writeMost();
    await expect
      .poll(
        async () => {
          await proxy.ask(nothingPending());
          return exhausted(proxy);
        },
        { interval: 5 },
      )
      .toBeGreaterThan(0);
    reading.held[1]?.write(whole);
    await holding[1]?.answer;
    const { status } = await waiting.answer;
    expect([status, upstream.heads.length]).toEqual([503, 2]);
  });
});
