import { afterEach, expect, it, vi } from 'vitest';
import type { Asking } from '../support/http-client.ts';
import { asksForHead, headAt } from '../support/json-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const RUN = ['/api/v3/runGetMethod', { method: 'POST', body: '{}' }] as const;
const GET = ['/api/v3/nft/items?limit=1', {}] as const;

it.each<[string, readonly [string, Asking], Record<string, string>, status: number, times: number]>([
  ['GET', GET, {}, 200, 2],
  ['HEAD', ['/api/v3/nft/items', { method: 'HEAD' }], {}, 200, 2],
  ['runGetMethod', RUN, {}, 200, 2],
  ['joined GET', GET, { CACHE_OPERATIONS: 'passthrough' }, 200, 2],
  ['joined runGetMethod', RUN, { CACHE_OPERATIONS: 'passthrough' }, 200, 2],
  ['message', ['/api/v3/message', { method: 'POST', body: '{}' }], {}, 502, 1],
  ['estimateFee', ['/api/v3/estimateFee', { method: 'POST', body: '{}' }], {}, 502, 1],
])(
  'a passed-through request that meets the end of an idle connection: %s',
  async (_, [target, asking], env, status, times) => {
    vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const used = new WeakSet<object>();
    await using upstream = await startScriptedUpstream((socket, head) => {
      const isOfHead = asksForHead(head.slice(head.search(/[A-Z]+ \//)));
      const body = isOfHead ? JSON.stringify(headAt(Date.now()).body) : '{}';
      if (!isOfHead && used.has(socket)) socket.destroy();
      else
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${/HEAD \//.test(head) ? '' : body}`,
        );
      if (!isOfHead) used.add(socket);
    });
    await using proxy = await startProxy({
      upstreamUrl: upstream.url,
      env: { PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s', ...env },
    });
    const asked = () => upstream.asked.filter((head) => head.includes(target)).length;
    expect((await proxy.ask('/api/v3/first')).status).toBe(200);
    expect((await proxy.ask(target, asking)).status).toBe(status);
    expect(asked()).toBe(times);
  },
);
