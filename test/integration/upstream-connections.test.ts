import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';
import { startProxy } from '../support/start-proxy.ts';
import { ANSWER, answers, BODY, clientOf, headersOf } from './scripted-client.ts';

const HAS_IPV6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some((it) => it.address === '::1'));

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

  it('are closed sooner when the indexer announces a shorter time', async () => {
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
    const useUntilReplaced = async () => {
      while (upstream.connections < 8) expect((await client.fetch()).status).toBe(200);
    };
    await Promise.all(Array.from({ length: 4 }, useUntilReplaced));
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
    const failed = expect(fetched).rejects.toMatchObject({ code: 'shutting-down', details: { retryAfterSeconds: 1 } });
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
  await expect.poll(() => proxy.log).toEqual([expect.objectContaining({ msg: expect.stringMatching(/self.signed/) })]);
  server.close();
});
