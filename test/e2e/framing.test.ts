import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { targetOf } from './questions.ts';

let indexer: Indexer;
let proxy: RunningProxy;
let target: string;

beforeAll(async () => {
  indexer = await startIndexer();
  proxy = await startProxy({ upstreamUrl: indexer.url, env: { PASSTHROUGH: 'on' } });
  target = targetOf('masterchainBlockShards', { seqno: indexer.chain.headSeqno - 5 });
});

afterAll(async () => {
  await proxy.close();
  await indexer.close();
});

/** What comes back until the connection ends, one answer a status line, with the statuses of all of them. */
async function statuses(bytes: string): Promise<number[]> {
  return [...(await proxy.exchange(bytes)).matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
}

const SMUGGLED = 'GET /no/such/path HTTP/1.1\r\nHost: x\r\n\r\n';

describe('a request whose body is encoded', () => {
  it.each([
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: GZIP,chunked',
  ])('with %j is refused with 501, and no later bytes are read', async (header) => {
    for (const [method, path] of [
      ['GET', target],
      ['POST', '/api/v3/estimateFee'],
    ]) {
      const before = indexer.requests.total;
      const bytes = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n0\r\n\r\n${SMUGGLED}`;
      expect([header, await statuses(bytes)]).toEqual([header, [501]]);
      expect(indexer.requests.total).toBe(before);
    }
  });

  it('is refused with 501 in HTTP/1.0, which has no Transfer-Encoding, and no later bytes are read', async () => {
    const headers = 'Host: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked';
    for (const method of ['GET', 'POST']) {
      const before = indexer.requests.total;
      expect(await statuses(`${method} ${target} HTTP/1.0\r\n${headers}\r\n\r\n0\r\n\r\n${SMUGGLED}`)).toEqual([501]);
      expect(indexer.requests.total).toBe(before);
    }
  });

  it('is refused before later bytes are even counted', async () => {
    const invalid = () => proxy.metric('toncache_requests_total', { outcome: 'invalid' });
    const before = await invalid();
    const hidden = 'GET /api/v3/masterchainBlockShards?seqno=x HTTP/1.1\r\nHost: x\r\n\r\n';
    const head = `GET ${target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n`;
    expect(await statuses(`${head}0\r\n\r\n${hidden}`)).toEqual([501]);
    expect(await invalid()).toBe(before);
  });

  it.each(['gzip', 'xchunked', 'identity', 'chunked, gzip', 'chunked, identity, chunked'])(
    'that does not end in chunked, or has it twice (%s), is refused once',
    async (encoding) => {
      const bytes = `GET ${target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ${encoding}\r\n\r\n${SMUGGLED}`;
      const answers = await statuses(bytes);
      expect(answers).toHaveLength(1);
      expect([400, 501]).toContain(answers[0]);
    },
  );

  it('in chunks only is served', async () => {
    for (const encoding of ['chunked', 'Chunked']) {
      const head = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: ${encoding}\r\n\r\n`;
      expect(await statuses(`${head}0\r\n\r\n`)).toEqual([200]);
    }
  });
});

describe('a request that names two Hosts', () => {
  it.each(['Host: x\r\nHost: y', 'Host: x\r\nhost: x', 'Host:\r\nX: y\r\nHOST: x'])(
    '(%j) is refused with 400, and no later bytes are read',
    async (headers) => {
      for (const [method, path] of [
        ['GET', target],
        ['POST', '/api/v3/estimateFee'],
      ]) {
        const before = indexer.requests.total;
        expect(await statuses(`${method} ${path} HTTP/1.1\r\n${headers}\r\n\r\n${SMUGGLED}`)).toEqual([400]);
        expect(indexer.requests.total).toBe(before);
      }
    },
  );
});

describe('a request of HTTP', () => {
  it.each([`GET /x\r\n\r\n`, 'GET /x HTTP/0.9\r\n\r\n', 'GET /x HTTP/2.0\r\nHost: x\r\n\r\n'])(
    '%j is refused with 505',
    async (bytes) => {
      expect(await statuses(bytes.replace('/x', target))).toEqual([505]);
    },
  );

  it('1.0 is served', async () => {
    expect(await statuses(`GET ${target} HTTP/1.0\r\n\r\n`)).toEqual([200]);
  });
});

describe('a request that expects 100 (Continue) behind another one', () => {
  const body = '{"boc":"x"}';
  const post = `POST TARGET HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`;

  it.each([
    ['is served', '/api/v3/message'],
    ['is refused', '/api/v3/pendingTraces'],
    ['is for a hit', 'GET'],
  ])('and %s gets it between the two answers', async (_, path) => {
    await proxy.ask(target);
    const second = path === 'GET' ? post.replace('POST TARGET', `GET ${target}`) : post.replace('TARGET', path);
    const first = `HEAD ${targetOf('masterchainBlockShards', { seqno: indexer.chain.headSeqno - 6 })} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const last = `${first.replace('HEAD', 'GET').slice(0, -2)}Connection: close\r\n\r\n`;
    const wire = await proxy.exchange(first + second + body + last);
    const [head, interim, answer = ''] = wire.split(/(?<=\r\n\r\n)(?=HTTP)/);
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(interim).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    const [, length] = /^Content-Length: (\d+)\r$/im.exec(answer) ?? [];
    const rest = answer.slice(answer.indexOf('\r\n\r\n') + 4);
    expect(rest.slice(Number(length))).toMatch(/^HTTP\/1\.1 200 /);
  });
});
