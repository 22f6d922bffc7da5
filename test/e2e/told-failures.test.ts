import { describe, expect, it, vi } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import { freePort } from '../support/free-port.ts';
import { startPassThrough } from './pass-through-world.ts';
import { unknownTransaction } from './questions.ts';
import type { World, WorldProxyOptions } from './world.ts';

const PASSED = '/api/v3/nft/items?offset=';
const MESSAGE = '/api/v3/message';
const STREAM = '/api/streaming/v2/sse';

/**
 * Clients are told apart by `X-Forwarded-For`, and time stands still: all requests are of the same ten seconds. States
 * are brought up to date by the page alone: between the last request and the page, failures would be over.
 */
async function start({ env, ...more }: WorldProxyOptions = {}): Promise<World> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  return startPassThrough({ ...more, stopsTime: true, env: { TRUSTED_PROXIES: '127.0.0.1', ...env } });
}

let asked = 0;

/** Requests one after the other, each of another client, unless it is given; `target` without its last number. */
async function ask(
  world: World,
  count: number,
  target: string,
  more: Parameters<World['ask']>[1] & { client?: string } = {},
) {
  const { client, headers, ...asking } = more;
  for (let time = 0; time < count; time++) {
    asked++;
    const name = client ?? `10.0.${asked % 250}.1`;
    await world.ask(target.endsWith('=') ? `${target}${asked}` : target, {
      ...asking,
      headers: { 'X-Forwarded-For': name, ...headers },
    });
  }
}

/** The level and the first line, a second later. */
async function told(world: World): Promise<string> {
  world.advance(1000);
  const { says } = JSON.parse((await world.proxy.askAdmin('/status.json')).text);
  return says.replace(/ for \S+ \S+?:/, ':');
}

const OK = 'OK: serving as usual';

describe('the first line, when the indexer itself answers 502,', () => {
  it('tells it if most passed-through requests get it', async () => {
    await using world = await start();
    await ask(world, 10, PASSED);
    world.indexer.faults.inject(failed(502));
    await ask(world, 11, PASSED);
    expect(await told(world)).toBe('DEGRADED: the indexer answers 502 to 52 % of the passed-through requests.');
  });

  it('is as usual if half of them do, or if all were sent with keys of their clients', async () => {
    await using world = await start();
    await ask(world, 10, PASSED);
    world.indexer.faults.inject(failed(502));
    await ask(world, 10, PASSED);
    expect(await told(world)).toBe(OK);
    await ask(world, 10, PASSED, { headers: { 'X-Api-Key': 'theirs' } });
    await ask(world, 10, PASSED, { headers: { Authorization: 'Bearer theirs' } });
    expect(await told(world)).toBe(OK);
  });

  it.each([
    ['one target', '/api/v3/nft/items', {}],
    ['one of many clients', PASSED, { client: '192.0.2.1' }],
  ])('is as usual if they are those of %s', async (_, target, more) => {
    await using world = await start();
    world.indexer.faults.inject(failed(502));
    await ask(world, 1, target, more);
    const hit = unknownTransaction();
    world.indexer.faults.clear();
    await ask(world, 20, hit);
    world.advance(3000);
    world.indexer.faults.inject(failed(502));
    await ask(world, 9, target, more);
    expect(await told(world)).toBe(OK);
  });

  it('tells it of POSTs, each of which is a request like no other', async () => {
    await using world = await start();
    world.indexer.faults.inject(failed(502));
    await ask(world, 5, MESSAGE, { method: 'POST', body: '{}' });
    expect(await told(world)).toBe('DEGRADED: the indexer answers 502 to 100 % of the passed-through requests.');
  });

  it.each([503, 504, 521, 530])('tells it of %i as well', async (status) => {
    await using world = await start();
    world.indexer.faults.inject({ kind: 'answer', status, body: '<html>' });
    await ask(world, 5, PASSED);
    expect(await told(world)).toBe(`DEGRADED: the indexer answers ${status} to 100 % of the passed-through requests.`);
  });

  it.each(['500', '501', '404', '429'])('is as usual if the indexer answers %s instead', async (status) => {
    await using world = await start();
    world.indexer.faults.inject({ kind: 'answer', status: Number(status), body: '{"error":"no"}' });
    for (let time = 0; time < 5; time++) await ask(world, 1, `/api/v3/nft/items/${time}`);
    expect(await told(world)).toBe(OK);
  });
});

describe('the first line, when toncache itself has no answer for', () => {
  it('passed-through requests, is FAILING', async () => {
    await using world = await start();
    await ask(world, 40, unknownTransaction());
    world.indexer.faults.inject({ kind: 'reset' });
    await ask(world, 4, PASSED);
    expect(await told(world)).toMatch(/^FAILING: 10 % of requests fail \(passthrough\)\. The indexer closes/);
    expect(await world.proxy.metric('requests', { operation: 'passthrough', outcome: 'failed' })).toBe(4);
  });

  it('joined requests, is FAILING', async () => {
    await using world = await start({ env: { CACHE_OPERATIONS: 'passthrough' } });
    await ask(world, 40, unknownTransaction());
    world.indexer.faults.inject({ kind: 'reset' });
    await ask(world, 4, PASSED);
    expect(await told(world)).toMatch(/^FAILING: 10 % of requests fail \(passthrough\)/);
  });

  it('streams, is FAILING, and names their server', async () => {
    const server = `127.0.0.1:${await freePort()}`;
    await using world = await start({ env: { STREAM_URL: `ws://${server}/api/streaming/v2/ws` } });
    await ask(world, 40, unknownTransaction());
    await ask(world, 4, STREAM);
    expect(await told(world)).toBe(`FAILING: 10 % of requests fail (streaming). ${server} is unreachable.`);
    expect(await world.proxy.metric('requests', { operation: 'streaming', outcome: 'failed' })).toBe(4);
  });

  it('one cache key, is DEGRADED', async () => {
    await using world = await start();
    await ask(world, 12, PASSED);
    world.indexer.faults.inject({ kind: 'reset' });
    await ask(world, 3, unknownTransaction());
    expect(await told(world)).toMatch(/^DEGRADED: 20 % of requests fail/);
  });

  it('one of many clients, is DEGRADED; for the client with most requests, hits included, it is FAILING', async () => {
    await using world = await start();
    const hit = unknownTransaction();
    const failing = async () => {
      world.indexer.faults.inject({ kind: 'reset' });
      await ask(world, 3, PASSED, { client: '192.0.2.1' });
      world.indexer.faults.clear();
    };
    await ask(world, 20, hit);
    await failing();
    expect(await told(world)).toMatch(/^DEGRADED: 15 % of requests fail/);
    world.advance(3000);
    await ask(world, 5, hit);
    await ask(world, 30, hit, { client: '192.0.2.1' });
    await failing();
    expect(await told(world)).toMatch(/^FAILING: (10|15) % of requests fail/);
  });
});

it('passed-through requests and streams count by outcome, mistakes of clients included', async () => {
  await using world = await start();
  const count = (operation: string, outcome: string) => world.proxy.metric('requests', { operation, outcome });
  await ask(world, 2, PASSED);
  await ask(world, 1, MESSAGE, { method: 'DELETE' });
  await ask(world, 1, STREAM, { method: 'PUT' });
  expect(await count('passthrough', 'miss')).toBe(2);
  expect(await count('passthrough', 'invalid')).toBe(1);
  expect(await count('streaming', 'invalid')).toBe(1);
  expect(await told(world)).toBe(OK);
});
