import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestBlock } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const OTHER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';

describe('traceparent', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const forwardedTraces = () => world.forwarded.map(({ headers }) => headers['traceparent']);

  it('of a miss reaches the indexer, and is not part of the key', async () => {
    await world.ask(newestBlock(world), { headers: { traceparent: TRACE } });
    const { cache } = await world.ask(newestBlock(world), { headers: { traceparent: OTHER } });
    expect(cache).toMatchObject({ hit: true });
    expect(forwardedTraces()).toEqual([TRACE]);
  });

  it('of the request that began a load is the one that the indexer gets', async () => {
    const gate = world.indexer.hold();
    const first = await world.proxy.sendIn(newestBlock(world), { headers: { traceparent: TRACE } });
    const follower = await world.proxy.sendIn(newestBlock(world), { headers: { traceparent: OTHER } });
    gate.release();
    expect((await Promise.all([first.answer, follower.answer])).map(({ status }) => status)).toEqual([200, 200]);
    expect(forwardedTraces()).toEqual([TRACE]);
  });

  it('of a passed-through request reaches the indexer unchanged', async () => {
    await world[Symbol.asyncDispose]();
    world = await World.start({ ...ANY_WORLD, proxy: { env: { PASSTHROUGH: 'on' } } });
    await world.ask('/api/v3/blocks?limit=1', { headers: { traceparent: TRACE } });
    const sent = world.indexer.requests.recent.find(({ target }) => target.startsWith('/api/v3/blocks'));
    expect(sent?.headers['traceparent']).toBe(TRACE);
  });

  it.each([
    ['is absent', undefined],
    ['has an invalid version', TRACE.replace('00-', 'ff-')],
    ['has an all-zero trace id', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
    ['has an all-zero parent id', `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`],
    ['is in upper case', TRACE.toUpperCase()],
    ['is too long', `${TRACE}-x`],
    ['is sent twice', [TRACE, TRACE]],
  ])('that %s is not sent', async (_, traceparent) => {
    const headers = traceparent === undefined ? {} : { traceparent };
    expect((await world.ask(newestBlock(world), { headers })).status).toBe(200);
    expect(forwardedTraces()).toEqual([undefined]);
  });
});
