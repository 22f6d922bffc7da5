import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StatusMessage } from '../../src/operate/status/status-pages.ts';
import { CONDITIONS } from '../../src/tell/conditions.ts';
import { failed } from '../../src/tools/simulator/faults.ts';
import { GUARD_MS } from '../support/patience.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { newestBlock, parentOfSettled, unknownTransaction } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

async function statusOf(proxy: RunningProxy, since = '', headers: Record<string, string> = {}): Promise<StatusMessage> {
  return JSON.parse((await proxy.askAdmin(`/status.json${since}`, { headers })).text);
}

describe('the status page', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('comes with all its files, and refers to nothing elsewhere', async () => {
    const { status, headers, text } = await world.proxy.askAdmin('/');
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';/,
    );
    expect(text).not.toMatch(/https?:/);
    const files = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(files.length).toBeGreaterThan(3);
    for (const path of [...files, 'status/uplot.js', 'status/ask.js', 'status/charts.js']) {
      expect(path).not.toMatch(/^\//);
      expect((await world.proxy.askAdmin(`/${path}`)).status, path).toBe(200);
    }
    for (const script of ['status', 'ask', 'charts', 'purge-of', 'shown-request', 'tables', 'words']) {
      // The page may be served below a path prefix.
      expect((await world.proxy.askAdmin(`/status/${script}.js`)).text).not.toMatch(/["'`]\/\w/);
    }
    expect((await world.proxy.askAdmin('/', { method: 'HEAD' })).text).toBe('');
  });

  it('transfers at most 70 KB for its first load, charts included, and nothing of a file that is known', async () => {
    const gzip = { 'Accept-Encoding': 'gzip' };
    const scripts = [
      'ask',
      'charts',
      'flow',
      'purge-of',
      'shown-request',
      'status',
      'tables',
      'told',
      'words',
      'uplot',
    ];
    const files = [
      ...scripts.map((name) => `/status/${name}.js`),
      '/status/status.css',
      '/status/uplot.css',
      '/status/icon.svg',
    ];
    let bytes = 0;
    for (const path of ['/', '/status.json', '/status.json?since=0', ...files]) {
      const { status, headers } = await world.proxy.askAdmin(path, { headers: gzip });
      expect(status, path).toBe(200);
      if (path !== '/status.json') expect(headers['content-encoding'], path).toBe('gzip');
      bytes += Number(headers['content-length']);
    }
    // The history of five minutes, of which this instance has hardly any, is 20 KB.
    expect(bytes).toBeLessThan(50_000);
    for (const path of files) {
      const { headers } = await world.proxy.askAdmin(path, { headers: gzip });
      const known = { ...gzip, 'If-None-Match': String(headers.etag) };
      const again = await world.proxy.askAdmin(path, { headers: known });
      expect([again.status, again.text], path).toEqual([304, '']);
      const plain = await world.proxy.askAdmin(path, { headers: { 'Accept-Encoding': 'gzip;q=0' } });
      expect(plain.headers['content-encoding']).toBeUndefined();
    }
  });

  it('has its first line, the last hour and what happened as HTML, for who may read the numbers', async () => {
    world.indexer.faults.inject(failed(500, 'json', undefined, { error: '<script>alert(1)</script> & more' }));
    const pageFor = async (headers: Record<string, string> = {}) => (await world.proxy.askAdmin('/', { headers })).text;
    await vi.waitFor(async () => {
      for (let time = 0; time < 5; time++) await world.ask(unknownTransaction());
      expect(await pageFor()).toContain('<html lang="en" class="failing">');
    }, GUARD_MS);
    const page = await pageFor();
    expect(page).toMatch(/<title>FAILING: .* – toncache<\/title>/);
    expect(page).toMatch(/>FAILING<\/span>.* for .*: \d+ % of requests fail\. The indexer answers 500/);
    expect(page).toContain('href="status/docs/the-indexer-fails"');
    expect(page.match(/<i class="/g)).toHaveLength(60);
    expect(page).toMatch(/\d\d:\d\d UTC/);
    expect(page).not.toMatch(/<script>|alert\(1\)<|\{\w+\}/);
    expect(await pageFor({ 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' })).toContain('FAILING');
    for (const headers of [
      { Host: 'rebound.example' },
      { Host: 'rebound.example', 'Sec-Fetch-Mode': 'navigate' },
      { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' },
    ]) {
      const hidden = await pageFor(headers as Record<string, string>);
      expect(hidden).not.toMatch(/FAILING|500|\{\w+\}/);
      expect(hidden).toContain('status/status.js');
    }
  });

  it('links to the metrics and the numbers', async () => {
    const { text } = await world.proxy.askAdmin('/');
    for (const path of ['metrics', 'status.json']) {
      expect(text).toContain(`href="${path}"`);
      expect((await world.proxy.askAdmin(`/${path}`)).status, path).toBe(200);
    }
  });

  it('shows the one section with the steps of each condition as HTML, and every link in the documentation works', async () => {
    const get = async (path: string) => {
      const { status, headers, text } = await world.proxy.askAdmin(path);
      expect([status, headers['content-type']], path).toEqual([200, 'text/html; charset=utf-8']);
      return text;
    };
    const seen = new Map<string, string>();
    const toSee = Object.values(CONDITIONS).map(({ section }) => `/status/docs/${section}`);
    const sections = new Set(toSee);
    toSee.push('/status/docs/');
    for (const path of toSee) {
      if (seen.has(path)) continue;
      const text = await get(path);
      seen.set(path, text);
      for (const [, href = ''] of text.matchAll(/<a href="([^"]*)"/g)) {
        const to = new URL(href, `http://host${path}`);
        if (to.host === 'host' && to.pathname !== '/') toSee.push(to.pathname);
      }
    }
    for (const path of sections) {
      expect(seen.get(path)?.match(/<h\d/g), path).toEqual(['<h1']);
      expect(seen.get(path), path).not.toMatch(/\]\(|\| ---|`/);
    }
    expect(seen.get('/status/docs/')).toBe(seen.get('/status/docs/README.md'));
    expect(seen.get('/status/docs/the-indexer-fails')).toContain('<td><em>unreachable</em></td>');
    for (const [path, text] of seen) {
      for (const [, href = ''] of text.matchAll(/<a href="([^"]*#[^"]*)"/g)) {
        const { pathname, hash, host } = new URL(href, `http://host${path}`);
        if (host === 'host') expect(seen.get(pathname), `${path} ${href}`).toContain(`id="${hash.slice(1)}"`);
      }
    }
    expect(seen.size).toBeGreaterThan(sections.size + 20);
  });

  it('shows the status codes of the indexer, and the limit of its slots', async () => {
    await world.ask(newestBlock(world));
    world.indexer.faults.inject(failed(500), { operation: 'adjacentTransactions' });
    await world.ask(unknownTransaction());
    await vi.waitFor(async () => {
      const { upstreams } = await statusOf(world.proxy);
      expect(upstreams).toHaveLength(1);
      expect(upstreams[0]).toMatchObject({ state: 'healthy', slotLimit: 64 });
      expect(upstreams[0]?.statuses['200']).toBeGreaterThan(0);
      expect(upstreams[0]?.statuses['500']).toBeGreaterThan(0);
    }, GUARD_MS);
  });

  it('shows a single indexer without requests as idle, and one that answers nothing of use as unhealthy', async () => {
    expect((await statusOf(world.proxy)).upstreams[0]?.state).toBe('idle');
    world.indexer.faults.inject(failed(500));
    await vi.waitFor(async () => {
      for (let time = 0; time < 5; time++) await world.ask(unknownTransaction());
      expect((await statusOf(world.proxy)).upstreams[0]?.state).toBe('unhealthy');
    }, GUARD_MS);
  });

  it('gets numbers and the most requested keys, with the history since a given moment', async () => {
    const target = parentOfSettled(world);
    await world.ask(target);
    const first = await statusOf(world.proxy);
    expect(first.rates).toBeUndefined();
    expect(first.history).toBeUndefined();
    expect(first).toMatchObject({ redis: 'not configured', memory: { entries: 1 } });
    await world.ask(target);
    const second = await vi.waitFor(async () => {
      const message = await statusOf(world.proxy, '?since=0');
      expect(message.rates?.['hit-memory']).toBeGreaterThan(0);
      return message;
    }, GUARD_MS);
    expect(second.hitRatio).toBe(0.5);
    expect(second.keys).toEqual([
      {
        request: decodeURIComponent(target).replace('/api/v3/', ''),
        share: 1,
        answerClass: 'final',
        freshForMs: expect.any(Number),
      },
    ]);
    expect(second.history?.[0]?.memory).toEqual(first.memory);
    expect(second.history?.at(-1)?.rates).toEqual(second.rates);
    expect((await statusOf(world.proxy, `?since=${second.at}`)).history).toEqual([]);
  });

  it("counts the fast lane's hits among the most requested keys", async () => {
    await world.ask(parentOfSettled(world));
    const polled = newestBlock(world);
    // Of 400 requests at least 12 are in the sample. The first two do not pass the fast lane's look-up.
    for (let time = 0; time < 400; time++) await world.ask(polled);
    const { keys } = await statusOf(world.proxy);
    expect(keys?.[0]?.request).toBe(polled.replace('/api/v3/', ''));
    expect(keys?.[0]?.share).toBeGreaterThan(0.9);
  });

  it('gets no numbers under another host name, nor for another site', async () => {
    for (const [status, headers] of [
      [421, { Host: 'rebound.example' }],
      [403, { Origin: 'http://elsewhere.example' }],
      [403, { 'Sec-Fetch-Site': 'cross-site' }],
    ] as const) {
      const answer = await world.proxy.askAdmin('/status.json', { headers });
      expect(answer.status, JSON.stringify(headers)).toBe(status);
    }
  });

  it('gets the keys only with the token if one is set', async () => {
    await using guarded = await startProxy({
      upstreamUrl: world.indexer.url,
      env: { ADMIN_TOKEN: 'a-secret-of-24-letters-x' },
    });
    const keysFor = async (headers: Record<string, string>) => (await statusOf(guarded, '', headers)).keys;
    expect(await keysFor({})).toBeUndefined();
    expect(await keysFor({ Authorization: 'Bearer wrong' })).toBeUndefined();
    expect(await keysFor({ Authorization: 'Bearer a-secret-of-24-letters-x' })).toEqual([]);
  });
});
