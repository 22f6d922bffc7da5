import { listOf, mapOf, objectOf, SCALAR, type Shape } from './read-json.ts';

/** Of a transaction, or of a block. */
const ROW = objectOf({
  hash: SCALAR,
  trace_id: SCALAR,
  now: SCALAR,
  emulated: SCALAR,
  mc_block_seqno: SCALAR,
  finality: SCALAR,
  workchain: SCALAR,
  seqno: SCALAR,
  gen_utime: SCALAR,
  masterchain_block_ref: objectOf({ seqno: SCALAR }),
});

/**
 * All that finality, completeness and chain time are read from, each by the place where it stands and never by its words:
 * a comment in a transaction can spell anything.
 */
export const ANSWER: Shape = objectOf({
  error: SCALAR,
  traces: listOf(objectOf({ transactions: mapOf(ROW) })),
  transactions: listOf(ROW),
  blocks: listOf(ROW),
});
