import { parentPort } from 'node:worker_threads';
import { findOperation } from '../ton/operations.ts';
import { costsTooMuch } from '../ton/parse-answer.ts';
import type { Call } from '../ton/parse-call.ts';
import { type BodyFacts, factsOf, NO_FACTS } from './body-facts.ts';

/** A body to be read; its bytes are transferred. */
export interface BodyJob {
  readonly operation: string;
  readonly request: Call['request'];
  readonly status: number;
  /** Whether there is a stream of events. */
  readonly isWatching: boolean;
  readonly bytes: ArrayBuffer;
}

/** What the body says, and its bytes, transferred back. */
export interface BodyDone {
  readonly facts: BodyFacts;
  readonly bytes: ArrayBuffer;
}

parentPort?.on('message', ({ operation: name, request, status, isWatching, bytes }: BodyJob) => {
  const operation = findOperation(`/api/v3/${name}`);
  const body = Buffer.from(bytes);
  const isReadable = operation !== undefined && !costsTooMuch(body);
  const facts = isReadable ? factsOf({ operation, request }, status, body, isWatching) : NO_FACTS;
  const done: BodyDone = { facts, bytes };
  parentPort?.postMessage(done, [bytes]);
});
