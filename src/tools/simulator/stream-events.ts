import type { Dialect } from './dialect.ts';
import { expandActionTypes, renderActions, renderTrace } from './render-trace.ts';
import { renderTransaction } from './render-transaction.ts';
import {
  classifiedOf,
  FINALITIES,
  finalityAt,
  knownTransactions,
  leastFinality,
  type SimulatedFinality,
  type Trace,
} from './trace.ts';

/** One operation in a client's message. */
interface ClientOperation {
  readonly operation: string;
  readonly id?: string;
  readonly types?: readonly string[];
  readonly addresses?: readonly string[];
  readonly trace_external_hash_norms?: readonly string[];
  readonly min_finality?: SimulatedFinality;
}

const TYPES = ['transactions', 'actions', 'trace', 'account_state_change', 'jettons_change'];

/** The subscriptions of a connection: the operations of the Streaming API v2, with the real server's errors. */
export class StreamSubscription {
  types: ReadonlySet<string> = new Set();
  addresses: ReadonlySet<string> = new Set();
  /** In the client's spelling: the newest server compares bytes, so only padded standard base64 ever matches. */
  hashes: ReadonlySet<string> = new Set();
  /** Traces of which the client got an event that was not final. */
  readonly sentNonFinal = new Set<string>();
  #minFinality: SimulatedFinality = 'finalized';

  /** True if an event of this finality is wanted. */
  wants(finality: SimulatedFinality): boolean {
    return FINALITIES.indexOf(finality) >= FINALITIES.indexOf(this.#minFinality);
  }

  /** Takes one message. Its operation is done completely or, with an error, not at all. */
  take(text: string): Readonly<Record<string, string>> {
    const message: ClientOperation = JSON.parse(text);
    const id = message.id === undefined ? {} : { id: message.id };
    if (message.operation === 'ping') return { ...id, status: 'pong' };
    const addresses = new Set(message.addresses);
    const hashes = new Set(message.trace_external_hash_norms);
    if (message.operation === 'unsubscribe') {
      this.addresses = this.addresses.difference(addresses);
      this.hashes = this.hashes.difference(hashes);
      return { ...id, status: 'unsubscribed' };
    }
    const types = new Set(message.types);
    const error = this.#problemOf([...types], addresses.size, hashes.size);
    if (error !== undefined) return { ...id, error };
    this.#minFinality = message.min_finality ?? this.#minFinality;
    Object.assign(this, { types, addresses, hashes });
    return { ...id, status: 'subscribed' };
  }

  #problemOf(types: readonly string[], addresses: number, hashes: number): string | undefined {
    const wrong = types.find((type) => !TYPES.includes(type));
    if (wrong !== undefined) return `invalid event type: ${wrong}`;
    const asksForTraces = types.includes('trace');
    if (hashes > 0 && !asksForTraces) return 'trace_external_hash_norms requires type "trace"';
    if (hashes === 0 && asksForTraces) return 'trace_external_hash_norms are required for trace subscription';
    if (addresses === 0 && types.some((type) => type !== 'trace')) return 'addresses are required';
    return undefined;
  }
}

/** The server's news about a trace at an instant (epoch ms). It never learns that a trace has left the database. */
export interface StreamStep {
  readonly kind: 'emulated' | 'executed' | 'classified' | 'invalidated';
  readonly trace: Trace;
  readonly at: number;
}

/**
 * The time between the event of an invalidated trace and its disappearance from answers, ms: 0 to 10 000 at the real
 * server.
 */
const INVALIDATION_LEAD_MS = 400;

/** The time from a step of a trace to its classification, if the chain has none of its own. */
const CLASSIFIER_DELAY_MS = 100;

const EVERY_TYPE = expandActionTypes(['latest']);

/** The steps of a trace after `from`, up to `to` (epoch ms), in no order. */
export function stepsBetween(trace: Trace, from: number, to: number): StreamStep[] {
  const { transactions, emulatedAt, goneAt, invalidated } = trace;
  const steps = (kind: StreamStep['kind'], instants: readonly number[]) =>
    [...new Set(instants)].map((at) => ({ kind, trace, at }));
  const emulated = transactions.map((it) => it.emulatedAt);
  const executed = transactions.flatMap((it) => [it.confirmedAt, it.finalizedAt]);
  const classified = [...emulated, ...executed].map((at) => at + (trace.classifierDelayMs || CLASSIFIER_DELAY_MS));
  return [
    ...steps('executed', executed),
    ...steps('emulated', emulated),
    ...steps('classified', classified),
    ...steps('invalidated', invalidated ? [Math.max(emulatedAt, goneAt - INVALIDATION_LEAD_MS)] : []),
  ].filter(({ at }) => from < at && at <= Math.min(to, goneAt));
}

/** A sent event, with further members. */
export interface SentEvent {
  readonly type: string;
  readonly finality: SimulatedFinality;
}

/** The events of a step for one subscription, except `trace_invalidated`. */
export function eventsOf({ kind, trace, at }: StreamStep, to: StreamSubscription, dialect: Dialect): SentEvent[] {
  const known = knownTransactions(trace, at);
  const finality = leastFinality(known, at);
  if (kind === 'invalidated' || !to.wants(finality)) return [];
  const hash = { trace_external_hash_norm: trace.externalHash };
  const event = (type: string, content: object): SentEvent => ({ type, finality, ...hash, ...content });
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
  const shown = renderActions(trace, classifiedOf(trace, at) ?? at, EVERY_TYPE);
  const actions = shown.map((action) => ({ ...action, ...hash, accounts }));
  const events: SentEvent[] = [];
  if (to.types.has('actions') && actions.length > 0 && accounts.some((address) => to.addresses.has(address))) {
    events.push(event('actions', { actions }));
  }
  if (to.types.has('trace') && to.hashes.has(trace.externalHash)) {
    const { trace: tree, transactions } = renderTrace(trace, at, EVERY_TYPE, dialect);
    events.push(event('trace', { trace: tree, transactions, ...(actions.length > 0 ? { actions } : {}) }));
  }
  return events;
}
