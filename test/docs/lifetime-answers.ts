import type { LifetimeRule } from '../../src/ton/lifetime-table.ts';

/** The responses of each row of the table of lifetimes. */
export const LIFETIME_ANSWERS: Readonly<Record<LifetimeRule, string>> = {
  shardsFinal:
    'a complete list of a masterchain block and its shard blocks; one block, requested by its hash or by workchain, shard and seqno',
  shardsFinalPage:
    'another page of such a list; the transactions of a masterchain block, if all are final and belong to this block',
  shardsLive: 'any other list of blocks, or of the transactions in a block',
  adjacentFinal: '`direction=in`: the parent, if it is final',
  adjacentGrowing:
    '`direction=in`: the parent, while [its row is incomplete](../background/finality.md#rows-that-are-filled-in); `direction=out` or both directions, if all rows are final',
  adjacentLive: 'any other adjacent transactions',
  byHashFinal:
    '`traces`: one whole trace, with its actions if they were requested; `transactions`: the transaction with this hash; `transactionsByMessage`: all requested sides of an internal message, the sender with `direction=out`, or the sender of a log entry',
  byHashGrowing:
    'a whole trace that lacks the requested actions, or was requested by its external message; any other final transactions of a message; a response of `byHashFinal` while [a transaction is incomplete](../background/finality.md#rows-that-are-filled-in)',
  byHashLive: 'any other trace or transaction requested by a hash',
  accountLive:
    'the state, jettons or transactions of one account; cached longer while [blocks prove the response](../background/proof.md)',
  methodResult:
    'the result of a get-method; cached while [a quiet account proves it](../background/proof.md#get-methods)',
  pendingFinalized: 'pending traces whose transactions are all final',
  pendingLive: 'pending traces that are not all final',
  head: '`masterchainInfo`',
  empty: 'an empty list, except in the rows `accountLive`, `emptyOfBlock` and `notKept`',
  emptyOfBlock:
    'an empty page of `transactionsByMasterchainBlock`, if this instance already knew that the chain had reached the block',
  notFound: 'a 404, except in the row below',
  notKept: 'an empty list of `traces`; a 404 for a get-method, or for the state or jettons of an account',
};
