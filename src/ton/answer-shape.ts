import { listOf, mapOf, objectOf, SCALAR, type Shape } from './read-json.ts';

/** The members that are read of a transaction or a block. */
const ROW_MEMBERS = {
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
};

const ROW = objectOf(ROW_MEMBERS);

/**
 * All that finality, completeness and chain time are read from. Each value is found by its place in the body and never
 * by searching its text: a comment in a transaction can spell anything.
 */
export const ANSWER: Shape = objectOf({
  error: SCALAR,
  traces: listOf(objectOf({ transactions: mapOf(ROW) })),
  transactions: listOf(ROW),
  blocks: listOf(ROW),
});

/** The same, with what a stream of events can watch of pending traces. */
export const WATCHED_ANSWER: Shape = objectOf({
  error: SCALAR,
  traces: listOf(
    objectOf({
      trace: objectOf({ tx_hash: SCALAR }),
      trace_info: mapOf(SCALAR),
      transactions: mapOf(objectOf({ ...ROW_MEMBERS, account: SCALAR, in_msg: objectOf({ hash_norm: SCALAR }) })),
      actions: listOf(objectOf({ action_id: SCALAR, trace_external_hash_norm: SCALAR })),
    }),
  ),
  transactions: listOf(ROW),
  blocks: listOf(ROW),
});
