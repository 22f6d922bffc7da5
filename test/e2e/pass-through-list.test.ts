import { afterEach, describe, expect, it } from 'vitest';
import { EventsClient, refusedWith } from '../support/stream-clients.ts';
import { accountOf } from '../support/streaming-world.ts';
import { arrivedAt, startPassThrough } from './pass-through-world.ts';
import { nothingPending } from './questions.ts';
import type { World } from './world.ts';

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

async function start(PASSTHROUGH: string, env: Record<string, string> = {}) {
  world = await startPassThrough({ env: { PASSTHROUGH, ...env } });
}

const LIST = 'message,nft/items,runGetMethod';
const OPERATIONS = ['', 'all,passthrough'];

describe.each(OPERATIONS)('with a list in PASSTHROUGH and CACHE_OPERATIONS=%s', (CACHE_OPERATIONS) => {
  it('requests for the listed paths are passed through, in every spelling and method', async () => {
    await start(LIST, { CACHE_OPERATIONS });
    const targets = ['nft/items?limit=1', 'NFT/Items/?limit=1', 'nft/it%65ms', 'message', 'runGetMethod/'];
    for (const target of targets) {
      for (const method of ['GET', 'HEAD', 'POST']) {
        const { cache } = await world.ask(`/api/v3/${target}`, { method, ...(method === 'POST' && { body: '{}' }) });
        expect(cache).toHaveProperty('fwd');
        expect(arrivedAt(world).at(-1)).toMatchObject({ method, target: `/api/v3/${target}` });
      }
    }
    expect(await world.ask(nothingPending())).toMatchObject({ status: 200 });
    const preflight = await world.ask('/api/v3/message', { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers['access-control-allow-methods']]).toEqual([
      204,
      'GET, HEAD, OPTIONS, POST',
    ]);
  });

  it('all other paths get 501, which names the path', async () => {
    await start(LIST, { CACHE_OPERATIONS });
    const others = [
      ...['estimateFee', 'nft/items/x', 'nft', 'items', 'mess%2561ge', 'message;x', 'message//'],
      ...['dns/records', '%zz', 'x/../message', './message', 'streaming', 'jsonRPC'],
    ];
    for (const path of others) {
      for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
        const { status, text } = await world.ask(`/api/v3/${path}`, { method });
        expect([path, method, status]).toEqual([path, method, 501]);
        if (method === 'GET')
          expect(JSON.parse(text)).toEqual({ error: `${path} is not served here: PASSTHROUGH does not allow it` });
      }
    }
    const { text } = await world.proxy.askAdmin('/explain?target=estimateFee');
    expect(text).toMatch(/message, nft\/items(?:, runGetMethod)? are served.*PASSTHROUGH \(passThrough\.enabled\)/);
    expect(text).toContain('runGetMethod');
    for (const target of ['/api/v2/jsonRPC', '/api/streaming/v2/sse']) {
      expect((await world.ask(target, { method: 'POST', body: '{}' })).status).toBe(501);
    }
    expect(arrivedAt(world).filter(({ operation }) => operation !== 'masterchainInfo')).toEqual([]);
  });
});

it('a path that two servers may read differently is not passed through with a list either', async () => {
  await start(LIST);
  for (const path of ['nft%2Fitems', 'nft%252Fitems']) {
    expect([400, 501]).toContain((await world.ask(`/api/v3/${path}`)).status);
  }
  expect(arrivedAt(world).filter(({ target }) => target.includes('nft'))).toEqual([]);
});

describe('with a list in PASSTHROUGH, an operation in use', () => {
  const UNCACHED = ['/api/v3/traces?account=x', '/api/v3/Traces/?account=x'];

  it('is passed through in forms that are not cached if the list names it', async () => {
    await start('traces,Wallet', { CACHE_OPERATIONS: 'all' });
    const target = '/api/v3/walletInformation?address=x&use_v2=true';
    for (const each of [...UNCACHED, target, target.replace('Information', '')]) {
      expect((await world.ask(each)).cache).toMatchObject({ fwd: 'bypass' });
      expect(arrivedAt(world).at(-1)).toMatchObject({ target: each });
    }
    expect(await world.ask('/api/v3/account?address=x&use_v2=true')).toMatchObject({
      status: 501,
      text: expect.stringMatching(/accepted: false; PASSTHROUGH does not allow it/),
    });
    const { text } = await world.proxy.askAdmin('/explain?target=events');
    expect(text.match(/\btraces\b/g)).toEqual(['traces']);
    const explained = await world.proxy.askAdmin(`/explain?target=${encodeURIComponent(target)}`);
    expect(JSON.parse(explained.text)).toMatchObject({ target, notCached: 'passed through' });
  });

  it('gets 501 in forms that are not cached if the list does not name it', async () => {
    await start('message', { CACHE_OPERATIONS: 'all,passthrough' });
    for (const target of UNCACHED) {
      expect(await world.ask(target)).toMatchObject({
        status: 501,
        cache: { detail: 'not-cacheable' },
        text: expect.stringMatching(/only with these parameters: .*; PASSTHROUGH does not allow it/),
      });
    }
    expect(await world.ask('/api/v3/tr%61ces?account=x')).toMatchObject({ status: 501 });
    expect(await world.ask('/api/v3/traces', { method: 'POST', body: '{}' })).toMatchObject({ status: 405 });
    const explained = await world.proxy.askAdmin(`/explain?target=${encodeURIComponent(UNCACHED[0] ?? '')}`);
    expect(explained.text).toContain('PASSTHROUGH=on passes');
    expect(arrivedAt(world).filter(({ operation }) => operation === 'traces')).toEqual([]);
  });
});

describe('streams', () => {
  it('are open if the list names them, together with no other path', async () => {
    await start('streaming');
    using events = await EventsClient.open(world.proxy.url, { addresses: [accountOf(world)] });
    expect(events.response.status).not.toBe(501);
    expect((await world.ask('/api/v3/message', { method: 'POST', body: '{}' })).status).toBe(501);
    expect((await world.ask('/api/v3/streaming')).status).toBe(501);
  });

  it('get 501 before their upgrade if the list does not name them', async () => {
    await start('message');
    expect(await refusedWith(world.proxy.url)).toMatchObject({ status: 501 });
    expect(world.indexer.streaming.requests).toEqual([]);
  });
});
