import { expect, it } from 'vitest';
import { ask } from '../support/http-client.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

const TARGET = '/api/v3/masterchainBlockShards?seqno=7';
const BODY = '{"blocks":[{"workchain":-1,"shard":"8000000000000000","seqno":7}]}';
const SIZE = BODY.length;

/** Sends a request to a proxy whose upstream writes these bytes, then ends the connection or leaves it open. */
async function askBefore(bytes: string, timeout: string, connection: 'ends' | 'stays open' | 'is reset' = 'ends') {
  await using upstream = await startScriptedUpstream((socket) => {
    socket.write(bytes, () => {
      if (connection === 'ends') socket.end();
      if (connection === 'is reset') socket.resetAndDestroy();
    });
  });
  await using proxy = await startProxy({
    upstreamUrl: upstream.url,
    env: { UPSTREAM_TIMEOUT: timeout },
    overrides: { coalescing: { failureTtl: 0 } },
  });
  const reply = await ask(proxy.url, TARGET);
  const again = await ask(proxy.url, TARGET);
  return {
    status: reply.status,
    text: reply.text,
    cacheStatus: String(reply.headers['cache-status']),
    kept: String(again.headers['cache-status']).includes('hit'),
  };
}

const broken: [string, number, string, ('ends' | 'stays open' | 'is reset')?][] = [
  ['nothing', 502, ''],
  ['no HTTP', 502, '220 mail.example ESMTP\r\n'],
  ['a head without an end', 502, 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'],
  ['a head without an end, and then nothing', 504, 'HTTP/1.1 200 OK\r\n', 'stays open'],
  [
    'valid JSON that is shorter than its Content-Length',
    502,
    `HTTP/1.1 200 OK\r\nContent-Length: ${SIZE + 1}\r\n\r\n${BODY}`,
  ],
  ['the same, and a reset', 502, `HTTP/1.1 200 OK\r\nContent-Length: ${SIZE + 1}\r\n\r\n${BODY}`, 'is reset'],
  ['the same, and then nothing', 504, `HTTP/1.1 200 OK\r\nContent-Length: ${SIZE + 1}\r\n\r\n${BODY}`, 'stays open'],
  [
    'valid JSON in chunks without the last one',
    502,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${SIZE.toString(16)}\r\n${BODY}\r\n`,
  ],
  [
    'a chunk with an invalid size',
    502,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${SIZE.toString(16)}\r\n${BODY}\r\nzz\r\n\r\n`,
  ],
  ['two lengths', 502, `HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\nContent-Length: 2\r\n\r\n${BODY}`],
  ['an invalid length', 502, `HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n${BODY}`],
  ['a head of 200 KB', 502, `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(200_000)}\r\nContent-Length: ${SIZE}\r\n\r\n${BODY}`],
];

it.each(broken)('an indexer that sends %s leads to %i, and nothing is cached', async (_, status, bytes, connection) => {
  const reply = await askBefore(bytes, status === 504 ? '300ms' : '30s', connection);
  expect(reply).toMatchObject({ status, text: expect.stringMatching(/^\{"error":".+"\}$/), kept: false });
  expect(reply.cacheStatus).not.toMatch(/hit|stored/);
});

const sound: [string, string][] = [
  ['a body that ends with the connection', `HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${BODY}`],
  [
    'an interim answer first',
    `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n${BODY}`,
  ],
  ['headers in any case', `HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh: ${SIZE}\r\n\r\n${BODY}`],
];

it.each(sound)('an answer of an indexer that sends %s is understood and cached', async (_, bytes) => {
  expect(await askBefore(bytes, '30s')).toMatchObject({ status: 200, text: BODY, kept: true });
});

it('bytes after an answer are not taken for the next answer', async () => {
  const poison = `HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"blocks":[]}`;
  let answered = 0;
  await using upstream = await startScriptedUpstream((socket) => {
    answered++;
    const trailing = answered === 1 ? poison : '';
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n${BODY}${trailing}`);
  });
  await using proxy = await startProxy({ upstreamUrl: upstream.url, env: { UPSTREAM_TIMEOUT: '30s' } });
  expect((await ask(proxy.url, TARGET)).status).toBe(200);
  const next = await ask(proxy.url, TARGET.replace('seqno=7', 'seqno=8'));
  expect([next.status, next.text]).toEqual([200, BODY]);
  expect(upstream.heads).toHaveLength(2);
});
