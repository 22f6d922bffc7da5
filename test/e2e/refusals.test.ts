import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressSpellings } from '../../src/tools/simulator/spellings.ts';
import { someHash, targetOf } from './questions.ts';
import { DIALECTS, World } from './world.ts';

const HASH = encodeURIComponent(someHash());
const HEX = 'ab'.repeat(32);
const { bounceableUrl: FRIENDLY } = addressSpellings({ workchain: 0, hash: Buffer.from(HEX, 'hex') });
const OTHER_HASH = encodeURIComponent(someHash());
/** As many of the shortest spelling as a head of 16 KiB holds. */
const MOST_OF_A_HEAD = Array.from({ length: 368 }, () => Buffer.from(someHash(), 'base64').toString('base64url'));

/** The request, and the parameter that the error must name. */
const REFUSED: readonly (readonly [target: string, name: string])[] = [
  // Missing.
  ['masterchainBlockShards', 'seqno'],
  ['masterchainBlockShards?limit=5', 'seqno'],
  ['adjacentTransactions', 'hash'],
  ['adjacentTransactions?direction=in', 'hash'],
  ['pendingTraces', 'account or ext_msg_hash'],
  ['pendingTraces?accounts=x&ext_msg=y', 'account or ext_msg_hash'],
  // Empty.
  ['masterchainBlockShards?seqno=', 'seqno'],
  ['masterchainBlockShards?seqno', 'seqno'],
  ['adjacentTransactions?hash=', 'hash'],
  ['pendingTraces?account=', 'account'],
  [`pendingTraces?account=0:${HEX}&account=`, 'account'],
  // Known to the indexer as another parameter.
  ['masterchainBlockShards?seqno[0]=1', 'seqno'],
  [`pendingTraces?account[0]=0:${HEX}`, 'account or ext_msg_hash'],
  // A scalar given twice with different meanings, in any writing of its name.
  ['masterchainBlockShards?seqno=1&seqno=2', 'seqno'],
  ['masterchainBlockShards?seqno=1&SEQNO[]=2', 'seqno'],
  ['masterchainBlockShards?seqno=1&limit=1&limit=2', 'limit'],
  [`adjacentTransactions?hash=${HASH}&hash=${OTHER_HASH}`, 'hash'],
  [`adjacentTransactions?hash=${HASH}&direction=in&direction=both`, 'direction'],
  [`pendingTraces?account=0:${HEX}&x_no_metadata=1&x_no_metadata=0`, 'x_no_metadata'],
  [`adjacentTransactions?hash=${HASH}&direction=in&direction=out`, 'direction'],
  // Numbers that are none, or out of range.
  ...['-1', '+1', '%2B1', '1.0', '1e3', '0x10', ' 1', '1%20', '2147483648', '99999999999999999999', 'latest'].map(
    (value) => [`masterchainBlockShards?seqno=${value.replaceAll(' ', '%20')}`, 'seqno'] as const,
  ),
  ...['0', '1001', '-1', '1.5', 'all'].map(
    (value) => [`masterchainBlockShards?seqno=1&limit=${value}`, 'limit'] as const,
  ),
  ...['-1', 'x', '2147483648'].map((value) => [`masterchainBlockShards?seqno=1&offset=${value}`, 'offset'] as const),
  ['masterchainBlockShards?seqno=1&sort=up', 'sort'],
  ...[
    HEX.slice(1),
    `${HEX}0`,
    `0x${HEX}00`,
    `${HEX.slice(1)}g`,
    `${'A'.repeat(42)}`,
    `${'A'.repeat(44)}`,
    `${'A'.repeat(43)}%3D%3D`,
    '!',
    `${HASH},${HASH}`,
  ].map((value) => [`adjacentTransactions?hash=${value}`, 'hash'] as const),
  [`pendingTraces?ext_msg_hash=${HASH}&ext_msg_hash=x`, 'ext_msg_hash'],
  [`pendingTraces?account=0:${HEX}&ext_msg_hash=x`, 'ext_msg_hash'],
  // Addresses: a wrong checksum, a wrong length, a wrong tag, a workchain that is no int8.
  [`pendingTraces?account=${FRIENDLY.slice(0, -1)}${FRIENDLY.endsWith('A') ? 'B' : 'A'}`, 'account'],
  [`pendingTraces?account=${FRIENDLY.toLowerCase()}`, 'account'],
  [`pendingTraces?account=${FRIENDLY.slice(1)}`, 'account'],
  [`pendingTraces?account=${FRIENDLY}A`, 'account'],
  [`pendingTraces?account=${'A'.repeat(48)}`, 'account'],
  [`pendingTraces?account=128:${HEX}`, 'account'],
  [`pendingTraces?account=-129:${HEX}`, 'account'],
  [`pendingTraces?account=1000:${HEX}`, 'account'],
  [`pendingTraces?account=0:${HEX.slice(1)}`, 'account'],
  [`pendingTraces?account=0:${HEX}0`, 'account'],
  [`pendingTraces?account=%2B0:${HEX}`, 'account'],
  [`pendingTraces?account=00:${HEX}`, 'account'],
  [`pendingTraces?account=-0:${HEX}`, 'account'],
  [`pendingTraces?account=:${HEX}`, 'account'],
  [`pendingTraces?account=${HEX}`, 'account'],
  [`pendingTraces?account=0:${HEX}&account=nobody`, 'account'],
  // Too many.
  [`pendingTraces?${`account=0:${HEX}&`.repeat(101)}`, 'account'],
  [`pendingTraces?ext_msg_hash=${','.repeat(1000)}`, 'ext_msg_hash'],
  // Words that are too long, or not printable.
  [`pendingTraces?account=0:${HEX}&supported_action_types=${'x'.repeat(65)}`, 'supported_action_types'],
  [`pendingTraces?account=0:${HEX}&supported_action_types=a%0Ab`, 'supported_action_types'],
  // Bytes that are no text.
  ['adjacentTransactions?hash=%', 'hash'],
  ['adjacentTransactions?hash=%zz', 'hash'],
  ['adjacentTransactions?hash=%ff%fe', 'hash'],
  ['adjacentTransactions?hash=%C3%28', 'hash'],
  ['masterchainBlockShards?seqno=%EF%BC%91', 'seqno'],
  ['masterchainBlockShards?seqno=1%00', 'seqno'],
  // Decoded twice these would be right.
  ['masterchainBlockShards?seqno=%2531', 'seqno'],
  ['masterchainBlockShards?%2573eqno=1', 'seqno'],
];

const REFUSED_HEADERS: readonly (readonly [name: string, value: string | readonly string[]])[] = [
  ['X-Actions-Version', 'v1,v2'],
  ['X-Actions-Version', ['v1', 'v2']],
  ['X-Actions-Version', 'x'.repeat(65)],
  ['X-No-Metadata', ['true', 'false']],
  ['X-No-Address-Book', 'yes, true'],
];

describe.each(DIALECTS)('a request that cannot be valid, before indexer %s', (dialect) => {
  let world: World;

  beforeAll(async () => {
    world = await World.start({ dialect, tiers: 'memory alone' });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function isRefused(target: string, name: string, headers: Record<string, string | readonly string[]> = {}) {
    for (const method of ['GET', 'HEAD']) {
      const reply = await world.ask(`/api/v3/${target}`, { method, headers });
      expect(reply.status).toBe(422);
      expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
      expect(reply.cache).not.toHaveProperty('hit');
      expect(reply.cache).not.toHaveProperty('fwd');
      if (method === 'HEAD') continue;
      const { error, ...rest } = JSON.parse(reply.text);
      expect(rest).toEqual({});
      expect(error.toLowerCase()).toMatch(new RegExp(`\\b${name.toLowerCase()}\\b`));
      expect(error).toMatch(/accepted: .|should be specified/);
    }
    expect(world.forwarded).toEqual([]);
  }

  it.each(REFUSED)('is answered 422 and not sent: %s', (target, name) => isRefused(target, name));

  it.each(REFUSED_HEADERS)('is answered 422 and not sent: %s: %s', (name, value) =>
    isRefused(`pendingTraces?account=0:${HEX}`, name, { [name]: value }),
  );

  it('names every parameter that is wrong at once', async () => {
    const { text } = await world.ask('/api/v3/masterchainBlockShards?seqno=x&limit=0&offset=-1');
    for (const name of ['seqno', 'limit', 'offset']) expect(text).toContain(name);
  });
});

describe('a value at the limit', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start({ dialect: '1.3', tiers: 'memory alone' });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it.each([
    'masterchainBlockShards?seqno=1&limit=1000&offset=2147483647',
    `pendingTraces?account=127:${HEX}`,
    `pendingTraces?account=-128:${HEX}`,
    `pendingTraces?ext_msg_hash=${MOST_OF_A_HEAD.join(',')}`,
  ])('reaches the indexer: %s', async (target) => {
    const before = world.forwarded.length;
    expect([200, 404]).toContain((await world.ask(`/api/v3/${target}`)).status);
    expect(world.forwarded).toHaveLength(before + 1);
  });

  it.each(['latest', 'v1', 'v99', 'V1', 'nft.v3', 'multisig_approve', 'a&b=c %'])(
    'reaches the indexer: X-Actions-Version: %s',
    async (version) => {
      const target = targetOf('pendingTraces', { ext_msg_hash: someHash() });
      expect((await world.ask(target, { headers: { 'X-Actions-Version': version } })).status).toBe(200);
      expect(world.forwarded.at(-1)).toMatchObject({ target, headers: { 'x-actions-version': version } });
    },
  );

  it.each(['v1,v2', '', ' v2'])('reaches the indexer unchanged: supported_action_types=%j', async (word) => {
    const target = targetOf('pendingTraces', { ext_msg_hash: someHash(), supported_action_types: word });
    expect((await world.ask(target)).status).toBe(200);
    expect(world.forwarded.at(-1)?.target).toBe(target);
    expect(world.forwarded.at(-1)?.headers).not.toHaveProperty('x-actions-version');
  });
});
