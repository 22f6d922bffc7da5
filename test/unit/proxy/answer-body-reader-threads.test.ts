import { syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { AnswerBodyReader } from '../../../src/proxy/answer-body-reader.ts';
import { factsOf, NO_FACTS } from '../../../src/proxy/body-facts.ts';
import { ASKED_AT, SHARDS } from './classified.ts';

/** Lets the next threads of this process fail to start. */
function refuseThreads(count: number): void {
  const { Worker } = threads;
  let refused = 0;
  class Refusable extends Worker {
    constructor(...given: ConstructorParameters<typeof Worker>) {
      if (refused++ < count) throw new Error('no thread');
      super(...given);
    }
  }
  const set = (worker: typeof Worker) => {
    threads.Worker = worker;
    syncBuiltinESMExports();
  };
  set(Refusable);
  onTestFinished(() => set(Worker));
}

test('while the system allows no thread, large bodies are invalid answers, and later ones are read', async () => {
  const bugs: unknown[] = [];
  const reader = new AnswerBodyReader((error) => bugs.push(error));
  onTestFinished(() => reader.close());
  const body = Buffer.from(`{"blocks":[{"workchain":-1,"seqno":7}],"padding":"${'a'.repeat(400_000)}"}`);
  const facts = factsOf(SHARDS, 200, body);
  const answer = { status: 200, contentType: 'application/json', apiVersion: undefined, retryAfter: undefined };
  const read = async () => {
    const instants = { askedAt: ASKED_AT, receivedAt: ASKED_AT };
    return (await reader.read(SHARDS, { ...answer, ...instants, body: Buffer.from(body) })).facts;
  };
  refuseThreads(2);
  expect(await Promise.all([read(), read(), read()])).toEqual([NO_FACTS, NO_FACTS, facts]);
  expect(bugs.map(String)).toEqual(['Error: no thread', 'Error: no thread']);
  expect(reader.pendingBytes).toBe(0);
});
