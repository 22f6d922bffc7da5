import { describe, expect, it, vi } from 'vitest';
import type { Reply } from '../support/start-proxy.ts';
import { startPassThrough } from './pass-through-world.ts';
import { newestBlock, pendingTrace, unknownTransaction } from './questions.ts';
import { INFO } from './raw-requests.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

/** A proxy with limits, whose clients are identified by `X-Forwarded-For` and whose time stands still. */
function limited(clients: object): WorldProxyOptions {
  return { stopsTime: true, env: { TRUSTED_PROXIES: '127.0.0.1' }, overrides: { clients } };
}

const start = (clients: object) => World.start({ ...ANY_WORLD, proxy: limited(clients) });

/** Sends requests one after the other as a client; in Node's lane if the request has more than the fast lane reads. */
async function askAll(world: World, client: string, targets: readonly string[], headers = {}): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (const target of targets) {
    replies.push(await world.ask(target, { headers: { 'X-Forwarded-For': client, ...headers } }));
  }
  return replies;
}

const statusesOf = (replies: readonly Reply[]) => replies.map(({ status }) => status);
const times = (count: number, target: string) => Array.from({ length: count }, () => target);
const unknown = (count: number) => Array.from({ length: count }, unknownTransaction);

describe.each([
  ['the fast lane', {}],
  ["Node's lane", { Expect: '100-continue' }],
])('a request limit, in %s', (_, headers) => {
  it('refuses requests above it, hits included, until the rate allows more', async () => {
    await using world = await start({ requestsPerSecond: 3 });
    const hit = newestBlock(world);
    expect(statusesOf(await askAll(world, '192.0.2.1', times(30, hit), headers))).toEqual(Array(30).fill(200));
    const replies = await askAll(world, '192.0.2.1', times(2, hit), headers);
    expect(statusesOf(replies)).toEqual([429, 429]);
    expect(replies[0]).toMatchObject({
      text: '{"error":"too many requests of one client: 3 a second are answered, and 30 at once"}',
      headers: {
        'content-type': 'application/json',
        'retry-after': '1',
        'ratelimit-policy': '"requests";q=30;w=10',
        ratelimit: '"requests";r=0;t=1',
        'access-control-allow-origin': '*',
        'cache-control': 'no-store',
      },
      cache: { detail: 'too-many-requests' },
    });
    expect(statusesOf(await askAll(world, '192.0.2.2', [hit], headers))).toEqual([200]);
    world.advance(1000);
    expect(statusesOf(await askAll(world, '192.0.2.1', times(4, hit), headers))).toEqual([200, 200, 200, 429]);
    expect(await world.proxy.metric('requestsRefused', { code: 'too-many-requests' })).toBe(3);
  });

  it('counts each request of a pipelined connection once', async () => {
    await using world = await start({ requestsPerSecond: 1 });
    await askAll(world, '127.0.0.1', times(8, newestBlock(world)));
    const request = (more: string) => `GET ${newestBlock(world)} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
    const more = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    const answers = await world.proxy.exchange(request('') + request(more) + request('Connection: close\r\n'));
    expect(answers.match(/HTTP\/1\.1 (?!100)\d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 429']);
  });
});

describe.each([
  ['the fast lane', {}],
  ["Node's lane", { Expect: '100-continue' }],
])('a trusted proxy that sends X-Real-IP without X-Forwarded-For, in %s', (_, headers) => {
  it.each([
    ['without limits', {}],
    ['with limits', { requestsPerSecond: 1000, missesPerSecond: 1000 }],
  ])('is logged at its hundredth miss, %s', async (__, clients) => {
    await using world = await start(clients);
    const lines = () => world.proxy.log.filter(({ msg }) => msg.startsWith('a trusted proxy sends X-Real-IP without'));
    const askTimes = async (count: number) => {
      for (let time = 0; time < count; time++) {
        await world.ask(unknownTransaction(), { headers: { 'X-Real-IP': `192.0.2.${time}`, ...headers } });
        await world.ask('/healthz', { headers: { 'X-Real-IP': '192.0.2.1' } });
      }
    };
    await askTimes(99);
    expect(lines()).toEqual([]);
    await askTimes(2);
    expect(lines()).toEqual([expect.objectContaining({ address: '127.0.0.1', header: 'X-Real-IP' })]);
  });
});

it.each([
  [
    'OK with a note, and is named by its network',
    { 'X-Forwarded-For': '192.0.2.1' },
    4,
    14,
    'OK',
    '192.0.2.0/24 exceeds its limit; all others are answered',
  ],
  [
    'OK with a note, also if it sends most of all requests',
    { 'X-Forwarded-For': '192.0.2.1' },
    29,
    20,
    'OK',
    '192.0.2.0/24 exceeds its limit; all others are answered',
  ],
  [
    'FAILING if most requests are refused, and name their clients in a header that is not read',
    { 'X-Real-IP': '192.0.2.1' },
    29,
    20,
    'FAILING',
    '58 % of requests are limited: 127.0.0.0/24 exceeds its limit; if that is your proxy, set TRUSTED_PROXIES',
  ],
])('a client above its limit turns the status page %s', async (_, headers, refused, others, level, says) => {
  // Of a tick among these requests an earlier share would be told.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  await using world = await start({ requestsPerSecond: 1 });
  const statusOf = async () => JSON.parse((await world.proxy.askAdmin('/status.json')).text);
  const hit = newestBlock(world);
  await askAll(world, '198.51.100.1', [hit]);
  await statusOf();
  world.advance(1000);
  for (let place = 1; place <= others - 10; place++) await askAll(world, `203.0.113.${place}`, [hit]);
  for (const target of times(10 + refused, hit)) await world.ask(target, { headers });
  world.advance(1000);
  const status = await statusOf();
  expect([status.level, status.conditions[0].says]).toEqual([level, says]);
  expect(world.proxy.log.filter(({ msg }) => msg.includes('0/24 exceeds its limit'))).toHaveLength(1);
});

it('a preflight does not count towards the request limit, because browsers hide its status', async () => {
  await using world = await start({ requestsPerSecond: 1 });
  const hit = newestBlock(world);
  expect(statusesOf(await askAll(world, '127.0.0.1', [hit]))).toEqual([200]);
  const preflight = await world.ask(hit, { method: 'OPTIONS' });
  expect(preflight.status).toBe(204);
});

describe('a miss limit', () => {
  it('refuses misses above it, and serves hits', async () => {
    await using world = await start({ missesPerSecond: 1 });
    const hit = newestBlock(world);
    expect(statusesOf(await askAll(world, '192.0.2.1', unknown(8)))).toEqual(Array(8).fill(404));
    const targets = [hit, unknownTransaction(), unknownTransaction(), hit];
    const replies = await askAll(world, '192.0.2.1', targets);
    expect(statusesOf(replies)).toEqual([200, 404, 429, 200]);
    expect(replies[2]?.headers).toMatchObject({ ratelimit: '"misses";r=0;t=1', 'retry-after': '1' });
    expect(world.forwarded).toHaveLength(10);
    expect(await world.proxy.metric('loadsRefused', { reason: 'client-limit' })).toBe(1);
    expect(statusesOf(await askAll(world, '192.0.2.2', [unknownTransaction()]))).toEqual([404]);
  });

  it('does not count the waiters of a load', async () => {
    await using world = await start({ missesPerSecond: 1 });
    await askAll(world, '192.0.2.1', unknown(9));
    const gate = world.indexer.hold();
    const target = unknownTransaction();
    const headers = { 'X-Forwarded-For': '192.0.2.1' };
    const first = await world.proxy.sendIn(target, { headers });
    const others = [await world.proxy.sendIn(target, { headers }), await world.proxy.sendIn(target, { headers })];
    await gate.arrived(1);
    gate.release();
    const all = await Promise.all([first, ...others].map(({ answer }) => answer));
    expect(all.map(({ status }) => status)).toEqual([404, 404, 404]);
  });

  it('does not count answers that another instance has put into Redis', async () => {
    const clients = { missesPerSecond: 1 };
    await using world = await World.start({ dialect: '1.3', tiers: 'memory and Redis', proxy: limited(clients) });
    const targets = Array.from(
      { length: 12 },
      (_, back) => `/api/v3/masterchainBlockShards?seqno=${world.indexer.chain.headSeqno - back - 1}`,
    );
    const filler = await world.addProxy();
    for (const target of targets) await world.ask(target, {}, filler);
    await filler.untilRedisHasAll();
    expect(statusesOf(await askAll(world, '192.0.2.1', targets))).toEqual(Array(12).fill(200));
  });

  it('serves a stale answer instead of a refusal, if one is cached', async () => {
    await using world = await start({ missesPerSecond: 1 });
    const target = pendingTrace(world);
    expect(statusesOf(await askAll(world, '192.0.2.1', [target]))).toEqual([200]);
    world.advance(1000);
    const replies = await askAll(world, '192.0.2.1', [...unknown(10), target]);
    expect(statusesOf(replies)).toEqual([...Array(10).fill(404), 200]);
    expect(replies[10]?.cache).toMatchObject({ hit: true, detail: 'memory' });
    expect(replies[10]?.cache['ttl']).toBeLessThan(0);
  });

  it('counts passed-through requests', async () => {
    await using world = await startPassThrough(limited({ missesPerSecond: 1 }));
    expect(statusesOf(await askAll(world, '192.0.2.1', times(11, INFO)))).toEqual([...Array(10).fill(200), 429]);
    expect(await world.proxy.metric('loadsRefused', { operation: 'passthrough', reason: 'client-limit' })).toBe(1);
  });
});
