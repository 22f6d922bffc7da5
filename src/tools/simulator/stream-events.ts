import { expandActionTypes } from './action-types.ts';
import type { Dialect } from './dialect.ts';
import { renderActions, renderTrace } from './render-trace.ts';
import { renderTransaction } from './render-transaction.ts';
import type { StreamFaults } from './stream-faults.ts';
import type { StreamSubscription } from './stream-subscription.ts';
import {
  classifiedOf,
  finalityAt,
  knownTransactions,
  leastFinality,
  type SimulatedFinality,
  type Trace,
  type Transaction,
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

/** The steps of a trace after `from`, up to `to` (epoch ms), in their order. */
export function stepsBetween(trace: Trace, from: number, to: number, faults: StreamFaults): StreamStep[] {
  const instants = (read: (transaction: Transaction) => number) => [...new Set(trace.transactions.map(read))];
  const emulated = instants(({ emulatedAt }) => emulatedAt);
  const executed = [...new Set([...instants((it) => it.confirmedAt), ...instants((it) => it.finalizedAt)])];
  const { classifierDelayMs } = faults;
  const step = (kind: StreamStep['kind']) => (at: number) => ({ kind, trace, at });
  const steps = [...executed.map(step('executed')), ...emulated.map(step('emulated'))];
  if (classifierDelayMs !== undefined) {
    const delayMs = trace.classifierDelayMs ?? classifierDelayMs;
    steps.push(...[...new Set([...emulated, ...executed])].map((at) => step('classified')(at + delayMs)));
  }
  if (trace.invalidated) {
    steps.push(step('invalidated')(Math.max(trace.emulatedAt, trace.goneAt - INVALIDATION_LEAD_MS)));
  }
  return steps.filter(({ at }) => from < at && at <= to && at <= trace.goneAt).sort((one, other) => one.at - other.at);
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
  if (!to.wants(finality)) return [];
  const event = (type: string, content: object): SentEvent => {
    return { type, finality, trace_external_hash_norm: trace.externalHash, ...content };
  };
  if (kind === 'emulated' || kind === 'executed') {
    if (!to.types.has('transactions')) return [];
    const rows = known.filter(
      (it) => to.addresses.has(it.account.address) && (kind === 'executed' || finalityAt(it, at) === 'pending'),
    );
    if (rows.length === 0) return [];
    const transactions = rows.map((it) => renderTransaction(it, finalityAt(it, at) ?? 'pending', dialect));
    return [event('transactions', { transactions })];
  }
  if (kind === 'invalidated') return [];
  const events: SentEvent[] = [];
  const actions = classifiedActions(trace, known, at);
  const accounts = known.map(({ account }) => account.address);
  if (to.types.has('actions') && actions.length > 0 && accounts.some((address) => to.addresses.has(address))) {
    events.push(event('actions', { actions }));
  }
  if (to.types.has('trace') && to.hashes.has(trace.externalHash)) {
    const { trace: tree, transactions } = renderTrace(trace, { dialect, instant: at, actionTypes: EVERY_TYPE });
    events.push(event('trace', { trace: tree, transactions, ...(actions.length > 0 ? { actions } : {}) }));
  }
  return events;
}

function classifiedActions(trace: Trace, known: readonly Transaction[], at: number): object[] {
  const accounts = [...new Set(known.map(({ account }) => account.address))];
  return renderActions(trace, classifiedOf(trace, at) ?? at, EVERY_TYPE).map((action) => ({
    ...action,
    trace_external_hash_norm: trace.externalHash,
    accounts,
  }));
}
