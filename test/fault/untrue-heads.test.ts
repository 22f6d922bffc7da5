import { afterEach, expect, it } from 'vitest';
import { ANY_WORLD, World } from '../e2e/world.ts';

const INFO = '/api/v3/masterchainInfo';
const CACHED = { env: { CACHE_OPERATIONS: 'all' } };
const HEAD = { operation: 'masterchainInfo' } as const;

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

/** The head that a client gets, or `undefined` for a failure, whose code is checked. */
async function headOf(): Promise<number | undefined> {
  const { status, text, cache } = await world.ask(INFO);
  if (status === 200) return JSON.parse(text).last.seqno;
  expect({ status, cache }).toMatchObject({ status: 502, cache: { detail: 'upstream-invalid' } });
  return undefined;
}

/** Ends every lifetime and stale window. */
const outlive = () => world.advance(20_000);

it.each([900_000_000, 5])('a head of %i is believed: a client gets it', async (seqno) => {
  world = await World.start({ ...ANY_WORLD, proxy: CACHED });
  await headOf();
  world.advance(120_000);
  world.indexer.faults.inject({ kind: 'head', seqno }, HEAD);
  expect(await headOf()).toBe(seqno);
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
    world.indexer.faults.inject({ kind: 'answer', status: 200, body }, { ...HEAD, times: 1 });
    expect(await headOf()).toBe(last.seqno);
  }
});

it.each([undefined, null, -1, 2 ** 31, 1.5, '62000000'])('a head whose seqno is %s is ignored', async (seqno) => {
  world = await World.start({ ...ANY_WORLD, proxy: CACHED });
  const body = JSON.stringify({ last: { workchain: -1, seqno }, first: { seqno: 1 } });
  world.indexer.faults.inject({ kind: 'answer', status: 200, body }, HEAD);
  expect(await headOf()).toBeUndefined();
});
