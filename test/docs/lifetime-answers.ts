import type { LifetimeRule } from '../../src/ton/lifetime-table.ts';

/** The responses of each row of the table of lifetimes. */
export const LIFETIME_ANSWERS: Readonly<Record<LifetimeRule, string>> = {
  shardsFinal:
    'a complete list of a masterchain block and its shard blocks; one block by its hash, or by workchain, shard and seqno',
  shardsFinalPage:
    'another page of this list, or a list of transactions; a page of `transactionsByMasterchainBlock` whose rows are all final and belong to this block',
  shardsLive: 'any other list of blocks, or of the transactions of a block',
  adjacentFinal: '`direction=in`: the parent, if it is final',
  adjacentGrowing:
    '`direction=in`: the parent, while [its row is incomplete](../background/finality.md#rows-that-are-filled-in); `direction=out` or both directions, if all rows are final',
  adjacentLive: 'other adjacent transactions',
  byHashFinal:
    '`traces`: one whole trace, with actions if they are requested; `transactions`: the one with this hash; `transactionsByMessage`: all requested sides of an internal message, or only the sender with `direction=out` or for a log entry',
  byHashGrowing:
    'a whole trace that lacks the requested actions, or was requested by its external message; other transactions by a message',
  byHashLive: 'any other trace or transaction by a hash',
  accountLive:
    'the state or the transactions of one account. [Blocks can prove them current](../background/proof.md) for longer',
  methodResult:
    'the result of a get-method. [A quiet account can prove it current](../background/proof.md#get-methods)',
  pendingFinalized: 'pending traces whose transactions are all final',
  pendingLive: 'other pending traces',
  head: '`masterchainInfo`',
  empty: 'any other empty list',
  emptyOfBlock:
    'an empty page of `transactionsByMasterchainBlock`, if this instance knew before the request that the chain had reached the block',
  notFound: 'any other 404',
  notKept: 'an empty list of `traces`, and a 404 for the state of an account',
};
