import { afterEach, describe, expect, it } from 'vitest';
import type { Fault, FaultScope } from '../../src/tools/simulator/faults.ts';
import { targetOf } from '../e2e/questions.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import type { RunningProxy } from '../support/start-proxy.ts';

const INFO = '/api/v3/masterchainInfo';
const BLOCK_MS = 400;
const CACHED = { env: { CACHE_OPERATIONS: 'all' } };
const HEAD = { operation: 'masterchainInfo' } as const;
const MAD = { kind: 'head', seqno: 900_000_000 } as const;
const TESTNET = { kind: 'head', globalId: -3 } as const;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

const shared = async () => {
  world = await World.start({ ...ANY_WORLD, tiers: 'memory and Redis', proxy: CACHED });
};
const lie = (fault: Fault, scope: Omit<FaultScope, 'operation'> = {}) =>
  world.indexer.faults.inject(fault, { ...HEAD, ...scope });
const newest = () => world.indexer.chain.headSeqno;

/** The head that a client gets, or `undefined` for a failure, whose code is checked. */
async function headOf(proxy: RunningProxy = world.proxy): Promise<number | undefined> {
  const { status, text, cache } = await world.ask(INFO, {}, proxy);
  if (status === 200) {
    const { last } = JSON.parse(text);
    expect(last.global_id).toBe(-239);
    return last.seqno;
  }
  expect({ status, cache }).toMatchObject({ status: 502, cache: { detail: 'upstream-invalid' } });
  return undefined;
}

/** Ends every lifetime and stale window. */
const outlive = () => world.advance(20_000);

describe.each([
  ['far too high', MAD],
  ['of another chain', TESTNET],
])('one head that is %s', (_, fault) => {
  it('reaches no client, and the next true one does', async () => {
    world = await World.start({ ...ANY_WORLD, proxy: CACHED });
    expect(await headOf()).toBe(newest());
    for (let time = 0; time < 4; time++) {
      lie(fault, { times: 1 });
      outlive();
      expect(await headOf()).toBeUndefined();
      outlive();
      expect(await headOf()).toBe(newest());
    }
  });

  it('is replaced by the head before it, while that may be served', async () => {
    world = await World.start({ ...ANY_WORLD, proxy: CACHED });
    const before = await headOf();
    lie(fault);
    world.advance(2 * BLOCK_MS);
    expect(await headOf()).toBe(before);
  });

  it('does not end a cached 404 for a block that does not exist yet', async () => {
    world = await World.start({ ...ANY_WORLD, proxy: CACHED });
    await headOf();
    outlive();
    const notFound = targetOf('masterchainBlockShards', { seqno: newest() + 10 });
    await world.ask(notFound);
    lie(fault);
    expect(await headOf()).toBeUndefined();
    expect(await world.ask(notFound)).toMatchObject({ status: 404, cache: { hit: true } });
  });

  it('is neither written to Redis nor served by an instance that knows an earlier head', async () => {
    await shared();
    const other = await world.addProxy(CACHED);
    expect(await headOf()).toBe(newest());
    const liar = lie(fault, { times: 1 });
    outlive();
    expect(await headOf()).toBeUndefined();
    await world.proxy.untilRedisHasAll();
    expect(liar.hits).toBe(1);
    // The failure may be shared for a moment, but the head is not.
    await expect.poll(() => headOf(other)).toBe(newest());
  });
});

it('a first head that is far too low is not served for longer than two more answers', async () => {
  world = await World.start({ ...ANY_WORLD, proxy: CACHED });
  lie({ kind: 'head', seqno: 5 }, { times: 1 });
  expect(await headOf()).toBe(5);
  // Head polls count as answers too, so the third answer may come sooner.
  for (let answers = 2; answers < 4; answers++) {
    outlive();
    expect([undefined, newest()]).toContain(await headOf());
  }
  outlive();
  expect(await headOf()).toBe(newest());
});

it('an indexer with a new database is followed immediately, and while it catches up', async () => {
  world = await World.start({ ...ANY_WORLD, proxy: CACHED });
  await headOf();
  const { seqno, gen_utime: at } = JSON.parse((await world.ask(INFO)).text).last;
  // Blocks come a hundred times as fast as on the chain.
  for (let hours = 30; hours > 0; hours--) {
    outlive();
    const last = { workchain: -1, seqno: seqno - hours * 9000, gen_utime: String(Number(at) - hours * 3600) };
    const body = JSON.stringify({ last: { ...last, global_id: -239 }, first: { seqno: 1 } });
    lie({ kind: 'answer', status: 200, body }, { times: 1 });
    expect(await headOf()).toBe(last.seqno);
  }
});

it.each([undefined, null, -1, 2 ** 31, 1.5, '62000000'])('a head whose seqno is %s is ignored', async (seqno) => {
  world = await World.start({ ...ANY_WORLD, proxy: CACHED });
  const body = JSON.stringify({ last: { workchain: -1, seqno }, first: { seqno: 1 } });
  lie({ kind: 'answer', status: 200, body });
  expect(await headOf()).toBeUndefined();
});

it('a passed-through head reaches its client, but does not change the known head if it cannot be true', async () => {
  world = await World.start({ ...ANY_WORLD, proxy: { env: { PASSTHROUGH: 'on' } } });
  await world.ask(INFO);
  const notFound = targetOf('masterchainBlockShards', { seqno: newest() + 10 });
  await world.ask(notFound);
  lie(MAD, { times: 2 });
  for (let time = 0; time < 2; time++) expect((await world.ask(INFO)).text).toContain(`"seqno":${MAD.seqno}`);
  expect(await world.ask(notFound)).toMatchObject({ status: 404, cache: { hit: true } });
});

it('an answer that names a block which the chain cannot have reached does not change the known head', async () => {
  world = await World.start({ ...ANY_WORLD, proxy: CACHED });
  await headOf();
  const notFound = targetOf('masterchainBlockShards', { seqno: newest() + 10 });
  await world.ask(notFound);
  const blocks = [{ workchain: -1, seqno: MAD.seqno, gen_utime: String(Math.floor(world.now / 1000)) }];
  world.indexer.faults.inject(
    { kind: 'answer', status: 200, body: JSON.stringify({ blocks }) },
    { operation: 'masterchainBlockShards' },
  );
  expect((await world.ask(targetOf('masterchainBlockShards', { seqno: MAD.seqno }))).status).toBe(200);
  expect(await world.ask(notFound)).toMatchObject({ status: 404, cache: { hit: true } });
});
