import { parentPort } from 'node:worker_threads';
import type { OperationName } from '../ton/operation-names.ts';
import { OPERATIONS } from '../ton/operations.ts';
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
  // A Buffer arrives as a plain Uint8Array.
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (isForBlocks) {
    parentPort?.postMessage(blockFactsIn(bytes));
    return;
  }
  const operation = OPERATIONS.get(name);
  parentPort?.postMessage(operation === undefined ? NO_FACTS : factsOf({ operation, request }, status, bytes));
});
