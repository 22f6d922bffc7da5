import type { Dialect } from './dialect.ts';
import type { StreamFaults } from './faults.ts';
import { expandActionTypes, renderActions, renderTrace } from './render-trace.ts';
import { renderTransaction } from './render-transaction.ts';
import type { StreamSubscription } from './stream-subscription.ts';
import {
  classifiedOf,
  finalityAt,
  knownTransactions,
  leastFinality,
  type SimulatedFinality,
  type Trace,
} from './trace.ts';

/**
 * What the server learns of a trace at an instant: emulated transactions came, blocks were confirmed or finalized, it
 * was classified, or invalidated. The end of a trace in the database is none: nothing says it.
 */
export interface StreamStep {
  readonly kind: 'emulated' | 'executed' | 'classified' | 'invalidated';
  readonly trace: Trace;
  /** Epoch ms. */
  readonly at: number;
}

/** How long before an invalidated trace leaves the answers its event is sent, ms: 0 to 10 000 at the real server. */
const INVALIDATION_LEAD_MS = 400;

const EVERY_TYPE = expandActionTypes(['latest']);

/** The steps of a trace after `from`, up to `to` (epoch ms), in no order. */
export function stepsBetween(trace: Trace, from: number, to: number, faults: StreamFaults): StreamStep[] {
  const { transactions, emulatedAt, goneAt, invalidated } = trace;
  const steps = (kind: StreamStep['kind'], instants: readonly number[]) =>
    [...new Set(instants)].map((at) => ({ kind, trace, at }));
  const emulated = transactions.map((it) => it.emulatedAt);
  const executed = transactions.flatMap((it) => [it.confirmedAt, it.finalizedAt]);
  const { classifierDelayMs } = faults;
  const changed = classifierDelayMs === undefined ? [] : [...emulated, ...executed];
  const classified = changed.map((at) => at + (trace.classifierDelayMs || (classifierDelayMs ?? 0)));
  return [
    ...steps('executed', executed),
    ...steps('emulated', emulated),
    ...steps('classified', classified),
    ...steps('invalidated', invalidated ? [Math.max(emulatedAt, goneAt - INVALIDATION_LEAD_MS)] : []),
  ].filter(({ at }) => from < at && at <= Math.min(to, goneAt));
}

/** An event as it goes out. */
export interface SentEvent {
  readonly type: string;
  readonly finality: SimulatedFinality;
  readonly trace_external_hash_norm: string;
}

/** The events of a step for one subscription, `trace_invalidated` apart. */
export function eventsOf({ kind, trace, at }: StreamStep, to: StreamSubscription, dialect: Dialect): SentEvent[] {
  const known = knownTransactions(trace, at);
  const finality = leastFinality(known, at);
  if (kind === 'invalidated' || !to.wants(finality)) return [];
  const event = (type: string, content: object): SentEvent => {
    return { type, finality, trace_external_hash_norm: trace.externalHash, ...content };
  };
  if (kind !== 'classified') {
    if (!to.types.has('transactions')) return [];
    const transactions = known
      .filter(({ account }) => to.addresses.has(account.address))
      .map((transaction) => ({ transaction, sureness: finalityAt(transaction, at) ?? 'pending' }))
      .filter(({ sureness }) => kind === 'executed' || sureness === 'pending')
      .map(({ transaction, sureness }) => renderTransaction(transaction, sureness, dialect));
    return transactions.length === 0 ? [] : [event('transactions', { transactions })];
  }
  const accounts = [...new Set(known.map(({ account }) => account.address))];
  const described = { trace_external_hash_norm: trace.externalHash, accounts };
  const actions = renderActions(trace, classifiedOf(trace, at) ?? at, EVERY_TYPE).map((it) => ({
    ...it,
    ...described,
  }));
  const events: SentEvent[] = [];
  if (to.types.has('actions') && actions.length > 0 && accounts.some((address) => to.addresses.has(address))) {
    events.push(event('actions', { actions }));
  }
  if (to.types.has('trace') && to.hashes.has(trace.externalHash)) {
    const { trace: tree, transactions } = renderTrace(trace, { dialect, instant: at, actionTypes: EVERY_TYPE });
    events.push(event('trace', { trace: tree, transactions, ...(actions.length > 0 ? { actions } : {}) }));
  }
  return events;
}
