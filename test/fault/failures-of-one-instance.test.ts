import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import {
  type Fault,
  failed,
  foreign404,
  garbage,
  notServed,
  rateLimited,
  redirected,
  refusedKey,
  withoutList,
} from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { childrenOfSettled, targetOf } from '../e2e/questions.ts';
import { World, type WorldProxyOptions } from '../e2e/world.ts';
import { FakeResolver } from '../support/fake-resolver.ts';
import { freePort } from '../support/free-port.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';
import type { Reply, RunningProxy } from '../support/start-proxy.ts';
import { answering, PATIENT_ADMISSION } from './faulty-world.ts';

/** The operation of which requests fail in these tests. */
const OPERATION = 'masterchainBlockShards';

let world: World;
let redis: Redis;
let stack: AsyncDisposableStack;

/** A kept failure stays until the test advances time. */
const OPTIONS = {
  stopsTime: true,
  // A lease lasts for half of it, by the clock of Redis.
  env: { UPSTREAM_TIMEOUT: '60s' },
  overrides: { admission: PATIENT_ADMISSION, coalescing: { failureTtl: 60_000, failedLease: 60_000 } },
};

beforeEach(async () => {
  redis = new Redis(inject('redisUrl'));
  stack = new AsyncDisposableStack();
  world = stack.use(await World.start({ dialect: '1.3', tiers: 'memory and Redis', proxy: OPTIONS }));
});

afterEach(async () => {
  await stack.disposeAsync();
  redis.disconnect();
});

/** One more instance. */
const addInstance = (options: WorldProxyOptions = {}) => world.addProxy({ ...OPTIONS, ...options });

/** An indexer of the same chain, for one instance only: the path between the two is faulty. */
async function faultyWay(fault: Fault): Promise<Indexer> {
  const indexer = await startIndexer({ chain: world.indexer.chain, now: () => world.now });
  stack.defer(() => indexer.close());
  indexer.faults.inject(fault, scope());
  return indexer;
}

/** A failure in the indexer's own words. */
const own = (status: number) => failed(status, 'json', undefined, { error: 'in its own words' });

/** A block that no instance requests by itself. */
const seqno = ({ indexer }: World) => indexer.chain.headSeqno - 20;
const block = (of: World) => targetOf(OPERATION, { seqno: seqno(of) });
const scope = () => ({ operation: OPERATION, query: `seqno=${seqno(world)}` }) as const;

const entries = () => redis.keys(`*${world.network}*`);
const leases = () => redis.keys(`*${world.network}*:lease`);

async function expectRight(target: string, proxy: RunningProxy): Promise<void> {
  const [reply, truth] = [await world.ask(target, {}, proxy), await world.askIndexer(target)];
  expect([reply.status, reply.text]).toEqual([200, truth.text]);
}

/** Requests the newest block from an instance, which fails; returns the target. */
async function failing(proxy: RunningProxy, status: number, detail?: string): Promise<string> {
  const target = block(world);
  const reply = await world.ask(target, {}, proxy);
  expect([reply.status, reply.cache['detail']]).toEqual([status, detail ?? 'upstream-error']);
  // It answers the next requests here.
  expect((await world.ask(target, {}, proxy)).status).toBe(status);
  return target;
}

describe('a failure of one instance is not returned to clients of another one', () => {
  const gateway = { 'Content-Type': 'text/html' };

  it.each<[string, Fault, number, string]>([
    ['401', refusedKey(401), 502, 'upstream-unauthorized'],
    ['403', refusedKey(403), 502, 'upstream-unauthorized'],
    ['429 for its key', rateLimited('json', '20'), 429, 'upstream-rate-limited'],
    ['501', notServed('masterchainBlockShards', 'not-implemented'), 501, 'not-served'],
    ['a path that its server does not have', notServed('masterchainBlockShards', 'no-path'), 501, 'not-served'],
    ['a redirect to a login', redirected(), 502, 'upstream-redirect'],
    ['a page in HTML', garbage('html'), 502, 'upstream-invalid'],
    ['JSON without the list', withoutList(), 502, 'upstream-invalid'],
    ['an answer that is cut', { kind: 'cut', framing: 'content-length' }, 502, 'upstream-invalid'],
    ['the 404 of a gateway', foreign404('gateway'), 502, 'upstream-invalid'],
    ['the 502 of a gateway, in HTML', answering('<h1>502 Bad Gateway</h1>', gateway, 502), 502, 'upstream-error'],
    ['the 503 of a gateway, in JSON', failed(503, 'json', '7', { error: 'x', code: 503 }), 503, 'upstream-error'],
    ['the 500 of a framework', failed(500, 'json', undefined, { message: 'x' }), 500, 'upstream-error'],
    ['a 500 whose error is not text', failed(500, 'json', undefined, { error: { code: 1 } }), 500, 'upstream-error'],
    ['504 without a body', answering('', {}, 504), 504, 'upstream-error'],
    ['407 of an egress proxy, in HTML', answering('<h1>407</h1>', gateway, 407), 407, 'upstream-error'],
    [
      '402 of a provider',
      failed(402, 'json', undefined, { ok: false, error: 'no plan' }),
      502,
      'upstream-unauthorized',
    ],
    ['a reset', { kind: 'reset' }, 502, 'upstream-reset'],
    ["the indexer's own 500", own(500), 500, 'upstream-error'],
    ["the indexer's own 422", own(422), 422, 'upstream-error'],
    ['an answer that is too large', { kind: 'huge', bytes: 100_000 }, 502, 'upstream-too-large'],
  ])('%s', async (_, fault, status, detail) => {
    const way = await faultyWay(fault);
    const overrides = { ...OPTIONS.overrides, upstream: { maxBodySize: 64 * 1024 } };
    const cut = await addInstance({ upstreamUrl: way.url, overrides });
    const target = await failing(cut, status, detail);
    await expectRight(target, world.proxy);
    expect(await world.proxy.metric('toncache_request_failures_total', { code: detail })).toBe(0);
  });

  it('a hung indexer', async () => {
    const way = await faultyWay({ kind: 'hang' });
    const overrides = { ...OPTIONS.overrides, upstream: { timeout: 300 } };
    const cut = await addInstance({ upstreamUrl: way.url, overrides });
    await expectRight(await failing(cut, 504, 'upstream-timeout'), world.proxy);
  });

  it('a port that refuses connections', async () => {
    const cut = await addInstance({ upstreamUrl: `http://127.0.0.1:${await freePort()}` });
    await expectRight(await failing(cut, 502, 'upstream-unreachable'), world.proxy);
  });

  it('a name that does not resolve', async () => {
    const askResolver = new FakeResolver().ask;
    const cut = await addInstance({ upstreamUrl: 'http://indexer.example:8081', askResolver });
    await expectRight(await failing(cut, 502, 'upstream-unreachable'), world.proxy);
  });

  it('a certificate that the instance does not trust', async () => {
    const server = createServer(selfSignedCertificate('indexer', '127.0.0.1'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    stack.defer(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const cut = await addInstance({ upstreamUrl: `https://127.0.0.1:${port}` });
    await expectRight(await failing(cut, 502, 'upstream-unreachable'), world.proxy);
  });
});

describe('instances that wait for the load of another one', () => {
  it('load immediately when its key is refused, and get their own answers, which are shared', async () => {
    const way = await faultyWay(refusedKey(401));
    const cut = await addInstance({ upstreamUrl: way.url });
    const other = await addInstance();
    const target = block(world);
    const [gate, healthyGate] = [way.hold(OPERATION), world.indexer.hold(OPERATION)];
    const refused = world.ask(target, {}, cut);
    await gate.arrived(1);
    const waiting = [world.ask(target), world.ask(target, {}, other)];
    await expect.poll(async () => (await followed(world.proxy)) + (await followed(other))).toBe(2);
    gate.release();
    expect((await refused).status).toBe(502);
    // Neither waits for the other one.
    await expect.poll(() => world.forwardedFor(target).length).toBe(2);
    healthyGate.release();
    for (const reply of await Promise.all(waiting)) expect(reply.status).toBe(200);
    await Promise.all([world.proxy, other].map((proxy) => proxy.untilRedisHasAll()));
    expect(await leases()).toEqual([]);
    // Its own clients get it as soon as the failure has ended: 60 s here.
    const newcomer = await addInstance({ upstreamUrl: way.url });
    expect((await world.ask(target, {}, newcomer)).cache).toMatchObject({ hit: true, detail: 'redis' });
  });

  it('replace an older answer in Redis while the failure of the other instance is still kept there', async () => {
    const target = childrenOfSettled(world);
    const entry = await storedBy(world.ask(target));
    const before = await redis.getBuffer(entry);
    await redis.set(`${entry}:lease`, 'failed by its own key', 'PX', 60_000);
    // It is no longer fresh, but usable.
    world.advance(8000);
    await world.untilFresh(target);
    await world.proxy.untilRedisHasAll();
    expect(await redis.getBuffer(entry)).not.toEqual(before);
    expect(await leases()).toEqual([]);
  });
});

/** The key in Redis of the entry that an instance stores for a request. */
async function storedBy(asking: Promise<Reply>): Promise<string> {
  const before = new Set(await entries());
  expect((await asking).cache).toMatchObject({ stored: true });
  await world.proxy.untilRedisHasAll();
  const [entry = '', ...others] = (await entries()).filter((key) => !before.has(key));
  expect(others).toEqual([]);
  return entry;
}

it('a failure costs each instance one request for its key until the failure TTL ends', async () => {
  const other = await addInstance();
  const target = block(world);
  world.indexer.faults.inject(own(500), scope());
  for (let time = 0; time < 3; time++) {
    for (const proxy of [world.proxy, other]) expect((await world.ask(target, {}, proxy)).status).toBe(500);
    expect(world.forwardedFor(target)).toHaveLength(2);
    world.advance(29_999);
  }
  world.advance(3);
  for (const proxy of [world.proxy, other]) expect((await world.ask(target, {}, proxy)).status).toBe(500);
  expect(world.forwardedFor(target)).toHaveLength(4);
});

it('a failure that an instance of an older version put into Redis is returned by no other instance', async () => {
  const target = block(world);
  const way = await faultyWay(own(500));
  const cut = await addInstance({ upstreamUrl: way.url });
  const gate = way.hold(OPERATION);
  const asking = world.ask(target, {}, cut);
  await gate.arrived(1);
  const [lease = ''] = await leases();
  const body = Buffer.from('{"error":"x"}').toString('base64');
  const older = {
    code: 'upstream-error',
    message: 'x',
    upstreamStatus: 500,
    upstreamBody: body,
    until: world.now + 1e9,
  };
  await redis.set(lease, `failed ${JSON.stringify(older)}`, 'PX', 60_000);
  await expectRight(target, world.proxy);
  gate.release();
  expect((await asking).status).toBe(500);
});

const followed = (proxy: RunningProxy) => proxy.metric('leaseWaits');
