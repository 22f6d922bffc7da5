import { describe, expect, it } from 'vitest';
import { unknownTransaction } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

/** A world in which one client has left while the indexer works on its request. */
async function oneLeft(logRequests: string, alsoWaiting = 0) {
  const world = await World.start({ ...ANY_WORLD, proxy: { env: { LOG_REQUESTS: logRequests } } });
  const gate = world.indexer.hold();
  const target = unknownTransaction();
  const leaving = await world.proxy.sendIn(target);
  await gate.arrived(1);
  const others = await Promise.all(Array.from({ length: alsoWaiting }, () => world.proxy.sendIn(target)));
  leaving.leave();
  await world.proxy.untilTakenIn();
  await expect.poll(() => world.proxy.metric('toncache_client_closed_requests_total'), { interval: 5 }).toBe(1);
  gate.release();
  for (const { answer } of others) expect((await answer).status).toBe(404);
  return world;
}

describe('a client that disconnects before its answer', () => {
  it('is counted as a client-closed request, and neither as a request nor as a failure', async () => {
    await using world = await oneLeft('off');
    const { proxy } = world;
    expect(await proxy.metric('toncache_client_closed_requests_total', { operation: 'adjacentTransactions' })).toBe(1);
    for (const name of [
      'requests_total',
      'request_duration_seconds_count',
      'request_failures_total',
      'loads_refused_total',
    ]) {
      expect([name, await proxy.metric(`toncache_${name}`)]).toEqual([name, 0]);
    }
  });

  it('does not change the counts of other requests for the same answer', async () => {
    await using world = await oneLeft('off', 2);
    const collapsed = { outcome: 'collapsed' };
    for (const name of ['requests_total', 'request_duration_seconds_count']) {
      expect(await world.proxy.metric(`toncache_${name}`)).toBe(2);
      expect(await world.proxy.metric(`toncache_${name}`, collapsed)).toBe(2);
    }
  });

  it.each([
    ['all', [{ level: 30, status: 499, cacheStatus: 'toncache; detail=client-closed-request' }]],
    ['failed', []],
  ])('is logged with LOG_REQUESTS=all, but not with failed: %s', async (logRequests, lines) => {
    await using world = await oneLeft(logRequests);
    expect(world.proxy.log.filter(({ msg }) => msg === 'request')).toEqual(
      lines.map((line) => expect.objectContaining(line)),
    );
  });
});
