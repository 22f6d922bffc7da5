import { parentPort } from 'node:worker_threads';
import type { OperationName } from '../ton/operation-names.ts';
import { OPERATIONS } from '../ton/operations.ts';
import type { Call } from '../ton/parse-call.ts';
import { blockFactsIn, factsOf, finalRowsInBody, NO_FACTS } from './body-facts.ts';

export type BodyJob = { readonly body: Uint8Array } & (
  | {
      readonly reads: 'facts';
      readonly operation: OperationName;
      readonly request: Call['request'];
      readonly status: number;
      readonly rowsFrom: number;
    }
  | { readonly reads: 'block-facts' }
  /** The final transactions of the masterchain block `from` and later ones. */
  | { readonly reads: 'rows'; readonly from: number }
);

parentPort?.on('message', (job: BodyJob) => parentPort?.postMessage(resultOf(job)));

function resultOf(job: BodyJob) {
  const { body } = job;
  // A Buffer arrives as a plain Uint8Array.
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  switch (job.reads) {
    case 'block-facts':
      return blockFactsIn(bytes);
    case 'rows':
      return finalRowsInBody(bytes, job.from);
    case 'facts': {
      const operation = OPERATIONS.get(job.operation);
      if (operation === undefined) return NO_FACTS;
      return factsOf({ operation, request: job.request }, job.status, bytes, job.rowsFrom);
    }
  }
}
