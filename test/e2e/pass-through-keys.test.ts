import { describe, expect, it } from 'vitest';
import { rateLimited } from '../../src/tools/simulator/faults.ts';
import { arrivedAt, startPassThrough } from './pass-through-world.ts';
import { newestBlock } from './questions.ts';
import { head, INFO, statuses } from './raw-requests.ts';
import type { World } from './world.ts';

const OURS = 'of-the-proxy';
const keysIn = (world: World) => arrivedAt(world).map(({ headers }) => headers['x-api-key']);

const BLANK: readonly [what: string, query: string, ...headers: string[]][] = [
  ['none', ''],
  ['an empty one', '', 'X-Api-Key:'],
  ['one of blanks', '', 'X-Api-Key: \t \xa0'],
  ['several empty ones', '', 'X-Api-Key:', 'x-api-key: ', 'X-API-KEY: ,'],
  ['one that Connection names', '', 'X-Api-Key: a', 'Connection: keep-alive, X-Api-Key'],
  ['one that one of several Connections names', '', 'Connection: x-API-key', 'X-Api-Key: a', 'Connection: x'],
  ['an empty one in the query', '?api_key='],
  ['several empty ones in the query', '?api_key&Api_Key=&api_key=%20+&limit=1'],
  ['empty ones in both', '?api_key=', 'X-Api-Key:'],
  ['empty ones behind semicolons', '?limit=1;api_key=;api%5Fkey=&x;API-KEY'],
  ['an empty one in an encoded name', '?%61%70i%5fke%79='],
  ['one in a header that the indexer does not read', '', 'Api-Key: of-the-client', 'X_Api_Key: of-the-client'],
  ['credentials of another kind', '', 'Authorization: Bearer of-the-client'],
];

describe('a request without a key of its own', () => {
  it.each(BLANK)('is subject to UPSTREAM_RPS and to a pause: %s', async (_, query, ...lines) => {
    await using world = await startPassThrough({
      stopsTime: true,
      env: { UPSTREAM_RPS: '1' },
      overrides: { admission: { patience: 1 } },
    });
    const passed = async () => statuses(await world.proxy.exchange(head(`GET ${INFO}${query}`, ...lines)));
    expect([await passed(), await passed(), await passed()]).toEqual([['200'], ['429'], ['429']]);
    expect((await world.ask(INFO, { headers: { 'X-Api-Key': 'of-the-client' } })).status).toBe(200);
    world.advance(1000);
    world.indexer.faults.inject(rateLimited('json', '60'), { times: 1 });
    expect(await passed()).toEqual(['429']);
    world.advance(1000);
    expect(await passed()).toEqual(['429']);
    expect(arrivedAt(world)).toHaveLength(3);
  });

  it.each(BLANK)('is sent with our key if that is shared: %s', async (_, query, ...lines) => {
    await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
    expect(statuses(await world.proxy.exchange(head(`GET ${INFO}${query}`, ...lines)))).toEqual(['200']);
    expect(keysIn(world)).toEqual([OURS]);
    const [{ target, headers } = { target: '', headers: {} }] = arrivedAt(world);
    expect(decodeURIComponent(target)).not.toMatch(/api.?key/i);
    expect(Object.keys(headers).filter((name) => /authorization|api.?key/i.test(name))).toEqual(['x-api-key']);
  });

  it('keeps its Authorization if our key is not sent', async () => {
    await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'off' } });
    await world.ask(`${INFO}?api_key=;a=1`, { headers: { Authorization: 'Bearer of-the-client' } });
    const [{ target, headers } = { target: '', headers: {} }] = arrivedAt(world);
    expect([target, headers]).toMatchObject([`${INFO}?api_key=;a=1`, { authorization: 'Bearer of-the-client' }]);
    expect(keysIn(world)).toEqual([undefined]);
  });
});

it.each(['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override'])('%s is never passed on', async (name) => {
  await using world = await startPassThrough();
  await world.ask(INFO, { headers: { [name]: 'DELETE', Accept: 'text/plain' } });
  const [{ headers } = { headers: {} }] = arrivedAt(world);
  expect(headers).toMatchObject({ accept: 'text/plain' });
  expect(headers).not.toHaveProperty(name.toLowerCase());
});

describe('the key of a client', () => {
  it.each<[what: string, query: string, ...headers: string[]]>([
    ['next to an empty one', '', 'X-Api-Key: a', 'X-Api-Key:'],
    ['next to an empty one in the query', '?api_key=', 'X-Api-Key: a'],
    ['in the query, repeated', '?api_key=&api_key=a'],
    ['in the query, in another case', '?API_KEY=a'],
    ['in the query, in an encoded name', '?%61pi%5Fkey=a'],
    ['behind a semicolon', '?limit=1;api_key=a'],
    ['first, before a semicolon', '?api_key=a;limit=1'],
    ['behind an empty one and a semicolon', '?api_key=;api_key=a'],
    ['in a list', '?api_key[]=a'],
    ['next to other credentials', '?api_key=a', 'Authorization: Bearer b'],
    ['in the query, next to a header that is dropped', '?api_key=a', 'X-Api-Key: b', 'Connection: X-Api-Key'],
  ])('is used instead of ours: %s', async (_, query, ...lines) => {
    await using world = await startPassThrough({ env: { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' } });
    expect(statuses(await world.proxy.exchange(head(`GET ${INFO}${query}`, ...lines)))).toEqual(['200']);
    expect(keysIn(world)).not.toContain(OURS);
    const [{ target, headers } = { target: '', headers: {} }] = arrivedAt(world);
    expect([target, headers['authorization']]).toEqual([
      `${INFO}${query}`,
      lines.includes('Authorization: Bearer b') ? 'Bearer b' : undefined,
    ]);
  });
});

describe('where our key is shared, a request with a key of its client', () => {
  const SHARED = { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'on' };
  const ITS_OWN = [
    ['in the header', INFO, { 'X-Api-Key': 'invented' }],
    ['in the query', `${INFO}?api_key=invented`, {}],
  ] as const;

  it.each(ITS_OWN)('counts for UPSTREAM_RPS, together with all others: %s', async (_, target, headers) => {
    await using world = await startPassThrough({
      stopsTime: true,
      env: { ...SHARED, UPSTREAM_RPS: '1' },
      overrides: { admission: { patience: 1 } },
    });
    expect((await world.ask(target, { headers })).status).toBe(200);
    for (const own of [headers, { 'X-Api-Key': 'another' }, {}]) {
      expect((await world.ask(INFO, { headers: own })).status).toBe(429);
    }
    world.advance(1000);
    expect((await world.ask(INFO)).status).toBe(200);
    expect((await world.ask(target, { headers })).status).toBe(429);
    expect(keysIn(world)).toEqual([target === INFO ? 'invented' : undefined, OURS]);
  });

  it.each(ITS_OWN)('keeps a pause of our key, and begins none: %s', async (_, target, headers) => {
    await using world = await startPassThrough({ stopsTime: true, env: SHARED });
    world.indexer.faults.inject(rateLimited('json', '60'), { times: 1 });
    expect((await world.ask(target, { headers })).status).toBe(429);
    expect((await world.ask(target, { headers })).status).toBe(200);
    world.indexer.faults.inject(rateLimited('json', '60'), { times: 1 });
    expect((await world.ask(INFO)).status).toBe(429);
    expect(await world.ask(target, { headers })).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect(arrivedAt(world)).toHaveLength(3);
    world.advance(60_000);
    expect((await world.ask(target, { headers })).status).toBe(200);
  });

  it('neither ends a pause of everything nor keeps others from ending it', async () => {
    await using world = await startPassThrough({ stopsTime: true, env: SHARED });
    const keyed = () => world.ask(INFO, { headers: { 'X-Api-Key': 'invented' } });
    world.indexer.faults.inject(rateLimited('json', '60'), { times: 2 });
    for (const target of [INFO, newestBlock(world)]) await world.ask(target);
    expect((await keyed()).status).toBe(429);
    world.advance(60_000);
    expect((await keyed()).status).toBe(200);
    expect(await world.proxy.metric('upstreamPaused')).toBe(1);
    expect((await world.ask(newestBlock(world))).status).toBe(200);
    expect(await world.proxy.metric('upstreamPaused')).toBe(0);
  });
});

describe('where our key is not shared', () => {
  const NOT_SHARED = { UPSTREAM_API_KEY: OURS, PASSTHROUGH_SHARED_KEY: 'off' };

  it('a request without a key counts for UPSTREAM_RPS, and one with a key of its client does not', async () => {
    await using world = await startPassThrough({
      stopsTime: true,
      env: { ...NOT_SHARED, UPSTREAM_RPS: '1' },
      overrides: { admission: { patience: 1 } },
    });
    expect([(await world.ask(INFO)).status, (await world.ask(INFO)).status]).toEqual([200, 429]);
    expect((await world.ask(INFO, { headers: { 'X-Api-Key': 'of-the-client' } })).status).toBe(200);
    expect(keysIn(world)).toEqual([undefined, 'of-the-client']);
  });

  it('a 429 to a request without a key pauses nothing', async () => {
    await using world = await startPassThrough({ stopsTime: true, env: NOT_SHARED });
    world.indexer.faults.inject(rateLimited('json', '60'), { times: 1 });
    expect([(await world.ask(INFO)).status, (await world.ask(INFO)).status]).toEqual([429, 200]);
  });
});
