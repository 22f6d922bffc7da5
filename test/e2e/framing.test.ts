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

/** The data until the connection ends, one answer a status line, with the statuses of all of them. */
async function statuses(bytes: string): Promise<number[]> {
  return [...(await proxy.exchange(bytes)).matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
}

describe('an HTTP request', () => {
  it.each([`GET /x\r\n\r\n`, 'GET /x HTTP/0.9\r\n\r\n', 'GET /x HTTP/2.0\r\nHost: x\r\n\r\n'])(
    'of another version is refused with 505: %j',
    async (bytes) => {
      expect(await statuses(bytes.replace('/x', target))).toEqual([505]);
    },
  );

  it('of version 1.0 is served', async () => {
    expect(await statuses(`GET ${target} HTTP/1.0\r\n\r\n`)).toEqual([200]);
  });
});

describe('a pipelined request with Expect: 100-continue', () => {
  const body = '{"boc":"x"}';
  const post = `POST TARGET HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`;

  it.each([
    ['is served', '/api/v3/message'],
    ['is refused', '/api/v3/pendingTraces'],
    ['is for a hit', 'GET'],
  ])('that %s gets the 100 (Continue) between the two answers', async (_, path) => {
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
