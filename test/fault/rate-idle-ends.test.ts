import type { Socket } from 'node:net';
import { afterEach, expect, inject, it, vi } from 'vitest';
import { ANSWER } from '../integration/scripted-client.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { mostWithin } from '../support/sliding-count.ts';
import { someNetwork } from '../support/some-network.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION } from './faulty-world.ts';

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
