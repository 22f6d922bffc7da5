import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { UpstreamClient, type UpstreamClientOptions } from '../../src/upstream/upstream-client.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';
import { startProxy } from '../support/start-proxy.ts';

const BODY = '{"blocks":[]}';
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`;
const REQUEST = { operation: 'masterchainBlockShards', query: [['seqno', '7']], headers: [] } as const;
const HAS_IPV6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some((it) => it.address === '::1'));

const answers = (socket: Socket) => void socket.write(`${ANSWER}\r\n${BODY}`);

/** A client that is closed when the test ends. */
function clientOf(url: string, options: Partial<UpstreamClientOptions> = {}) {
  const client = new UpstreamClient({
    baseUrl: new URL(url),
    apiKey: undefined,
    timeoutMs: 20_000,
    maxForwardConnections: 4,
    maxConnections: 8,
    maxBodyBytes: 1024 * 1024,
    keepAliveMs: 10_000,
    connectionLifetimeMs: 600_000,
    now: Date.now,
    ...options,
  });
  return {
    fetch: (
      query: readonly (readonly [string, string])[] = REQUEST.query,
      headers: typeof query = [],
      atMostMs?: number,
    ) => client.fetch({ ...REQUEST, query, headers }, atMostMs),
    close: () => client.close(),
    get readingBytes() {
      return client.readingBytes;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const headersOf = (head: string) =>
  new Map(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.split(':')[0]?.toLowerCase(), line.replace(/^[^:]*: */, '')]),
  );

describe('a request', () => {
  it('is dated no later than its answer, also when the clock was set back meanwhile', async () => {
    await using upstream = await startScriptedUpstream(answers);
    const instants = [3_600_000, 1000];
    await using client = clientOf(upstream.url, { now: () => instants.shift() ?? Number.NaN });
    expect(await client.fetch()).toMatchObject({ askedAt: 1000, receivedAt: 1000 });
  });

  it('that waits for a connection longer than its timeout is given up and never sent', async () => {
    const waiting: Socket[] = [];
    await using upstream = await startScriptedUpstream((socket) => void waiting.push(socket));
    await using client = clientOf(upstream.url, { maxConnections: 1 });
    const first = client.fetch();
    await expect.poll(() => waiting.length).toBe(1);
    await expect(client.fetch([['seqno', '8']], [], 1)).rejects.toMatchObject({ code: 'upstream-timeout' });
    for (const socket of waiting.splice(0)) answers(socket);
    expect((await first).status).toBe(200);
    const third = client.fetch([['seqno', '9']]);
    await expect.poll(() => waiting.length).toBe(1);
    for (const socket of waiting.splice(0)) answers(socket);
    expect((await third).status).toBe(200);
    expect(upstream.heads.map((head) => /seqno=(\d)/.exec(head)?.[1])).toEqual(['7', '9']);
    expect(upstream.connections).toBe(1);
  });

  it('counts the bytes of its answer until that is complete, or given up', async () => {
    const open: Socket[] = [];
    await using upstream = await startScriptedUpstream((socket) => {
      socket.write(`${ANSWER}\r\n${BODY.slice(0, 5)}`);
      open.push(socket);
    });
    await using client = clientOf(upstream.url);
    const [complete, broken] = [client.fetch(), client.fetch()];
    await expect.poll(() => client.readingBytes).toBe(10);
    open[0]?.write(BODY.slice(5));
    expect((await Promise.race([complete, broken])).body.toString()).toBe(BODY);
    expect(client.readingBytes).toBe(5);
    open[1]?.destroy();
    await expect(Promise.all([complete, broken])).rejects.toMatchObject({ code: 'upstream-invalid' });
    expect(client.readingBytes).toBe(0);
  });

  it('is answered as soon as a status decides alone, and a body without end is cut', async () => {
    let cut = false;
    await using upstream = await startScriptedUpstream((socket) => {
      socket.on('close', () => {
        cut = true;
      });
      socket.write('HTTP/1.1 429 X\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n');
      const more = () => socket.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`, () => cut || setImmediate(more));
      more();
    });
    await using client = clientOf(upstream.url);
    expect(await client.fetch()).toMatchObject({ status: 429, retryAfter: '7', body: Buffer.alloc(0) });
    await expect.poll(() => cut).toBe(true);
    expect(client.readingBytes).toBe(0);
  });

  it.each([
    [429, 'gzip'],
    [429, 'deflate'],
    [401, 'br'],
    [302, 'gzip'],
  ])(
    'is answered by a status that decides alone (%i), whatever the encoding of its body (%s)',
    async (status, encoding) => {
      await using upstream = await startScriptedUpstream((socket) => {
        socket.write(`HTTP/1.1 ${status} X\r\nContent-Encoding: ${encoding}\r\nContent-Length: 3\r\n\r\nxyz`);
      });
      await using client = clientOf(upstream.url);
      expect(await client.fetch()).toMatchObject({ status, body: Buffer.alloc(0) });
    },
  );

  it('is not answered by an interim status', async () => {
    await using upstream = await startScriptedUpstream((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n');
      if (upstream.heads.length === 1) answers(socket);
      else socket.end();
    });
    await using client = clientOf(upstream.url);
    expect(await client.fetch()).toMatchObject({ status: 200, body: Buffer.from(BODY) });
    await expect(client.fetch()).rejects.toMatchObject({ code: 'upstream-unreachable' });
  });
});

describe('connections', () => {
  it('are kept open and used again', async () => {
    await using upstream = await startScriptedUpstream(answers);
    await using client = clientOf(upstream.url);
    for (let time = 0; time < 20; time++) expect((await client.fetch()).body.toString()).toBe(BODY);
    expect(upstream.heads).toHaveLength(20);
    // A request right after an answer may come before the pool has the connection back.
    expect(upstream.connections).toBeLessThanOrEqual(2);
  });

  it('are never more than allowed, with one request at a time on each', async () => {
    const waiting: Socket[] = [];
    await using upstream = await startScriptedUpstream((socket) => void waiting.push(socket));
    await using client = clientOf(upstream.url, { maxConnections: 3 });
    const fetched = Array.from({ length: 9 }, () => client.fetch());
    for (let answered = 0; answered < 9; answered++) {
      await expect.poll(() => waiting.length).toBe(Math.min(3, 9 - answered));
      expect(upstream.heads).toHaveLength(Math.min(3 + answered, 9));
      const socket = waiting.shift();
      if (socket !== undefined) answers(socket);
    }
    expect((await Promise.all(fetched)).map(({ status }) => status)).toEqual(Array(9).fill(200));
    expect(upstream.connections).toBe(3);
  });

  it('are closed after the configured idle time', async () => {
    await using upstream = await startScriptedUpstream(answers);
    await using client = clientOf(upstream.url, { keepAliveMs: 20 });
    await client.fetch();
    await expect.poll(() => upstream.open).toBe(0);
    expect((await client.fetch()).status).toBe(200);
    expect(upstream.connections).toBe(2);
  });

  it('are closed sooner when the indexer says that it keeps them for less', async () => {
    await using upstream = await startScriptedUpstream((socket) => {
      socket.write(`${ANSWER}Keep-Alive: timeout=1\r\n\r\n${BODY}`);
    });
    await using client = clientOf(upstream.url, { keepAliveMs: 600_000 });
    await client.fetch();
    await expect.poll(() => upstream.open).toBe(0);
    expect((await client.fetch()).status).toBe(200);
  });

  it('are replaced after their lifetime although in use, and no request is lost', async () => {
    await using upstream = await startScriptedUpstream(answers);
    await using client = clientOf(upstream.url, { maxConnections: 2, connectionLifetimeMs: 20 });
    const guardAt = performance.now() + 20_000;
    const useUntilReplaced = async () => {
      while (upstream.connections < 8 && performance.now() < guardAt) expect((await client.fetch()).status).toBe(200);
    };
    await Promise.all(Array.from({ length: 4 }, useUntilReplaced));
    expect(upstream.connections).toBeGreaterThanOrEqual(8);
    await expect.poll(() => upstream.open).toBeLessThanOrEqual(2);
  });

  it('that the indexer ends after an answer are not used again', async () => {
    await using upstream = await startScriptedUpstream((socket) => {
      socket.end(`${ANSWER}Connection: close\r\n\r\n${BODY}`);
    });
    await using client = clientOf(upstream.url);
    for (let time = 0; time < 5; time++) expect((await client.fetch()).status).toBe(200);
    expect(upstream.connections).toBe(5);
  });

  it('end with the client, and so do the requests on them', async () => {
    await using upstream = await startScriptedUpstream(() => {});
    const client = clientOf(upstream.url);
    const fetched = client.fetch();
    await expect.poll(() => upstream.heads.length).toBe(1);
    const failed = expect(fetched).rejects.toMatchObject({ code: 'shutting-down' });
    await client.close();
    await failed;
    await expect.poll(() => upstream.open).toBe(0);
  });
});

describe('addresses', () => {
  it.runIf(HAS_IPV6)('may be IPv6', async () => {
    await using upstream = await startScriptedUpstream(answers, '::1');
    await using proxy = await startProxy({ upstreamUrl: upstream.url });
    expect((await proxy.ask('/api/v3/masterchainBlockShards?seqno=7')).text).toBe(BODY);
    expect(headersOf(upstream.heads[0] ?? '').get('host')).toBe(`[::1]:${upstream.port}`);
  });

  it('may be a name with several addresses, of which one answers', async () => {
    await using upstream = await startScriptedUpstream(answers);
    await using client = clientOf(`http://localhost:${upstream.port}`);
    expect((await client.fetch()).status).toBe(200);
  });
});

describe('what is sent', () => {
  it.each([
    ['', '/api/v3/'],
    ['/', '/api/v3/'],
    ['/api/v3', '/api/v3/'],
    ['/api/v3/', '/api/v3/'],
    ['/ton/main', '/ton/main/api/v3/'],
    ['/ton/main/api/v3/', '/ton/main/api/v3/'],
  ])('to UPSTREAM_URL with the path "%s" goes to %s', async (path, expected) => {
    await using upstream = await startScriptedUpstream(answers);
    await using proxy = await startProxy({ upstreamUrl: upstream.url + path });
    expect((await proxy.ask('/api/v3/masterchainBlockShards?seqno=7')).status).toBe(200);
    expect(upstream.heads[0]?.split('\r\n')[0]).toBe(`GET ${expected}masterchainBlockShards?seqno=7 HTTP/1.1`);
  });

  it('is percent-encoded where it must be, and in the order given', async () => {
    await using upstream = await startScriptedUpstream(answers);
    await using client = clientOf(upstream.url);
    await client.fetch([
      ['hash', 'a+b/c='],
      ['account', '0:AB'],
      ['account', '& ?#%'],
    ]);
    const [line = ''] = upstream.heads[0]?.split('\r\n') ?? [];
    expect(line).toMatch(
      /^GET \/api\/v3\/masterchainBlockShards\?hash=a%2Bb%2Fc%3D&account=0(:|%3A)AB&account=\S+ HTTP/,
    );
    expect(new URL(line.split(' ')[1] ?? '', upstream.url).searchParams.getAll('account')).toEqual(['0:AB', '& ?#%']);
  });

  it('has the configured API key, and otherwise none', async () => {
    await using upstream = await startScriptedUpstream(answers);
    const target = '/api/v3/masterchainBlockShards?seqno=7&api_key=of-a-client';
    const asking = { headers: { 'X-Api-Key': 'of-a-client', Cookie: 'a=b', Authorization: 'Bearer of-a-client' } };
    for (const key of ['secret-key', undefined]) {
      await using proxy = await startProxy({
        upstreamUrl: upstream.url,
        env: key === undefined ? {} : { UPSTREAM_API_KEY: key },
      });
      await proxy.ask(target, asking);
      const head = upstream.heads.at(-1) ?? '';
      expect(headersOf(head).get('x-api-key')).toBe(key);
      expect(head).not.toContain('of-a-client');
      expect(headersOf(head).has('cookie')).toBe(false);
    }
  });

  it('has no cookie that the indexer set', async () => {
    await using upstream = await startScriptedUpstream((socket) => {
      socket.write(`${ANSWER}Set-Cookie: a=b\r\n\r\n${BODY}`);
    });
    await using client = clientOf(upstream.url);
    await client.fetch();
    await client.fetch();
    expect(upstream.heads.some((head) => headersOf(head).has('cookie'))).toBe(false);
  });
});

describe('an answer', () => {
  const fetchFrom = async (head: string, now = Date.now) => {
    const writes = (socket: Socket) => void socket.write(`${ANSWER}${head}\r\n${BODY}`);
    await using upstream: ScriptedUpstream = await startScriptedUpstream(writes);
    await using client = clientOf(upstream.url, { now });
    return await client.fetch();
  };

  it('has the instants of its request and of its arrival', async () => {
    let now = 1000;
    expect(await fetchFrom('', () => (now += 10))).toMatchObject({ askedAt: 1010, receivedAt: 1020 });
  });

  it('has the version and the Retry-After that the indexer sent', async () => {
    const said = await fetchFrom('X-API-Version: 1.3.0\r\nRetry-After: 7\r\n');
    expect(said).toMatchObject({ apiVersion: '1.3.0', retryAfter: '7', contentType: 'application/json' });
    expect(await fetchFrom('')).toMatchObject({ apiVersion: undefined, retryAfter: undefined });
  });
});

it('an indexer with an untrusted certificate is refused', async () => {
  let asked = 0;
  const server = createServer(selfSignedCertificate('localhost', '127.0.0.1'), (_, response) => {
    asked++;
    response.end(BODY);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await using proxy = await startProxy({ upstreamUrl: `https://127.0.0.1:${port}` });
  const { status, text } = await proxy.ask('/api/v3/masterchainBlockShards?seqno=7');
  expect([status, text]).toEqual([502, '{"error":"the indexer cannot be reached"}']);
  expect(asked).toBe(0);
  expect(proxy.log).toEqual([expect.objectContaining({ reason: expect.stringMatching(/self.signed/) })]);
  server.close();
});
