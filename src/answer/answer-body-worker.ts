import { parentPort } from 'node:worker_threads';
import { NO_BLOCK_FACTS } from '../ton/block-facts.ts';
import type { OperationName } from '../ton/operation-names.ts';
import { OPERATIONS } from '../ton/operations.ts';
import { costsTooMuch } from '../ton/parse-answer.ts';
import type { Call } from '../ton/parse-call.ts';
import { blockFactsIn, factsOf, NO_FACTS } from './body-facts.ts';

/** A body to be read. */
export interface BodyJob {
  readonly operation: OperationName;
  readonly request: Call['request'];
  readonly status: number;
  readonly body: Uint8Array;
  /** True if it is read for the blocks that it shows. */
  readonly isForBlocks: boolean;
}

parentPort?.on('message', ({ operation: name, request, status, body, isForBlocks }: BodyJob) => {
  const operation = OPERATIONS.get(name);
  const isReadable = operation !== undefined && !costsTooMuch(body);
  // A Buffer arrives as a plain Uint8Array.
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (isForBlocks) parentPort?.postMessage(isReadable ? blockFactsIn(bytes) : NO_BLOCK_FACTS);
  else parentPort?.postMessage(isReadable ? factsOf({ operation, request }, status, bytes) : NO_FACTS);
});
