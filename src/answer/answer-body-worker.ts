import { parentPort } from 'node:worker_threads';
import type { OperationName } from '../ton/operation-names.ts';
import { OPERATIONS } from '../ton/operations.ts';
import type { Call } from '../ton/parse-call.ts';
import { blockFactsIn, factsOf, NO_FACTS, NOTHING_SHOWN, shownIn } from './body-facts.ts';

export type BodyJob = { readonly body: Uint8Array } & (
  | { readonly reads: 'block-facts' }
  | (({ readonly reads: 'facts'; readonly status: number } | { readonly reads: 'shown' }) & {
      readonly operation: OperationName;
      readonly request: Call['request'];
      readonly rowsFrom: number;
    })
);

parentPort?.on('message', (job: BodyJob) => parentPort?.postMessage(resultOf(job)));

function resultOf(job: BodyJob) {
  const { body } = job;
  // A Buffer arrives as a plain Uint8Array.
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (job.reads === 'block-facts') return blockFactsIn(bytes);
  const operation = OPERATIONS.get(job.operation);
  const call = operation && { operation, request: job.request };
  if (job.reads === 'shown') return call === undefined ? NOTHING_SHOWN : shownIn(call, bytes, job.rowsFrom);
  return call === undefined ? NO_FACTS : factsOf(call, job.status, bytes, job.rowsFrom);
}
