import { describe, expect, it } from 'vitest';
import { someParent } from '../support/fleet.ts';
import { startHttpUpstream } from '../support/http-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';
import { refusedWith, SSE } from '../support/stream-clients.ts';

const ENV = { PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s' };
const JOINED = { CACHE_OPERATIONS: 'passthrough' };
const WAYS = [
  ['/api/v3/nft/items', {}, {}],
  ['/api/v3/nft/items', { method: 'HEAD' }, {}],
  ['/api/v3/runGetMethod', { method: 'POST', body: '{}' }, {}],
  ['/api/v3/message', { method: 'POST', body: '{}' }, {}],
  ['/api/v3/nft/items', {}, JOINED],
  ['/api/v3/runGetMethod', { method: 'POST', body: '{}' }, JOINED],
  [SSE, {}, {}],
  [SSE, { method: 'POST', body: '{}' }, {}],
] as const;
const PAGE = '<a href="https://provider.example/SECRET/">moved</a>';

describe.each([301, 302, 303, 307, 308])('a redirect by %i', (status) => {
  it('to another place is 502, whose condition names the host and never its path', async () => {
    for (const base of ['', '/SECRET', '/SECRET/v3'])
      for (const location of ['https://provider.example/SECRET/api/v3/x', '//provider.example/SECRET/x']) {
        const headers = { Location: location, 'Content-Type': 'text/html' };
        await using upstream = await startHttpUpstream(() => ({ status, headers, body: PAGE }));
        for (const env of [{}, JOINED]) {
          await using proxy = await startProxy({ upstreamUrl: upstream.url + base, env: { ...ENV, ...env } });
          for (const [target, asking, its] of WAYS)
            if (its === JOINED || env !== JOINED) {
              const got = await proxy.reply(target, asking);
              expect([target, got.status, got.cache['detail']]).toEqual([target, 502, 'upstream-redirect']);
              expect(JSON.stringify(got)).not.toMatch(/SECRET|provider/);
            }
          expect((await refusedWith(proxy.url)).status).toBe(502);
          expect((await proxy.reply(someParent())).cache['detail']).toBe('upstream-redirect');
          const page = (await proxy.askAdmin('/status.json')).text;
          expect(page).toContain('answers with a redirect');
          expect(page).toContain('to provider.example');
          expect(page + JSON.stringify(proxy.log)).not.toContain('provider.example/');
        }
      }
  });
});

describe.each(['', '/SECRET', '/SECRET/v3'])('a redirect of an indexer at %s', (base) => {
  it.each(['index.html', 'absolute path', 'absolute'])('to itself leads to the same place here: %s', async (form) => {
    await using upstream = await startHttpUpstream(({ target }) => {
      const to = target.replace(/\/api\/v3\/$|\/v3\/$/, '$&index.html');
      if (target.endsWith('index.html')) return { status: 200, body: '{"swagger":1}' };
      const location = form === 'index.html' ? form : form === 'absolute' ? upstream.url + to : to;
      return { status: 301, headers: { Location: location, 'Content-Type': 'text/html' }, body: `<a href="${to}">` };
    });
    for (const env of [{}, JOINED]) {
      await using proxy = await startProxy({ upstreamUrl: upstream.url + base, env: { ...ENV, ...env } });
      const got = await proxy.ask('/api/v3/');
      expect([got.status, got.headers['location'], got.text]).toEqual([301, '/api/v3/index.html', '']);
      expect((await proxy.ask(got.headers['location'] ?? '')).text).toBe('{"swagger":1}');
    }
  });
});

it('a stream that is redirected to itself gets its path here', async () => {
  await using upstream = await startHttpUpstream(({ target }) => ({
    status: 307,
    headers: { Location: target.replace('/sse', '/events') },
  }));
  await using proxy = await startProxy({ upstreamUrl: `${upstream.url}/SECRET`, env: ENV });
  const got = await proxy.ask(SSE);
  expect([got.status, got.headers['location']]).toEqual([307, SSE.replace('/sse', '/events')]);
});

const SENT = {
  'WWW-Authenticate': 'Basic realm="indexer"',
  Refresh: '0; url=https://provider.example/',
  Link: '<https://provider.example/a.css>; rel=preload',
  'Content-Location': 'https://provider.example/x',
  Server: 'openresty',
  NEL: '{}',
  'Report-To': '{}',
  'X-RateLimit-Remaining': '7',
  'X-Api-Key': 'OURS',
  'Content-Security-Policy': "default-src 'none'; report-uri https://provider.example",
  ETag: '"x"',
  'X-API-Version': '1.2',
  Age: '5',
};
const ALWAYS = ['age', 'content-security-policy', 'etag', 'x-api-version'];
const OF_KEY = ['www-authenticate', 'x-ratelimit-remaining'];

it.each([
  ['GET', '/api/v3/nft/items', {}, {}],
  ['HEAD', '/api/v3/nft/items', { method: 'HEAD' }, {}],
  ['POST', '/api/v3/message', { method: 'POST', body: '{}' }, {}],
  ['joined', '/api/v3/nft/items', {}, JOINED],
  ['joined get-method', '/api/v3/runGetMethod', { method: 'POST', body: '{}' }, JOINED],
  ['stream', SSE, {}, {}],
  ['stream by POST', SSE, { method: 'POST', body: '{}' }, {}],
])('headers about our key and the provider are not returned: %s', async (_, target, asking, env) => {
  for (const status of [200, 401]) {
    const body = status === 401 ? '{"error":"boc is required"}' : '{}';
    await using upstream = await startHttpUpstream(() => ({ status, headers: SENT, body }));
    const shared = { UPSTREAM_API_KEY: 'OURS', PASSTHROUGH_SHARED_KEY: 'on' };
    await using proxy = await startProxy({ upstreamUrl: upstream.url, env: { ...ENV, ...env, ...shared } });
    const names = async (headers: Record<string, string>) => {
      const got = await proxy.ask(target, { ...asking, headers });
      expect(JSON.stringify(got)).not.toMatch(/OURS|provider/);
      return Object.keys(SENT)
        .map((name) => name.toLowerCase())
        .filter((name) => got.headers[name] !== undefined);
    };
    if (!(status === 401 && target === '/api/v3/nft/items' && 'method' in asking))
      expect((await names({})).sort()).toEqual(ALWAYS);
    expect((await names({ 'X-Api-Key': 'mine' })).sort()).toEqual([...ALWAYS, ...OF_KEY].sort());
    await using open = await startProxy({ upstreamUrl: upstream.url, env: { ...ENV, ...env } });
    const own = await open.ask(target, { ...asking, headers: { Authorization: 'Bearer x' } });
    expect(own.headers['www-authenticate']).toBe(SENT['WWW-Authenticate']);
    const without = await open.ask(target, asking);
    expect(without.headers['www-authenticate']).toBeUndefined();
  }
});
