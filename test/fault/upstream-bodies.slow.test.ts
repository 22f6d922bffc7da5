import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { targetOf } from '../e2e/questions.ts';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { answering } from './faulty-world.ts';

/** A little less than is read of an answer. */
const BYTES = 8 * 1024 * 1024 - 100;

/** The longest that a body may hold up a hit; the machines of CI are slow and busy. */
const HOLD_UP_MS = 10 * 100;

const repeated = (unit: string, share = 1) => unit.repeat(Math.floor((share * BYTES) / unit.length));

const numbered = (part: (index: number) => string) => {
  const parts: string[] = [];
  for (let bytes = 0; bytes < BYTES - 100; bytes += (parts.at(-1)?.length ?? 0) + 1) parts.push(part(parts.length));
  return parts.join();
};

const BODIES: [string, () => string][] = [
  ['empty objects', () => `{"blocks":[${repeated('{},')}{}]}`],
  ['brackets that only open', () => repeated('[')],
  ['lists in lists', () => `{"blocks":${repeated('[', 0.45)}${repeated(']', 0.45)}}`],
  ['objects of which each has a name of its own', () => `{"blocks":[${numbered((index) => `{"a${index}":1}`)}]}`],
  ['one object with many names', () => `{"blocks":[],${numbered((index) => `"a${index}":1`)}}`],
  ['one long string', () => `{"blocks":[],"a":"${repeated('\\u0041', 0.99)}"}`],
  ['one long number', () => `{"blocks":[],"a":${repeated('1', 0.99)}}`],
  ['a list of rows', () => `{"blocks":[${numbered((index) => `{"seqno":${index},"note":"${'n'.repeat(1000)}"}`)}]}`],
];

it('no answer within the bound ends the process or holds up hits, with a heap of 300 MB', async () => {
  const indexer = await startIndexer();
  onTestFinished(() => indexer.close());
  await using proxy = await ProxyProcess.start({
    UPSTREAM_URL: indexer.url,
    NODE_OPTIONS: '--max-old-space-size=256',
  });
  const hit = targetOf('masterchainBlockShards', { seqno: indexer.chain.headSeqno - 40 });
  expect((await ask(proxy.url, hit)).status).toBe(200);
  let seqno = indexer.chain.headSeqno - 10;
  const slowest: Record<string, number> = {};
  const look = async (name: string, answers: Promise<unknown>) => {
    let areThere = false;
    void answers.finally(() => {
      areThere = true;
    });
    slowest[name] = 0;
    while (!areThere) {
      const askedAt = performance.now();
      const answered = await ask(proxy.url, hit);
      slowest[name] = Math.max(slowest[name], performance.now() - askedAt);
      expect(answered.headers['cache-status']).toContain('hit');
    }
    await answers;
  };
  for (const [name, body] of BODIES) {
    const bytes = Buffer.from(body());
    expect(bytes.length).toBeLessThanOrEqual(BYTES + 100);
    for (const fault of [answering(bytes), answering(gzipSync(bytes, { level: 1 }), { 'Content-Encoding': 'gzip' })]) {
      indexer.faults.inject(fault, { times: 1 });
      await look(name, ask(proxy.url, targetOf('masterchainBlockShards', { seqno: seqno--, limit: 1000 })));
    }
  }
  expect(Object.entries(slowest).filter(([, ms]) => ms > HOLD_UP_MS)).toEqual([]);
  expect(Object.keys(slowest)).toHaveLength(BODIES.length);
  expect((await ask(proxy.url, targetOf('masterchainBlockShards', { seqno: seqno--, limit: 1000 }))).status).toBe(200);
  expect(proxy.log.filter(({ msg }) => msg.includes('should not happen'))).toEqual([]);
});
