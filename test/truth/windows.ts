import type { LifetimePolicy } from '../../src/ton/lifetime.ts';
import type { Said } from '../../src/tools/simulator/past-answers.ts';
import { TABLE } from '../unit/ton/table-of-lifetimes.ts';
import type { Call } from './call.ts';

/** How long a cache may give an answer after it was received, in ms; the stale windows begin when the lifetime ends. */
export type Window = Pick<LifetimePolicy, 'lifetime' | 'staleWhileRevalidate' | 'staleIfError'>;

/**
 * The window of an answer by its class, read here from the body again: nothing of `src/ton` takes part.
 * @param receivedBy The latest instant at which it can have been received, epoch ms: children live by their age.
 */
export function windowOf({ operation, direction }: Call, { status, text }: Said, receivedBy: number): Window {
  if (status === 404) return TABLE.notFound;
  const body = JSON.parse(text);
  if (operation === 'masterchainInfo') return TABLE.head;
  if (operation === 'blocks') return body.blocks.length === 0 ? TABLE.empty : TABLE.shardsFinal;
  if (operation === 'transactionsByMasterchainBlock') {
    return body.transactions.length === 0 ? TABLE.emptyOfBlock : TABLE.shardsFinalPage;
  }
  if (operation === 'masterchainBlockShards') return TABLE.shardsFinal;
  if (operation === 'adjacentTransactions') {
    return direction === 'in' ? TABLE.adjacentFinal : growing(body.transactions, receivedBy);
  }
  const traces: readonly { readonly transactions: Readonly<Record<string, Row>> }[] = body.traces ?? [];
  if (traces.length === 0) return TABLE.empty;
  const isSettled = traces.flatMap(({ transactions }) => Object.values(transactions)).every(isFinal);
  return isSettled ? TABLE.pendingFinalized : TABLE.pendingLive;
}

/** Whether a list of pending traces holds one that is final and one that is not. */
export function isMixed(text: string): boolean {
  const traces: readonly { readonly transactions: Readonly<Record<string, Row>> }[] = JSON.parse(text).traces ?? [];
  const settled = traces.filter(({ transactions }) => Object.values(transactions).every(isFinal)).length;
  return settled > 0 && settled < traces.length;
}

interface Row {
  readonly now: number;
  readonly emulated: boolean;
  readonly finality?: string;
}

function isFinal({ emulated, finality }: Row): boolean {
  return !emulated && (finality === undefined || finality === 'finalized');
}

function growing(rows: readonly Row[], receivedBy: number): Window {
  const { shortestLifetime, longestLifetime, ageDivisor, ...windows } = TABLE.adjacentGrowing;
  const ageMs = receivedBy - Math.max(...rows.map(({ now }) => now)) * 1000;
  return { ...windows, lifetime: Math.min(Math.max(ageMs / ageDivisor, shortestLifetime), longestLifetime) };
}
