import { afterEach, describe, expect, it } from 'vitest';
import { OPERATION_NAMES } from '../../src/ton/operation-names.ts';
import { arrivedAt } from './pass-through-world.ts';
import { purged } from './purge-world.ts';
import { settledParent, targetOf } from './questions.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

const IN_USE = { CACHE_OPERATIONS: 'blocks' };
const PASSING = { ...IN_USE, PASSTHROUGH: 'on' };
const LANES = [true, false] as const;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

async function start({ env, ...proxy }: WorldProxyOptions): Promise<string> {
  world = await World.start({ ...ANY_WORLD, proxy: { ...proxy, env: { UPSTREAM_TIMEOUT: '60s', ...env } } });
  return `/api/v3/blocks?mc_seqno=${world.indexer.chain.headSeqno}`;
}

const withLane = (fastLane: boolean) => ({ overrides: { http: { fastLane } } });

describe('a further operation that no setting names', () => {
  it('is answered like an unknown path: with 501, also to a preflight, and by explain', async () => {
    const target = await start({ env: {} });
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      expect(await world.ask(target, { method })).toMatchObject({ status: 501, cache: { detail: 'not-served' } });
    }
    const { status, text } = await world.proxy.askAdmin(`/explain?target=${encodeURIComponent(target)}`);
    expect([status, text]).toEqual([501, expect.not.stringContaining('blocks')]);
    expect((await world.proxy.askAdmin('/metrics')).text).not.toContain('"blocks"');
    expect(world.indexer.requests.total).toBe(0);
  });

  it('is passed through if PASSTHROUGH is on', async () => {
    const target = await start({ env: { PASSTHROUGH: 'on' } });
    expect(await world.ask(`${target}&x=1`)).toMatchObject({ status: 200, cache: { fwd: 'bypass' } });
    const encoded = target.replace('blocks', 'bl%6Fcks');
    expect(await world.ask(encoded)).toMatchObject({ cache: { fwd: 'bypass' } });
    expect(arrivedAt(world).map((sent) => sent.target)).toEqual([`${target}&x=1`, encoded]);
  });
});

describe.each(LANES)('a further operation in use, fast lane %s', (fastLane) => {
  it('is cached, in every spelling of its path and with parameters that do not change the answer', async () => {
    const target = await start({ env: IN_USE, ...withLane(fastLane) });
    const truth = await world.askIndexer(target);
    expect(await world.ask(target)).toMatchObject({ status: 200, text: truth.text, cache: { stored: true } });
    for (const noise of ['&_=1', '&api_key=k', '&X_Timeout=1', '&x_debug_request=1', '&']) {
      const spelled = target.replace('/blocks', '/Blocks/') + noise;
      expect(await world.ask(spelled)).toMatchObject({ status: 200, text: truth.text, cache: { hit: true } });
    }
    expect(await world.ask(target, { method: 'HEAD' })).toMatchObject({ status: 200, cache: { hit: true } });
    expect(await world.ask(target, { method: 'POST' })).toMatchObject({ status: 405 });
    const preflight = await world.ask(target, { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers['access-control-allow-methods']]).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect(world.forwarded).toHaveLength(1);
  });

  it.each([
    ['another parameter', '&start_lt=1'],
    ['an index', '&mc_seqno[0]=1'],
    ['broken encoding in a name', '&%zz=1'],
    ['a block named in two ways', '&root_hash=x'],
    ['an empty order, which the indexer refuses', '&sort='],
    ['a limit of 0, which the indexer reads as 1', '&limit=0'],
    ['a negative limit', '&limit=-1'],
    ['a limit with a sign', '&limit=+5'],
    ['a limit that the indexer refuses', '&limit=1001'],
    ['a negative offset, which the indexer reads as 0', '&offset=-1'],
    ['an offset that is not a number', '&offset=x'],
    ['limits that contradict each other', '&limit=1&limit=2'],
    ['broken encoding in a value', '&limit=%zz'],
  ])('has no cached form with %s: it gets 501 with the reason, or is passed through byte for byte', async (_, more) => {
    const target = (await start({ env: IN_USE, ...withLane(fastLane) })) + more;
    for (const method of ['GET', 'HEAD']) {
      expect(await world.ask(target, { method })).toMatchObject({ status: 501, cache: { detail: 'not-cacheable' } });
    }
    expect((await world.ask(target)).text).toMatch(/^\{"error":"blocks is .*; PASSTHROUGH does not allow it"\}$/);
    expect(world.forwarded).toEqual([]);
    const counted = { operation: 'blocks', outcome: 'invalid' };
    expect(await world.proxy.metric('requests', counted)).toBe(3);
    const passing = await world.addProxy({ env: PASSING, ...withLane(fastLane) });
    for (const method of ['GET', 'HEAD']) {
      expect(await world.ask(target, { method }, passing)).toMatchObject({ cache: { fwd: 'bypass' } });
      expect(arrivedAt(world).at(-1)).toMatchObject({ method, target });
    }
    expect(arrivedAt(world)).toHaveLength(2);
    expect(await passing.metric('requests', counted)).toBe(0);
  });

  it('is answered from memory and passed through on one connection', async () => {
    const target = await start({ env: PASSING, ...withLane(fastLane) });
    await world.ask(target);
    await world.ask(target);
    const line = (more: string, rest = '') => `GET ${target}${more} HTTP/1.1\r\nHost: x\r\n${rest}\r\n`;
    const bytes = line('') + line('') + line('&shard=8') + line('', 'Connection: close\r\n');
    const answers = await world.proxy.exchange(bytes);
    const ofCache = [...answers.matchAll(/Cache-Status: toncache; (hit|fwd=\w+)/g)].map(([, what]) => what);
    expect(ofCache).toEqual(['hit', 'hit', 'fwd=bypass', 'hit']);
  });

  it('counts once towards the limit of its client, also when it is passed through', async () => {
    const target = await start({
      env: PASSING,
      overrides: { http: { fastLane }, clients: { requestsPerSecond: 1 } },
      stopsTime: true,
    });
    const statuses: number[] = [];
    for (let times = 0; times < 11; times++) {
      statuses.push((await world.ask(times % 2 === 0 ? target : `${target}&shard=8`)).status);
    }
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
  });
});

describe('a further operation where pass-through is on', () => {
  it('allows web pages to send passed-through requests, and is refused if its name is encoded', async () => {
    const target = await start({ env: PASSING });
    const { headers } = await world.ask(target, { method: 'OPTIONS' });
    expect(headers['access-control-allow-methods']).toBe('GET, HEAD, OPTIONS, POST');
    expect(await world.ask(target, { method: 'POST' })).toMatchObject({ cache: { fwd: 'bypass' } });
    expect(await world.ask(target.replace('blocks', 'bl%6Fcks'))).toMatchObject({ status: 400 });
  });
});

describe.each(LANES)('an operation under another name of its path, fast lane %s', (fastLane) => {
  const startAccounts = async (env: Record<string, string> = {}) => {
    await start({ env: { CACHE_OPERATIONS: 'all', ...env }, ...withLane(fastLane) });
    return world.indexer.chain.accounts.elector.address;
  };

  it.each([
    ['account', 'addressInformation'],
    ['wallet', 'walletInformation'],
  ])('%s has the entry of %s, in every spelling of its path', async (alias, name) => {
    const address = await startAccounts();
    const query = `?address=${address}`;
    const first = await world.ask(`/api/v3/${alias}${query}&include_boc=true`);
    const truth = await world.askIndexer(`/api/v3/${name}${query}`);
    expect([first.status, first.text]).toEqual([truth.status, truth.text]);
    expect(world.forwarded.map(({ target }) => decodeURIComponent(target))).toEqual([`/api/v3/${name}${query}`]);
    const explained = await world.proxy.askAdmin(`/explain?target=${encodeURIComponent(`/api/v3/${alias}${query}`)}`);
    expect(JSON.parse(explained.text)).toMatchObject({ operation: name });
    const other = `/api/v3/${alias.toUpperCase()}/${query}`;
    for (const target of [`/api/v3/${alias}${query}`, other, `/api/v3/${name}${query}&use_v2=0`]) {
      expect(await world.ask(target)).toMatchObject({ status: first.status, text: first.text });
    }
    expect(await world.proxy.metric('requests', { operation: alias })).toBe(0);
  });

  it('is purged with it', async () => {
    const address = await startAccounts();
    const target = `/api/v3/account?address=${address}`;
    await world.ask(target);
    expect(await world.ask(target)).toMatchObject({ cache: { hit: true } });
    await purged(world.proxy, { account: address });
    expect(await world.ask(target)).toMatchObject({ cache: { fwd: 'miss' } });
  });

  it('is passed through byte for byte without a cached form, and refused with encoded letters', async () => {
    const address = await startAccounts({ PASSTHROUGH: 'on' });
    const target = `/api/v3/account?address=${address}&use_v2=true`;
    expect(await world.ask(target)).toMatchObject({ status: 500, cache: { fwd: 'bypass' } });
    expect(arrivedAt(world).map((sent) => sent.target)).toEqual([target]);
    expect(await world.ask(target.replace('account', 'acc%6Funt'))).toMatchObject({ status: 400 });
    expect(await world.ask(target.replace('account', 'account;x'))).toMatchObject({ status: 400 });
  });

  it('is an ordinary path if the operation is not in use', async () => {
    const address = await startAccounts({ CACHE_OPERATIONS: 'walletInformation', PASSTHROUGH: 'on' });
    const target = `/api/v3/account?address=${address}`;
    expect(await world.ask(target)).toMatchObject({ status: 200, cache: { fwd: 'bypass' } });
    expect(await world.ask(`/api/v3/wallet?address=${address}`)).toMatchObject({ cache: { fwd: 'miss' } });
    expect(arrivedAt(world)[0]?.target).toBe(target);
  });
});

it('the explanation of a request reports whether it has a cached form', async () => {
  const target = await start({ env: IN_USE });
  const explain = (more: string) => world.proxy.askAdmin(`/explain?target=${encodeURIComponent(target + more)}`);
  const { status, text } = await explain('&_=1');
  expect(status, text).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ operation: 'blocks', target, dropped: [{ input: '_=1' }] });
  expect(await explain('&limit[0]=1')).toMatchObject({
    status: 501,
    text: expect.stringContaining('is cached only with these parameters'),
  });
  expect((await explain('&limit=0')).text).toMatch(
    /blocks is not cached in this form: limit .*; PASSTHROUGH=on passes such/,
  );
  const passing = await world.addProxy({ env: PASSING });
  for (const more of ['&limit[0]=1', '&limit=0']) {
    const explained = await passing.askAdmin(`/explain?target=${encodeURIComponent(target + more)}`);
    expect(explained.status).toBe(200);
    expect(JSON.parse(explained.text)).toMatchObject({
      notCached: 'passed through',
      why: expect.stringMatching(/^blocks is [^"]*[^;]$/),
    });
    expect(explained.text).not.toContain('PASSTHROUGH');
  }
});

it.each([
  ['versions of action types on one line', { 'X-Actions-Version': 'v1,v2' }],
  ['a word of action types that no header can carry', { 'X-Actions-Version': 'v\u00e9' }],
  ['a word of action types that is too long', { 'X-Actions-Version': 'v'.repeat(65) }],
  ['flags that contradict each other', { 'X-No-Address-Book': ['true', 'false'] }],
])('a trace has no cached form with %s: it gets 501, or is passed through', async (_, headers) => {
  await start({ env: IN_USE });
  const target = targetOf('traces', { tx_hash: settledParent(world).hash, include_actions: 'true' });
  const everything = { env: { CACHE_OPERATIONS: 'all' } };
  const all = await world.addProxy(everything);
  expect(await world.ask(target, { headers }, all)).toMatchObject({
    status: 501,
    cache: { detail: 'not-cacheable' },
  });
  const passing = await world.addProxy({ env: { ...everything.env, PASSTHROUGH: 'on' } });
  expect(await world.ask(target, { headers }, passing)).toMatchObject({ cache: { fwd: 'bypass' } });
});

it('the explanation of an unknown path names the served operations, and the answer only the path', async () => {
  await start({ env: { CACHE_OPERATIONS: 'all' } });
  expect((await world.ask('/api/v3/none')).text).toBe(
    '{"error":"none is not served here: PASSTHROUGH does not allow it"}',
  );
  const explained = await world.proxy.askAdmin('/explain?target=none');
  expect([explained.status, explained.text]).toEqual([
    501,
    expect.stringContaining(`only ${OPERATION_NAMES.join(', ')} are served here`),
  ]);
});
