import type { Socket } from 'node:net';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { nothingPending, unknownTransaction } from '../e2e/questions.ts';
import { ANSWER } from '../integration/scripted-client.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { mostWithin } from '../support/sliding-count.ts';
import { someNetwork } from '../support/some-network.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION, startEndingWorld } from './faulty-world.ts';
import { expectRefused, refusedOf } from './refused-requests.ts';

describe('UPSTREAM_RPS', () => {
  it('is kept in any second, and all requests that can be sent in time are answered', async () => {
    await using world = await startEndingWorld({ env: { UPSTREAM_RPS: '25', UPSTREAM_TIMEOUT: '30s' } });
    const arrivals: number[] = [];
    world.indexer.requests.on('request', () => arrivals.push(performance.now()));
    const answers = await Promise.all(Array.from({ length: 80 }, () => world.ask(nothingPending())));
    expect(answers.map(({ status }) => status)).toEqual(Array(80).fill(200));
    expect(mostWithin(arrivals, 1000)).toBeLessThanOrEqual(50);
    expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(1000);
  });

  it('refuses immediately each request that could not be sent in time', async () => {
    await using world = await startEndingWorld({ stopsTime: true, env: { UPSTREAM_RPS: '1', UPSTREAM_TIMEOUT: '5s' } });
    // One slot a second, and a request waits for at most half of the timeout: the slots at 0, 1 and 2 s come in time.
    // The clock of the rate stands still, so the arrival time of the requests does not matter.
    const early = await Promise.all(Array.from({ length: 5 }, () => world.proxy.sendIn(nothingPending())));
    const waiting = await Promise.all(Array.from({ length: 20 }, () => world.ask(nothingPending())));
    const answers = [...waiting, ...(await Promise.all(early.map(({ answer }) => answer)))];
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(22);
    for (const answered of refused) expectRefused(answered, undefined, 429);
    expect(await refusedOf(world, 'rate-limit')).toBe(22);
    expect(world.forwarded).toHaveLength(3);
  });

  it('below one is refused at the start, because nothing would ever be sent', async () => {
    await expect(startEndingWorld({ env: { UPSTREAM_RPS: '0.5' } })).rejects.toThrow(/UPSTREAM_RPS/);
  });
});

it('clients that leave before their requests are sent use no reservations of UPSTREAM_RPS', async () => {
  // A reservation every half second: 40 take 20 s. On a slow machine some come while a client still waits, and are taken.
  await using world = await startEndingWorld({
    stopsTime: true,
    env: { UPSTREAM_RPS: '2', UPSTREAM_TIMEOUT: '60s' },
    overrides: { admission: { patience: 10_000 } },
  });
  expect((await world.ask(unknownTransaction())).status).toBe(404);
  for (let n = 0; n < 40; n++) {
    const { leave } = await world.proxy.sendIn(unknownTransaction());
    leave();
    await world.proxy.untilQueued(0);
  }
  expect((await world.ask(unknownTransaction())).status).toBe(404);
});

const clock = performance.now.bind(performance);

afterEach(() => void vi.restoreAllMocks());

const BLOCKS_OF = (seqno: string) => `{"blocks":[{"workchain":-1,"seqno":${seqno},"gen_utime":"1"}]}`;

/** An indexer that ends each connection at its second request, and records the arrival of each request. */
async function startEndingUpstream() {
  const used = new WeakSet<Socket>();
  const arrivals: number[] = [];
  const upstream = await startScriptedUpstream((socket, head) => {
    arrivals.push(clock());
    const body = BLOCKS_OF(/seqno=(\d+)/.exec(head)?.[1] ?? '1');
    if (used.has(socket)) socket.end();
    else socket.write(`${ANSWER.replace(/Content-Length: \d+/, `Content-Length: ${body.length}`)}\r\n${body}`);
    used.add(socket);
  });
  return { upstream, arrivals };
}

it.each([
  { perSecond: 10, instances: 1, bursts: 3, size: 4 },
  { perSecond: 100, instances: 1, bursts: 8, size: 30 },
  { perSecond: 300, instances: 2, bursts: 4, size: 150 },
])(
  'UPSTREAM_RPS=$perSecond is kept by $instances instances, and all requests are answered, although idle connections end',
  async ({ perSecond, instances, bursts, size }) => {
    const { upstream, arrivals } = await startEndingUpstream();
    await using stack = new AsyncDisposableStack();
    stack.use(upstream);
    const redis = instances > 1 ? { REDIS_URL: inject('redisUrl') } : {};
    const env = { NETWORK: someNetwork(), UPSTREAM_RPS: String(perSecond), UPSTREAM_TIMEOUT: '30s', ...redis };
    const options = { upstreamUrl: upstream.url, env, overrides: { admission: PATIENT_ADMISSION } };
    const proxies: RunningProxy[] = [];
    for (let n = 0; n < instances; n++) proxies.push(stack.use(await startProxy(options)));
    // However busy the machine is, no connection breaks so long after its request that it was not idle. The rate has its
    // own clock.
    vi.spyOn(performance, 'now').mockReturnValue(clock());
    const statuses = new Set<number>();
    let seqno = 1;
    for (let burst = 0; burst < bursts; burst++) {
      const targets = Array.from({ length: size }, () => `/api/v3/masterchainBlockShards?seqno=${seqno++}`);
      const proxyOf = (n: number) => proxies[n % instances] as RunningProxy;
      const asked = targets.map((target, n) => proxyOf(n).ask(target));
      for (const { status } of await Promise.all(asked)) statuses.add(status);
    }
    expect([...statuses]).toEqual([200]);
    expect(arrivals.length).toBeGreaterThan(1.5 * bursts * size);
    // Turns of up to 250 ms ago are given where this machine stood still.
    expect(mostWithin(arrivals, 1000)).toBeLessThanOrEqual(1.25 * perSecond + 1);
  },
);
