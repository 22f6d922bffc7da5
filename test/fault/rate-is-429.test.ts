import { describe, expect, it } from 'vitest';
import { overloaded } from '../../src/errors.ts';
import { REFUSED_REASONS } from '../../src/failures/refusals.ts';
import { rateLimited } from '../../src/tools/simulator/faults.ts';
import { arrivedAt } from '../e2e/pass-through-world.ts';
import { unknownTransaction } from '../e2e/questions.ts';
import { INFO } from '../e2e/raw-requests.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import { EventsClient, refusedWith, WebSocketClient } from '../support/stream-clients.ts';

const ENV = { PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s', LOG_REQUESTS: 'failed' };
const start = (env: Record<string, string> = {}) =>
  World.start({
    ...ANY_WORLD,
    proxy: { stopsTime: true, env: { ...ENV, ...env }, overrides: { admission: { patience: 100 } } },
  });

it('only the reasons of a rate that is used up are 429', () => {
  const reasons = REFUSED_REASONS.filter((reason) => reason !== 'client-limit');
  const of429 = reasons.filter((reason) => overloaded(reason, 0).status === 429);
  expect(of429).toEqual(['key-paused', 'paused', 'rate-limit']);
  for (const reason of reasons) expect([429, 503]).toContain(overloaded(reason, 0).status);
});

it('20 clients with UPSTREAM_RPS=1 get 429 with Retry-After, and the page says FAILING, which fires ToncacheRefusing', async () => {
  await using world = await start({ UPSTREAM_RPS: '1', TRUSTED_PROXIES: '127.0.0.0/8' });
  const askBy = (client: number) =>
    world.ask(unknownTransaction(), { headers: { 'X-Forwarded-For': `192.0.2.${client + 1}` } });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, client) => askBy(client)));
  const refused = answers.filter(({ status }) => status !== 404);
  expect(refused).toHaveLength(19);
  for (const { status, headers, cache } of refused) {
    expect([status, cache['detail']]).toEqual([429, 'overloaded']);
    expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
  }
  expect(await world.proxy.metric('loadsRefused', { reason: 'rate-limit' })).toBe(refused.length);
  expect(world.proxy.log).toContainEqual(expect.objectContaining({ level: 40, msg: 'request', status: 429 }));
  const condition = () => {
    world.advance(1000);
    return world.proxy.metric('toncache_condition', { name: 'no-answer', level: 'failing' });
  };
  await expect.poll(condition).toBe(1);
  expect(JSON.parse((await world.proxy.askAdmin('/status.json')).text)).toMatchObject({ level: 'FAILING' });
  const passed = await Promise.all(Array.from({ length: 5 }, () => world.ask(INFO)));
  expect(passed.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429]);
});

describe('a passed POST is 429 with Retry-After, and is not sent', () => {
  const post = (world: World) => world.ask('/api/v3/message', { method: 'POST', body: '{}' });
  const refused = (seconds: string) => ({
    status: 429,
    headers: { 'retry-after': seconds },
    cache: { detail: 'overloaded' },
  });

  it('if UPSTREAM_RPS is used up', async () => {
    await using world = await start({ UPSTREAM_RPS: '1' });
    expect((await post(world)).status).toBe(200);
    for (let time = 0; time < 2; time++) expect(await post(world)).toMatchObject(refused('1'));
    expect(arrivedAt(world)).toHaveLength(1);
    world.advance(1000);
    expect((await post(world)).status).toBe(200);
  });

  it('while the indexer has paused its path', async () => {
    await using world = await start();
    world.indexer.faults.inject(rateLimited('json', '30'), { times: 1 });
    expect(await post(world)).toMatchObject({ status: 429, headers: { 'retry-after': '30' } });
    expect(await post(world)).toMatchObject(refused('30'));
    expect(arrivedAt(world)).toHaveLength(1);
    world.advance(30_000);
    expect((await post(world)).status).toBe(200);
  });
});

it('a stream is 429 with Retry-After if UPSTREAM_RPS is used up, by WebSocket and by server-sent events', async () => {
  await using world = await start({ UPSTREAM_RPS: '1' });
  const { proxy, indexer } = world;
  using _first = await WebSocketClient.open(proxy.url);
  expect(await refusedWith(proxy.url)).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
  using events = await EventsClient.open(proxy.url, {});
  expect([events.response.status, events.response.headers.get('retry-after')]).toEqual([429, '1']);
  expect(indexer.streaming.requests).toHaveLength(1);
  world.advance(1000);
  using _later = await WebSocketClient.open(proxy.url);
});

it('a 429 of the indexer is 429 for an operation, with the same code as before', async () => {
  await using world = await start();
  world.indexer.faults.inject(rateLimited('json', '30'));
  const target = unknownTransaction();
  expect(await world.ask(target)).toMatchObject({
    status: 429,
    headers: { 'retry-after': '30' },
    cache: { fwd: 'miss', 'fwd-status': 429, detail: 'upstream-rate-limited' },
  });
  await expect
    .poll(() => world.ask(target))
    .toMatchObject({
      status: 429,
      cache: { detail: 'overloaded' },
      headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
    });
});
