import { z } from 'zod';
import { type CanonicalRequest, pairs } from '../canonical-request.ts';
import { operation } from '../operation.ts';
import { limit, offset, seqno, sort } from '../parameters.ts';

const schema = z
  .object({ seqno, limit, offset, sort })
  .transform((given): CanonicalRequest => ({ query: pairs(given), headers: [] }));

/** A masterchain block and the shard blocks that it commits; in the specification's shape their transactions. */
export const masterchainBlockShards = operation({
  name: 'masterchainBlockShards',
  schema,
  lists: ['blocks', 'transactions'],
});
