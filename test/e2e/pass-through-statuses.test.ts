import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { someParent } from '../support/fleet.ts';
import type { Asking } from '../support/http-client.ts';
import { type HttpAnswer, type HttpRequest, type HttpUpstream, startHttpUpstream } from '../support/http-upstream.ts';
import { children } from '../support/json-upstream.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { INFO, MESSAGE } from './raw-requests.ts';

const GET = '/api/v3/nft/items?limit=1';
const RUN = '/api/v3/runGetMethod';
const RIGHT = '{"right":true}';
const OWN = '{"error":"boc is required"}';
const BILL = '{"error":"Add credits at https://provider.example/billing","code":402}';
const SHARED = { PASSTHROUGH: 'on', PASSTHROUGH_SHARED_KEY: 'on', UPSTREAM_API_KEY: 'ours', UPSTREAM_TIMEOUT: '60s' };
const JOINED = { CACHE_OPERATIONS: 'passthrough' };

/** Each way to ask: the path, the request, and the settings. */
const WAYS = {
  GET: [GET, {}, {}],
  HEAD: [GET, { method: 'HEAD' }, {}],
  runGetMethod: [RUN, { method: 'POST', body: '{"method":"seqno"}' }, {}],
  'joined GET': [GET, {}, JOINED],
  'joined runGetMethod': [RUN, { method: 'POST', body: '{"method":"seqno"}' }, JOINED],
  message: [MESSAGE, { method: 'POST', body: '{}' }, {}],
  'message, with joined requests': [MESSAGE, { method: 'POST', body: '{}' }, JOINED],
  'another POST': ['/api/v3/estimateFee', { method: 'POST', body: '{}' }, {}],
} as const satisfies Record<string, readonly [string, Asking, Record<string, string>]>;
type Way = keyof typeof WAYS;
const ALL = Object.keys(WAYS) as Way[];
/** Those that change nothing. */
const REPEATED = ALL.filter((way) => !/message|another/.test(way));
const ONCE = ALL.filter((way) => !REPEATED.includes(way));

/** Answers operations with data, and all other requests as given. */
const saying =
  (status: number, body: string | Buffer = BILL, headers: HttpAnswer['headers'] = {}) =>
  ({ target }: HttpRequest): HttpAnswer =>
    target.includes('adjacentTransactions')
      ? { status: 200, body: JSON.stringify(children('a').body) }
      : { status, body, headers };
const right = saying(200, RIGHT);

const passedTo = ({ asked }: HttpUpstream) => asked.filter(({ target }) => !target.includes('adjacentTransactions'));

/** One proxy for each setting of these ways, in front of this indexer; `ask` sends a request in one of them. */
async function startWays(upstreamUrl: string, env: Record<string, string> = {}) {
  const [alone, joined] = await Promise.all(
    [{}, JOINED].map((its) => startProxy({ upstreamUrl, env: { ...SHARED, ...its, ...env } })),
  );
  let requests = 0;
  return {
    ask: async (way: Way, headers = {}) => {
      const [target, asking, its] = WAYS[way];
      const proxy = (its === JOINED ? joined : alone) as RunningProxy;
      // The kept answer to one request is not that to the next.
      const own = { 'X-No-Metadata': String(++requests), ...headers };
      const { status, text, cache } = await proxy.reply(target, { ...asking, headers: own });
      return { status, text, code: cache['detail'] };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([alone?.close(), joined?.close()]);
    },
  };
}

/** An indexer whose answer to passed-through requests the test may change. */
async function startSaying(first: (request: HttpRequest) => HttpAnswer) {
  let answer = first;
  const upstream = await startHttpUpstream((request) => answer(request));
  return Object.assign(upstream, {
    says: (next: typeof first) => {
      answer = next;
    },
  });
}

const REFUSALS = [
  [401, '{"ok":false,"error":"API key does not exist"}'],
  [401, ''],
  [401, '<html>'],
  [401, `{"error":"${'x'.repeat(70_000)}"}`],
  [402, BILL],
  [402, '{"error":"plan"}'],
  [403, '{"error":"quota"}'],
] as const;
const REFUSED = { status: 502, code: 'upstream-unauthorized' };

describe('the refusal of our key, to a passed-through request', () => {
  it('sends a request that changes nothing once more, to the backup with its own key, and no other', async () => {
    await using main = await startSaying(right);
    await using other = await startSaying(right);
    await using backup = await startHttpUpstream(right);
    const env = { UPSTREAM_BACKUP_URL: backup.url, UPSTREAM_BACKUP_API_KEY: 'of-the-backup' };
    await using ways = await startWays(`${main.url},${other.url}`, env);
    for (const [status, body] of REFUSALS) {
      for (const each of [main, other]) each.says(saying(status, body));
      for (const way of REPEATED) {
        const [before, first] = [backup.asked.length, main.asked.length + other.asked.length];
        const { status: got, text } = await ways.ask(way);
        expect([way, status, got, text]).toEqual([way, status, 200, way === 'HEAD' ? '' : RIGHT]);
        expect(main.asked.length + other.asked.length - first).toBe(1);
        expect(backup.asked.length - before).toBe(1);
        const [, asking] = WAYS[way];
        expect(backup.asked.at(-1)).toMatchObject({
          method: 'method' in asking ? asking.method : 'GET',
          body: 'body' in asking ? asking.body : '',
          headers: { 'x-api-key': 'of-the-backup' },
        });
      }
      const sent = backup.asked.length;
      for (const way of ONCE) expect([way, await ways.ask(way)]).toMatchObject([way, REFUSED]);
      expect(backup.asked).toHaveLength(sent);
    }
  });

  it('is 502 without words of the provider, if nobody else answers', async () => {
    await using main = await startSaying(right);
    await using ways = await startWays(main.url);
    for (const [status, body] of REFUSALS) {
      main.says(saying(status, body));
      for (const way of ALL) {
        const before = main.asked.length;
        const { text, ...got } = await ways.ask(way);
        expect([way, got]).toEqual([way, REFUSED]);
        expect(text).not.toMatch(/billing|ok|html|xxx/);
        expect(main.asked.length - before).toBe(1);
      }
    }
  });

  it('sends it once more to another indexer without a backup, and is 502 if that refuses the key as well', async () => {
    let refusals = 0;
    const first = (request: HttpRequest) => (refusals++ % 2 === 0 ? saying(402)(request) : right(request));
    await using one = await startSaying(first);
    await using other = await startSaying(first);
    await using ways = await startWays(`${one.url},${other.url}`);
    for (const way of REPEATED) {
      expect([way, await ways.ask(way)]).toMatchObject([way, { status: 200 }]);
    }
    expect([one.asked.length, other.asked.length]).toEqual([REPEATED.length, REPEATED.length]);
    for (const each of [one, other]) each.says(saying(403));
    for (const way of REPEATED) expect([way, await ways.ask(way)]).toMatchObject([way, REFUSED]);
    expect([one.asked.length, other.asked.length]).toEqual([2 * REPEATED.length, 2 * REPEATED.length]);
  });
});

describe('a passed-through request to an indexer that is down', () => {
  /** A server that closes each connection once a request is there, as a TCP proxy does in front of a stopped indexer. */
  async function startClosing() {
    const server = createServer((socket) => socket.once('data', () => socket.destroy()).on('error', () => {}));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return { server, name: `127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  it.each([
    ['accepts no connection', true],
    ['breaks each connection', false],
  ])('is sent once more, to another indexer, if it changes nothing: one that %s', async (_, isClosed) => {
    const { server, name } = await startClosing();
    if (isClosed) await once(server.close(), 'close');
    await using well = await startHttpUpstream(right);
    await using ways = await startWays(`${well.url},http://${name}`);
    for (const way of REPEATED)
      for (let time = 0; time < 5; time++)
        expect([way, await ways.ask(way)]).toMatchObject([way, { status: 200, text: way === 'HEAD' ? '' : RIGHT }]);
    const before = well.asked.length;
    expect(before).toBe(5 * REPEATED.length);
    const got = [];
    for (let time = 0; time < 5; time++) for (const way of ONCE) got.push((await ways.ask(way)).status);
    expect(well.asked.length - before).toBe(got.filter((status) => status === 200).length);
    server.close();
  });

  it('is sent to a backup, and is 502 if nobody can be reached, whose condition names the first', async () => {
    const [one, other] = [await startClosing(), await startClosing()];
    await Promise.all([one, other].map(({ server }) => once(server.close(), 'close')));
    await using backup = await startHttpUpstream(right);
    await using ways = await startWays(`http://${one.name}`, { UPSTREAM_BACKUP_URL: backup.url });
    for (const way of REPEATED) expect([way, await ways.ask(way)]).toMatchObject([way, { status: 200 }]);
    await using neither = await startWays(`http://${one.name}`, { UPSTREAM_BACKUP_URL: `http://${other.name}` });
    for (const way of ALL)
      expect([way, await neither.ask(way)]).toMatchObject([way, { status: 502, code: 'upstream-unreachable' }]);
  });
});

it('the refusal of our key by one of two indexers is said of this one', async () => {
  await using one = await startHttpUpstream(saying(403));
  await using other = await startHttpUpstream(right);
  const env = { ...SHARED, PASSTHROUGH: 'on' };
  await using proxy = await startProxy({ upstreamUrl: `${one.url},${other.url}`, env });
  for (let time = 0; time < 20; time++) await proxy.ask(`${MESSAGE}?n=${time}`, { method: 'POST', body: '{}' });
  await expect
    .poll(async () => (await proxy.askAdmin('/status.json')).text)
    .toContain(`${one.name} refuses our API key`);
});

describe("the API's own 401, to a passed-through request with our key", () => {
  it.each([
    ['plain', OWN, {}],
    ['gzip', gzipSync(OWN), { 'Content-Encoding': 'gzip' }],
    ['br', brotliCompressSync(OWN), { 'Content-Encoding': 'br' }],
  ])("is its client's answer, and is sent once: %s", async (_, body, headers) => {
    await using main = await startHttpUpstream(saying(401, body, headers));
    await using backup = await startHttpUpstream(right);
    await using ways = await startWays(main.url, { UPSTREAM_BACKUP_URL: backup.url });
    for (const way of ALL.filter((each) => each !== 'HEAD')) {
      const got = await ways.ask(way);
      expect([way, got.status, got.code]).toEqual([way, 401, undefined]);
      if (typeof body === 'string') expect(got.text).toBe(OWN);
    }
    expect(backup.asked).toEqual([]);
  });

  it('a hundred times sends no request of others to the backup, and the page says OK', async () => {
    await using main = await startHttpUpstream((request) =>
      request.target === MESSAGE ? saying(401, OWN)(request) : right(request),
    );
    await using backup = await startHttpUpstream(right);
    await using proxy = await startProxy({
      upstreamUrl: main.url,
      env: { ...SHARED, UPSTREAM_BACKUP_URL: backup.url },
    });
    for (let time = 0; time < 100; time++)
      expect(await proxy.ask(MESSAGE, { method: 'POST', body: '{}' })).toMatchObject({ status: 401, text: OWN });
    expect(await proxy.ask(GET)).toMatchObject({ status: 200, text: RIGHT });
    expect(await proxy.ask(someParent())).toMatchObject({ status: 200 });
    expect(backup.asked).toEqual([]);
    expect(JSON.parse((await proxy.askAdmin('/status.json')).text)).toMatchObject({ level: 'OK' });
  });
});

it('requests for which the provider refuses our key a hundred times move no request of others to the backup', async () => {
  const refusing = (request: HttpRequest) => (request.target === GET ? saying(403)(request) : right(request));
  await using main = await startHttpUpstream(refusing);
  await using backup = await startHttpUpstream(right);
  await using proxy = await startProxy({ upstreamUrl: main.url, env: { ...SHARED, UPSTREAM_BACKUP_URL: backup.url } });
  for (let time = 0; time < 100; time++) expect(await proxy.ask(GET)).toMatchObject({ status: 200 });
  expect(passedTo(backup)).toHaveLength(100);
  expect(await proxy.ask(INFO)).toMatchObject({ status: 200 });
  expect(await proxy.ask(someParent())).toMatchObject({ status: 200 });
  expect(backup.asked).toHaveLength(100);
  const page = JSON.parse((await proxy.askAdmin('/status.json')).text);
  expect(page).toMatchObject({ level: 'OK' });
  expect(page.conditions.map(({ name }: { name: string }) => name)).not.toContain('key-refused');
});

describe('every other status is the answer to its client, and is sent once', () => {
  // A 429 pauses its path.
  const statuses = [200, 204, 206, 304, 400, 404, 405, 408, 409, 410, 422, 423, 451, 500, 501, 503, 520, 429];

  it('with our key', async () => {
    await using main = await startSaying(right);
    await using ways = await startWays(main.url);
    for (const status of statuses) {
      main.says(saying(status));
      for (const way of ALL) {
        const before = main.asked.length;
        const got = await ways.ask(way);
        expect([way, got.status, got.code]).toEqual([way, status, undefined]);
        expect([way, main.asked.length - before]).toEqual([way, 1]);
      }
    }
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ["its client's", {}, { 'X-Api-Key': 'mine' }],
    ['no key, as ours is not shared,', { PASSTHROUGH_SHARED_KEY: 'off' }, {}],
    ['no key at all', { UPSTREAM_API_KEY: '', PASSTHROUGH_SHARED_KEY: 'off' }, {}],
  ])('with %s, including 401, 402 and 403', async (_, env, headers) => {
    await using main = await startSaying(right);
    await using ways = await startWays(main.url, env);
    for (const status of [401, 402, 403, ...statuses]) {
      main.says(saying(status));
      for (const way of ALL) {
        const before = main.asked.length;
        const got = await ways.ask(way, headers);
        expect([way, got.status, got.code]).toEqual([way, status, undefined]);
        expect([way, main.asked.length - before]).toEqual([way, 1]);
      }
    }
  });

  it('a passed If-None-Match gets its 304', async () => {
    await using main = await startHttpUpstream(({ headers }) =>
      headers['if-none-match'] === '"x"' ? { status: 304, headers: { ETag: '"x"' } } : { status: 200, body: RIGHT },
    );
    await using proxy = await startProxy({ upstreamUrl: main.url, env: SHARED });
    const got = await proxy.ask(GET, { headers: { 'If-None-Match': '"x"' } });
    expect([got.status, got.text, got.headers['etag']]).toEqual([304, '', '"x"']);
  });
});

describe('a passed-through request teaches', () => {
  it.each([402, 403, 401])('nothing by a %i: a path with a pause stays paused, and no other begins', async (status) => {
    await using main = await startHttpUpstream(saying(status));
    await using proxy = await startProxy({ upstreamUrl: main.url, env: SHARED });
    for (let time = 0; time < 5; time++) expect(await proxy.ask(GET)).toMatchObject({ status: 502 });
    expect(await proxy.ask(someParent())).toMatchObject({ status: 200 });
    expect(passedTo(main)).toHaveLength(5);
  });

  it('the health of its own route by a 5xx: after three the backup is used', async () => {
    await using main = await startHttpUpstream(saying(500));
    await using backup = await startHttpUpstream(right);
    const now = Date.now();
    await using proxy = await startProxy({
      upstreamUrl: main.url,
      env: { ...SHARED, UPSTREAM_BACKUP_URL: backup.url },
      // Time stands still: 100 ms after the third failure the next request is a trial.
      now: () => now,
      monotonic: () => 0,
      wall: () => now,
    });
    const statuses: number[] = [];
    for (let time = 0; time < 4; time++) statuses.push((await proxy.ask(GET)).status);
    expect(statuses).toEqual([500, 500, 500, 200]);
  });
});
