import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExplainedCall } from '../../src/answer/explain.ts';
import { rateLimited } from '../../src/tools/simulator/faults.ts';
import { startProxy } from '../support/start-proxy.ts';
import { childrenOfSettled, newestBlock } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

async function explain(world: World, target: string, ...headers: readonly string[]): Promise<ExplainedCall> {
  const query = new URLSearchParams([['target', target], ...headers.map((line): [string, string] => ['header', line])]);
  const { status, text } = await world.proxy.askAdmin(`/explain?${query}`);
  expect(status, text).toBe(200);
  return JSON.parse(text);
}

describe('GET /explain', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('shows the request to the indexer, and the dropped inputs', async () => {
    const target = childrenOfSettled(world);
    const pasted = `https://ton.example${target.replace('hash=', 'HASH=')}&_=17`;
    const explained = await explain(world, pasted, 'X-No-Address-Book: 1', 'X-Timeout: 5');
    await world.ask(target, { headers: { 'X-No-Address-Book': '1' } });
    expect(world.forwarded.map((sent) => sent.target)).toEqual([explained.target]);
    expect(explained).toMatchObject({
      operation: 'adjacentTransactions',
      headers: { 'X-No-Address-Book': 'true' },
      memory: 'absent',
      redis: 'not configured',
      dropped: [{ input: '_=17' }, { input: 'x-timeout: 5' }],
    });
    expect(explained.lifetimes.map(({ rule }) => rule)).toContain('adjacentGrowing');
  });

  it('shows the cached answer under the one key of all spellings, without a request to the indexer', async () => {
    const target = newestBlock(world);
    await world.ask(target);
    world.advance(1000);
    const asked = world.forwarded.length;
    const { memory, key } = await explain(world, target.replace('seqno=', 'SeqNo=0'));
    expect(key).toBe((await explain(world, target)).key);
    expect(memory).toMatchObject({ state: 'fresh', answerClass: 'final', status: 200, ageMs: 1000 });
    expect(world.forwarded.length).toBe(asked);
  });

  it('shows a purged answer as absent', async () => {
    const target = newestBlock(world);
    await world.ask(target);
    const body = JSON.stringify({ seqno: Number(new URLSearchParams(target.split('?')[1]).get('seqno')) });
    const headers = { 'Content-Type': 'application/json' };
    expect((await world.proxy.askAdmin('/purge', { method: 'POST', headers, body })).status).toBe(200);
    expect((await explain(world, target)).memory).toBe('absent');
  });

  it.each(['constructor', '__proto__'])('explains a request with a parameter and a header called %s', async (name) => {
    const { dropped } = await explain(world, `masterchainBlockShards?seqno=1&${name}=x`, `${name}: x`);
    expect(dropped).toEqual([
      { input: `${name}=x`, why: 'the operation does not read it' },
      { input: `${name}: x`, why: 'the operation does not read it' },
    ]);
  });

  it.each([
    ['a request without a target', '/explain', 422, /target/],
    ['a header without a colon', '/explain?target=x&header=y', 422, /"Name: value"/],
    ['a path that is not served', '/explain?target=/api/v3/transactions', 501, /are served here; PASSTHROUGH=on/],
    ['a stream that is not served', '/explain?target=/api/streaming/v2/ws', 501, /PASSTHROUGH=on/],
    ['a target that is no path', '/explain?target=17', 422, /a path that begins with \/api\//],
    ['a target without a required parameter', '/explain?target=masterchainBlockShards', 422, /seqno is missing/],
  ])('refuses %s with an error message', async (_, target, status, words) => {
    const refused = await world.proxy.askAdmin(target);
    expect(refused.status).toBe(status);
    expect(JSON.parse(refused.text).error).toMatch(words);
  });

  it('refuses callers that may not purge', async () => {
    const target = '/explain?target=masterchainBlockShards%3Fseqno=1';
    expect((await world.proxy.askAdmin(target, { headers: { Origin: 'http://evil.example' } })).status).toBe(403);
    expect((await world.proxy.askAdmin(target, { headers: { 'Sec-Fetch-Site': 'cross-site' } })).status).toBe(403);
    expect((await world.proxy.askAdmin(target, { headers: { Host: 'evil.example' } })).status).toBe(421);
    expect((await world.proxy.askAdmin(target, { method: 'POST' })).status).toBe(405);
    await using guarded = await startProxy({ upstreamUrl: 'http://127.0.0.1:1', env: { ADMIN_TOKEN: 'correct' } });
    expect((await guarded.askAdmin(target)).status).toBe(401);
    expect((await guarded.askAdmin(target, { headers: { Authorization: 'Bearer correct' } })).status).toBe(200);
  });
});

describe('GET /explain of a request that is not cached', () => {
  const explained = async (env: Readonly<Record<string, string>>, target: string, header?: string) => {
    await using world = await World.start({ ...ANY_WORLD, proxy: { env } });
    const query = new URLSearchParams({ target, ...(header !== undefined && { header }) });
    const { status, text } = await world.proxy.askAdmin(`/explain?${query}`);
    expect(world.forwarded).toEqual([]);
    return { status, ...JSON.parse(text) };
  };
  const JOINING = { PASSTHROUGH: 'on', CACHE_OPERATIONS: 'passthrough' };
  const ALONE = [{ name: expect.stringMatching(/^127\.0\.0\.1:/) }];

  it('shows that it is passed through, and where', async () => {
    for (const target of ['jetton/wallets?limit=1', 'https://ton.example/base/api/v3/jetton/wallets?limit=1']) {
      expect(await explained({ PASSTHROUGH: 'on' }, target)).toEqual({
        status: 200,
        target: '/api/v3/jetton/wallets?limit=1',
        notCached: 'passed through',
        indexers: ALONE,
      });
    }
    expect(await explained({ PASSTHROUGH: 'on' }, '/api/streaming/v2/sse')).toEqual({
      status: 200,
      target: '/api/streaming/v2/sse',
      notCached: 'passed through',
      indexers: [],
    });
  });

  it('shows that identical requests are collapsed', async () => {
    expect(await explained(JOINING, 'jetton/wallets')).toMatchObject({
      notCached: 'passed through, collapsed with identical requests',
      indexers: ALONE,
    });
  });

  it.each(['X-Api-Key: k', 'Authorization: x', 'Range: bytes=0-1'])(
    'shows that a request with %s is sent alone',
    async (header) => {
      expect(await explained(JOINING, 'jetton/wallets', header)).toMatchObject({ notCached: 'passed through' });
      expect(await explained(JOINING, 'jetton/wallets?api_key=k')).toMatchObject({ notCached: 'passed through' });
    },
  );

  it('shows the refusal that its clients get if its path is not named, or means an operation', async () => {
    expect(await explained({ PASSTHROUGH: 'message' }, 'jetton/wallets')).toMatchObject({
      status: 501,
      error: expect.stringContaining('PASSTHROUGH (passThrough.enabled) names more'),
    });
    expect(await explained({ PASSTHROUGH: 'on' }, '/api/v3/pending%54races?account=x')).toMatchObject({
      status: 400,
      error: expect.stringContaining('another spelling of a cached operation'),
    });
  });
});

describe('GET /explain with several indexers', () => {
  it('shows which of them may get a miss, and why the others do not', async () => {
    await using world = await World.start(ANY_WORLD);
    const backup = { UPSTREAM_BACKUP_URL: 'http://127.0.0.1:1' };
    const proxy = await world.addProxy({ env: backup });
    const indexersOf = async (target: string) => {
      const { text } = await proxy.askAdmin(`/explain?${new URLSearchParams({ target })}`);
      return JSON.parse(text).indexers;
    };
    const { host } = new URL(world.indexer.url);
    expect(await indexersOf(newestBlock(world))).toEqual([{ name: host }, { name: '127.0.0.1:1', whyNot: 'backup' }]);
    world.indexer.faults.inject(rateLimited('json', '30'));
    for (const target of [newestBlock(world), childrenOfSettled(world)]) await world.ask(target, {}, proxy);
    expect(await indexersOf(newestBlock(world))).toEqual([{ name: host, whyNot: 'paused' }, { name: '127.0.0.1:1' }]);
  });
});

describe('GET /explain with Redis', () => {
  it('shows the entry in Redis, also to an instance that has not requested it', async () => {
    await using world = await World.start({ dialect: '1.3', tiers: 'memory and Redis' });
    const target = newestBlock(world);
    await world.ask(target);
    await world.proxy.untilRedisHasAll();
    expect((await explain(world, target)).redis).toMatchObject({ state: 'fresh', answerClass: 'final' });
    const other = await world.addProxy();
    const { text } = await other.askAdmin(`/explain?${new URLSearchParams({ target })}`);
    expect(JSON.parse(text)).toMatchObject({ memory: 'absent', redis: { state: 'fresh' } });
  });
});
