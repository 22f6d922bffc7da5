import { type RequestOptions, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { unknownTransaction } from '../e2e/questions.ts';
import { MESSAGE } from '../e2e/raw-requests.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import type { Asking } from '../support/http-client.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION, startPatientWorld } from './faulty-world.ts';

/** How a client is identified, and the request and settings to act as one. */
interface Telling {
  readonly name: string;
  readonly env?: Record<string, string>;
  readonly options: (client: string) => RequestOptions;
}

const TELLINGS: readonly Telling[] = [
  { name: 'addresses of their own', options: (client) => ({ localAddress: client }) },
  {
    name: 'a trusted proxy that forwards their addresses',
    env: { TRUSTED_PROXIES: '127.0.0.0/8' },
    options: (client) => ({ headers: { 'X-Forwarded-For': `203.0.113.1, ${client.replace('127.0.0', '192.0.2')}` } }),
  },
  {
    name: "a trusted proxy, in Node's own lane",
    env: { TRUSTED_PROXIES: '127.0.0.1' },
    options: (client) => ({
      headers: { 'X-Forwarded-For': client.replace('127.0.0', '192.0.2'), Expect: '100-continue' },
    }),
  },
];

/** Sends a request as a client; returns the status. */
function askAs(options: RequestOptions, origin: string, target: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(target, origin), { ...options, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end();
  });
}

/** One slot, 30 waiting requests of a client, and then one of another client; returns the sent requests in order. */
async function orderOf({ env = {}, options }: Telling): Promise<{ sent: string[]; greedy: string[]; polite: string }> {
  await using world = await startPatientWorld({
    env,
    overrides: { upstream: { maxConcurrency: 1 }, http: { drainTimeout: 100 } },
  });
  const gate = world.indexer.hold();
  const [greedy, polite] = [Array.from({ length: 30 }, () => unknownTransaction()), unknownTransaction()];
  const ask = (client: string, target: string) => askAs(options(client), world.proxy.url, target);
  const all = [ask('127.0.0.2', unknownTransaction())];
  await gate.arrived(1);
  for (const [index, target] of greedy.entries()) {
    all.push(ask('127.0.0.2', target));
    await world.proxy.untilQueued(index + 1);
  }
  all.push(ask('127.0.0.3', polite));
  await world.proxy.untilQueued(31);
  all.push(ask('127.0.0.4', greedy.at(-1) ?? ''));
  await expect.poll(() => world.proxy.metric('requestsInFlight')).toBe(33);
  gate.release();
  await Promise.all(all);
  const hashOf = (target = '') => new URLSearchParams(target.split('?')[1]).get('hash') ?? '';
  const sent = world.forwarded.map(({ target }) => hashOf(target));
  return { sent: sent.slice(1), greedy: greedy.map(hashOf), polite: hashOf(polite) };
}

it.each(TELLINGS)(
  'the only request of a client is sent before the second one of a client with thirty: $name',
  async (telling) => {
    const { sent, greedy, polite } = await orderOf(telling);
    // The last of the greedy client's requests is another client's too.
    expect(sent.slice(0, 4)).toEqual([greedy[0], polite, greedy[29], greedy[1]]);
  },
);

it('without a trusted proxy, forged addresses give a client no larger share: requests are served in order of arrival', async () => {
  const invents = (client: string) => ({ headers: { 'X-Forwarded-For': client, 'X-Api-Key': client } });
  const { sent, greedy, polite } = await orderOf({ name: 'invented', options: invents });
  expect(sent).toEqual([...greedy, polite]);
});

describe('the client with the most waiting requests', () => {
  it.each([
    ['by its network', {}, '192.0.2.0/24'],
    ['by its address, if addresses may be shown', { showAddresses: true }, '192.0.2.2'],
  ])('is counted by metrics, and shown on the status page %s', async (_, clients, shown) => {
    await using world = await startPatientWorld({
      env: { TRUSTED_PROXIES: '127.0.0.1' },
      overrides: { upstream: { maxConcurrency: 1 }, http: { drainTimeout: 100 }, clients },
    });
    const gate = world.indexer.hold();
    const ask = (client: string) =>
      askAs({ headers: { 'X-Forwarded-For': client } }, world.proxy.url, unknownTransaction());
    const all = [ask('192.0.2.2')];
    await gate.arrived(1);
    for (let i = 0; i < 12; i++) all.push(ask('192.0.2.2'));
    await world.proxy.untilQueued(12);
    // A single client is not greedy: it may be a proxy's only address.
    const { conditions } = JSON.parse((await world.proxy.askAdmin('/status.json')).text);
    expect(conditions.filter(({ name }: { name: string }) => name === 'one-client')).toEqual([]);
    for (const other of ['198.51.100.1', '198.51.100.2', '198.51.100.3']) all.push(ask(other));
    await world.proxy.untilQueued(15);
    const status = JSON.parse((await world.proxy.askAdmin('/status.json')).text);
    expect(status.clients[0]).toMatchObject({ client: shown, waiting: 12, share: 13 / 16 });
    expect(status.clients).toHaveLength(4);
    gate.release();
    await Promise.all(all);
  });
});

/** A reservation every half second. */
const RATED = { UPSTREAM_RPS: '2', UPSTREAM_TIMEOUT: '60s', PASSTHROUGH: 'on', TRUSTED_PROXIES: '127.0.0.1' };
const MANY = 12;

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
  for (let n = 0; n < MANY; n++) sent.push(await sendAs(one, '192.0.2.1', greedy()));
  const before = world.indexer.requests.total;
  sent.push(await sendAs(last, '198.51.100.1', polite));
  await expect.poll(() => isSent(world, polite), { interval: 5 }).toBe(true);
  const between = world.indexer.requests.total - before - 1;
  for (const { leave } of sent) leave();
  return between;
}

describe('with UPSTREAM_RPS, a client with one request does not wait behind all requests of a client with many', () => {
  it.each([
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
