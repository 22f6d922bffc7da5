import { describe, expect, it } from 'vitest';
import { unknownTransaction } from '../e2e/questions.ts';
import { MESSAGE } from '../e2e/raw-requests.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import type { Asking } from '../support/http-client.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION } from './faulty-world.ts';

/** A reservation every half second. */
const RATED = { UPSTREAM_RPS: '2', UPSTREAM_TIMEOUT: '60s', PASSTHROUGH: 'on', TRUSTED_PROXIES: '127.0.0.1' };
const GREEDY = 12;

interface Asked extends Asking {
  readonly target: string;
}

let passed = 0;
const miss = (): Asked => ({ target: unknownTransaction() });
const other = (): Asked => ({ target: `/api/v3/blocks?mc_seqno=${passed++}` });
const message = (): Asked => ({ target: MESSAGE, method: 'POST', body: `{"boc":"${passed++}"}` });

/** A world whose clocks stand still: reservations come by their timers, even on a slow machine. */
function startRated(kind = ANY_WORLD, admission = {}): Promise<World> {
  const overrides = { admission: { ...PATIENT_ADMISSION, ...admission }, http: { drainTimeout: 100 } };
  return World.start({ ...kind, proxy: { stopsTime: true, env: RATED, overrides } });
}

function sendAs(proxy: RunningProxy, client: string, { target, ...asking }: Asked) {
  return proxy.sendIn(target, { ...asking, headers: { 'X-Forwarded-For': client } });
}

const isSent = ({ indexer }: World, { target }: Asked) =>
  indexer.requests.recent.some((request) => request.target === target);

/**
 * One client sends many requests at one proxy, then another one sends one; returns the number of requests that were
 * sent before that one.
 */
async function sentBefore(world: World, proxies: readonly RunningProxy[], greedy: () => Asked, polite: Asked) {
  const [one, last] = [proxies[0], proxies.at(-1)] as [RunningProxy, RunningProxy];
  const sent = [];
  for (let n = 0; n < GREEDY; n++) sent.push(await sendAs(one, '192.0.2.1', greedy()));
  const before = world.indexer.requests.total;
  sent.push(await sendAs(last, '198.51.100.1', polite));
  await expect.poll(() => isSent(world, polite), { timeout: 20_000, interval: 5 }).toBe(true);
  const between = world.indexer.requests.total - before - 1;
  for (const { leave } of sent) leave();
  return between;
}

describe('with UPSTREAM_RPS, a client with one request does not wait behind all requests of a client with many', () => {
  it.each([
    ['all requests are misses', miss, miss],
    ['the many requests are passed through', other, miss],
    ['the one request sends a message', miss, message],
  ])('%s', async (_, greedy, polite) => {
    await using world = await startRated();
    expect(await sentBefore(world, [world.proxy], greedy, polite())).toBeLessThanOrEqual(2);
  });

  it('the one request comes to another instance', async () => {
    await using world = await startRated({ ...ANY_WORLD, tiers: 'memory and Redis' });
    const overrides = { admission: PATIENT_ADMISSION, http: { drainTimeout: 100 } };
    const second = await world.addProxy({ stopsTime: true, env: RATED, overrides });
    expect(await sentBefore(world, [world.proxy, second], miss, miss())).toBeLessThanOrEqual(3);
  });
});

it('clients that leave before their requests are sent use no reservations of UPSTREAM_RPS', async () => {
  // 40 reservations take 20 s. On a slow machine some come while a client still waits, and are taken.
  await using world = await startRated(ANY_WORLD, { patience: 10_000 });
  expect((await world.ask(unknownTransaction())).status).toBe(404);
  for (let n = 0; n < 40; n++) {
    const { leave } = await sendAs(world.proxy, '192.0.2.1', miss());
    leave();
    await world.proxy.untilQueued(0);
  }
  expect((await world.ask(unknownTransaction())).status).toBe(404);
});
