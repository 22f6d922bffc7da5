import { expandActionTypes } from '../simulator/action-types.ts';
import type { Chain } from '../simulator/chain.ts';
import type { Dialect } from '../simulator/dialect.ts';
import { accountsIn, renderAddressBook, renderMetadata } from '../simulator/render-address-book.ts';
import { renderBlock } from '../simulator/render-block.ts';
import { renderTrace } from '../simulator/render-trace.ts';
import { renderTransaction } from '../simulator/render-transaction.ts';
import { changesOf, knownTransactions, type Trace, type Transaction } from '../simulator/trace.ts';
import type { ClientCall } from './client.ts';

/** The right answer to a call for a while: from `fromAt` until `untilAt`, epoch ms. */
export interface Truth {
  readonly fromAt: number;
  readonly untilAt: number;
  readonly status: 200 | 404;
  /** How long after `untilAt` a cache may still give it, ms. */
  readonly mayAgeMs: number;
  /** Made when it is asked for: most truths of a call are never looked at. */
  readonly body: () => object;
}

/** What the chain says from one change on; `untilAt` is the next change. */
type TruthAt = (instant: number, untilAt: number) => Pick<Truth, 'status' | 'mayAgeMs' | 'body'>;

const DIALECT: Dialect = '1.3';

// What the answer classes promise: the lifetime, and the window after it in which a stale copy is served and refreshed.
const NOT_FOUND_MS = 300;
const EMPTY_MS = 250;
const UNDER_WAY_MS = 400 + 400;
const SETTLED_MS = 1000 + 1000;

function growingMs(newestNow: number, untilAt: number): number {
  const lifetimeMs = Math.min(Math.max((untilAt - newestNow * 1000) / 10, 1000), 3_600_000);
  return lifetimeMs + Math.min(lifetimeMs, 30_000);
}

/** Of an account, so many traces are looked through, and those that ended longer ago are left out. */
const TRACES_BACK = 300;
const REMEMBERED_MS = 30_000;

/**
 * Every right answer to a call, oldest first and without gaps, from longer ago than an answer may be given again.
 * The chain must have been advanced to the present.
 */
export function truthsOf(call: ClientCall, chain: Chain): readonly Truth[] {
  switch (call.about) {
    case 'message': {
      const trace = chain.trace(call.externalHash);
      return pendingTruths(trace === undefined ? [] : [trace], () => true, undefined);
    }
    case 'account': {
      const takesPart = (transactions: readonly Transaction[]) =>
        transactions.some(({ account }) => account.address === call.account.address);
      const traces = chain.recentTraces(TRACES_BACK).filter(({ goneAt }) => goneAt > chain.now - REMEMBERED_MS);
      const own = traces.filter(({ transactions }) => takesPart(transactions));
      return pendingTruths(own, takesPart, call.actionsVersion);
    }
    case 'transaction':
      return adjacentTruths(chain.transaction(call.hash), call.direction);
    case 'block':
      return blockTruths(chain, call.seqno);
  }
}

function truthsBetween(changes: readonly number[], truthAt: TruthAt): readonly Truth[] {
  const instants = [Number.NEGATIVE_INFINITY, ...new Set(changes.toSorted((a, b) => a - b))];
  return instants.map((fromAt, place) => {
    const untilAt = instants[place + 1] ?? Number.POSITIVE_INFINITY;
    return { fromAt, untilAt, ...truthAt(fromAt, untilAt) };
  });
}

function pendingTruths(
  traces: readonly Trace[],
  isAsked: (known: readonly Transaction[]) => boolean,
  actionsVersion: string | undefined,
): readonly Truth[] {
  const actionTypes = expandActionTypes(actionsVersion === undefined ? [] : [actionsVersion]);
  const inOrder = traces.toSorted((a, b) => a.emulatedAt - b.emulatedAt || (a.id < b.id ? -1 : 1));
  return truthsBetween(traces.flatMap(changesOf), (instant) => {
    const pending = inOrder.filter(
      (trace) => trace.emulatedAt <= instant && instant < trace.goneAt && isAsked(knownTransactions(trace, instant)),
    );
    const known = pending.flatMap((trace) => knownTransactions(trace, instant));
    const isSettled = known.every(({ finalizedAt }) => finalizedAt <= instant);
    return {
      status: 200,
      mayAgeMs: pending.length === 0 ? EMPTY_MS : isSettled ? SETTLED_MS : UNDER_WAY_MS,
      body: () => ({
        traces: pending.map((trace) => renderTrace(trace, { dialect: DIALECT, instant, actionTypes })),
        address_book: renderAddressBook(accountsIn(known)),
        metadata: renderMetadata(accountsIn(known)),
      }),
    };
  });
}

function adjacentTruths(transaction: Transaction | undefined, direction: 'in' | 'out' | undefined): readonly Truth[] {
  const parents = transaction?.parent === undefined || direction === 'out' ? [] : [transaction.parent];
  const children = transaction === undefined || direction === 'in' ? [] : transaction.children;
  const adjacent = [...parents, ...children];
  const changes = adjacent.map(({ finalizedAt }) => finalizedAt);
  return truthsBetween(transaction === undefined ? [] : [transaction.finalizedAt, ...changes], (instant, untilAt) => {
    const isThere = transaction !== undefined && transaction.finalizedAt <= instant;
    const rows = isThere ? adjacent.filter(({ finalizedAt }) => finalizedAt <= instant) : [];
    if (rows.length === 0) return notFound('adjacent transactions not found');
    return {
      status: 200,
      mayAgeMs: growingMs(Math.max(...rows.map(({ now }) => now)), untilAt),
      body: () => ({
        transactions: rows.map((row) => renderTransaction(row, 'finalized', DIALECT)),
        address_book: renderAddressBook(accountsIn(rows)),
      }),
    };
  });
}

function blockTruths(chain: Chain, seqno: number): readonly Truth[] {
  const blockSet = chain.block(seqno);
  return truthsBetween(blockSet === undefined ? [] : [blockSet.committedAt], (instant) => {
    if (blockSet === undefined || instant < blockSet.committedAt) return notFound('blocks not found');
    const body = () => ({ blocks: blockSet.blocks.map((block) => renderBlock(block, blockSet)) });
    return { status: 200, mayAgeMs: 0, body };
  });
}

function notFound(error: string): Pick<Truth, 'status' | 'mayAgeMs' | 'body'> {
  return { status: 404, mayAgeMs: NOT_FOUND_MS, body: () => ({ error }) };
}
