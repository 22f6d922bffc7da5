import { expect, onTestFinished, test, vi } from 'vitest';
import { AnswerBodyReader } from '../../../src/proxy/answer-body-reader.ts';
import { factsOf, NO_FACTS } from '../../../src/proxy/body-facts.ts';
import { ASKED_AT, SHARDS } from './classified.ts';

const threads = vi.hoisted(() => ({ refused: 0 }));

vi.mock('node:worker_threads', async (original) => {
  const { Worker, ...others } = await original<typeof import('node:worker_threads')>();
  class Refusable extends Worker {
    constructor(...given: ConstructorParameters<typeof Worker>) {
      if (threads.refused-- > 0) throw new Error('no thread');
      super(...given);
    }
  }
  return { ...others, Worker: Refusable };
});

test('while the system allows no thread, large bodies are invalid answers, and later ones are read', async () => {
  const bugs: unknown[] = [];
  const reader = new AnswerBodyReader((error) => bugs.push(error));
  onTestFinished(() => reader.close());
  const body = Buffer.from(`{"blocks":[{"workchain":-1,"seqno":7}],"padding":"${'a'.repeat(1_200_000)}"}`);
  const facts = factsOf(SHARDS, 200, body);
  const read = async () => {
    const answer = { status: 200, contentType: 'application/json', apiVersion: undefined, retryAfter: undefined };
    return (await reader.read(SHARDS, { ...answer, body: Buffer.from(body), askedAt: ASKED_AT, receivedAt: ASKED_AT }))
      .facts;
  };
  threads.refused = 2;
  expect(await Promise.all([read(), read(), read()])).toEqual([NO_FACTS, NO_FACTS, facts]);
  expect(bugs.map(String)).toEqual(['Error: no thread', 'Error: no thread']);
  expect(reader.pendingBytes).toBe(0);
});
