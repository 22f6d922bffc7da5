import { randomBytes } from 'node:crypto';
import type { Trace, Transaction } from '../../src/tools/simulator/trace.ts';
import type { World } from './world.ts';

type Values = Readonly<Record<string, string | number | readonly string[]>>;

/** Path and query in the spelling of a careful client. */
export function targetOf(operation: string, values: Values = {}): string {
  const pairs = Object.entries(values).flatMap(([name, given]) =>
    [given].flat().map((value) => `${name}=${encodeURIComponent(value)}`),
  );
  return `/api/v3/${operation}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/** A list of as many blocks as the default limit of the indexer may be incomplete. */
const POSSIBLE_DEFAULT_LIMITS = [10, 100];

/** The newest masterchain block whose list is certainly complete: a final answer in every dialect. */
export function newestBlock({ indexer: { chain } }: World): string {
  let seqno = chain.headSeqno;
  while (POSSIBLE_DEFAULT_LIMITS.includes(chain.block(seqno)?.blocks.length ?? 0)) seqno--;
  return targetOf('masterchainBlockShards', { seqno });
}

/** A masterchain block that does not exist yet: 404. */
export function futureBlock({ indexer }: World): string {
  return targetOf('masterchainBlockShards', { seqno: indexer.chain.headSeqno + 900 });
}

/** A finished trace of several transactions. */
export function settledTrace({ indexer }: World): Trace {
  const trace = indexer.chain
    .recentTraces(200)
    .find(({ transactions, goneAt }) => transactions.length > 3 && goneAt < indexer.chain.now);
  if (trace === undefined) throw new Error('no trace is over yet');
  return trace;
}

/** The first transaction of a finished trace: it has children. */
export function settledParent(world: World): Transaction {
  const [first] = settledTrace(world).transactions;
  if (first === undefined) throw new Error('a trace without transactions');
  return first;
}

/** The children of a transaction: growing. */
export function childrenOfSettled(world: World): string {
  return targetOf('adjacentTransactions', { hash: settledParent(world).hash, direction: 'out' });
}

/** The one parent of a transaction: final. */
export function parentOfSettled(world: World): string {
  const [child] = settledParent(world).children;
  return targetOf('adjacentTransactions', { hash: child?.hash ?? '', direction: 'in' });
}

/** A hash that does not exist: 404 from adjacentTransactions. */
export function unknownTransaction(): string {
  return targetOf('adjacentTransactions', { hash: someHash() });
}

/** Sends a message and advances time until its trace is pending. */
export function sendTrace(world: World): Trace {
  const trace = world.indexer.chain.trace(world.indexer.chain.send());
  if (trace === undefined) throw new Error('not sent');
  world.advanceTo(trace.emulatedAt);
  return trace;
}

/** A pending trace: live. */
export function pendingTrace(world: World): string {
  return targetOf('pendingTraces', { ext_msg_hash: sendTrace(world).externalHash });
}

/** A trace whose transactions are all final, just before it disappears. */
export function finalizedTrace(world: World): string {
  const { externalHash, transactions } = sendTrace(world);
  world.advanceTo(Math.max(...transactions.map(({ finalizedAt }) => finalizedAt)));
  return targetOf('pendingTraces', { ext_msg_hash: externalHash });
}

/** A message that was never sent: an empty list. */
export function nothingPending(): string {
  return targetOf('pendingTraces', { ext_msg_hash: someHash() });
}

/** 32 random bytes in their canonical form. */
export function someHash(): string {
  return randomBytes(32).toString('base64');
}
