import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';
import { ANSWER, answers, BODY, clientOf, headersOf } from './scripted-client.ts';

describe('a request', () => {
  it('is dated no later than its answer, even if the clock was set back in between', async () => {
    await using upstream = await startScriptedUpstream(answers);
    const instants = [3_600_000, 1000];
    await using client = clientOf(upstream.url, { now: () => instants.shift() ?? Number.NaN });
    expect(await client.fetch()).toMatchObject({ askedAt: 1000, receivedAt: 1000 });
  });

  it('has the first Age of its answer, and 0 without one', async () => {
    const ages = ['Age: 5\r\nAge: 70\r\n', 'age: 7, 70\r\n', ''];
    await using upstream = await startScriptedUpstream((socket) => {
      socket.write(`${ANSWER}${ages.shift()}\r\n${BODY}`);
    });
    await using client = clientOf(upstream.url);
    for (const ageValueSeconds of [5, 7, 0]) expect(await client.fetch()).toMatchObject({ ageValueSeconds });
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

  it('counts the bytes of its answer until the answer is complete or broken', async () => {
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

  it('is answered as soon as a status that needs no body arrives, and an endless body is cut off', async () => {
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
    expect(await client.fetch()).toMatchObject({ status: 429, retryAfterMs: 7000, body: Buffer.alloc(0) });
    await expect.poll(() => cut).toBe(true);
    expect(client.readingBytes).toBe(0);
  });

  it.each([
    [429, 'gzip'],
    [429, 'deflate'],
    [401, 'br'],
    [302, 'gzip'],
  ])(
    'is answered by a status that needs no body (%i), whatever the encoding of its body (%s)',
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
    await expect(client.fetch()).rejects.toMatchObject({ code: 'upstream-reset' });
  });
});

describe('the sent request', () => {
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
