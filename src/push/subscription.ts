import type { Frame } from './frame.ts';
import type { ReportStream } from './reports.ts';
import type { StreamNames, Watches } from './watches.ts';

export interface SubscriptionDependencies {
  readonly watches: Watches;
  /** The maximum number of subscribed accounts. */
  readonly maxAddresses: number;
  /** Sends one operation; `false` if the connection is not up. */
  readonly send: (message: { readonly id: string }) => boolean;
  readonly report: ReportStream;
}

/**
 * Each message contains all names, of 70 bytes each. So changes are collected for 1 ms per name, and at least for this
 * long: messages then have at most 70 KB a second.
 */
const LEAST_GATHER_MS = 50;

/** The delay before the next try after a refusal. */
const RETRY_AFTER_MS = 10_000;

/**
 * The subscription at the server; the watches know the acknowledged part of it. Each message replaces the previous one,
 * and is sent when that was answered. If it is refused, the previous one stays.
 */
export class Subscription {
  readonly #dependencies: SubscriptionDependencies;
  #unanswered: { readonly id: string; readonly names: StreamNames } | undefined;
  #next: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(dependencies: SubscriptionDependencies) {
    this.#dependencies = dependencies;
  }

  /** The number of subscribed accounts. */
  get addresses(): number {
    return this.#dependencies.watches.acknowledged.accounts.size;
  }

  /** The wanted names may have changed. A message follows, unless they equal the acknowledged names by then. */
  changed(): void {
    this.#sendIn(Math.max(LEAST_GATHER_MS, sizeOf(this.#dependencies.watches.acknowledged)));
  }

  /** Takes the server's answer to a message. */
  take({ id, ...frame }: Extract<Frame, { kind: 'reply' | 'error' }>): void {
    const { report, watches } = this.#dependencies;
    if (frame.kind === 'error') report({ name: 'stream-refused', error: frame.error });
    if (id === undefined || id !== this.#unanswered?.id) return;
    const { names } = this.#unanswered;
    this.#unanswered = undefined;
    clearTimeout(this.#next);
    this.#next = undefined;
    if (frame.kind === 'error') {
      this.#sendIn(RETRY_AFTER_MS);
      return;
    }
    watches.acknowledge(names);
    this.changed();
  }

  /** The connection is lost, together with all subscriptions. */
  reset(): void {
    clearTimeout(this.#next);
    this.#next = undefined;
    this.#unanswered = undefined;
    this.#dependencies.watches.lost();
  }

  #sendIn(ms: number): void {
    this.#next ??= setTimeout(() => {
      this.#next = undefined;
      this.#send();
    }, ms).unref();
  }

  #send(): void {
    const { watches, maxAddresses, send } = this.#dependencies;
    const names = watches.names(maxAddresses);
    const { acknowledged } = watches;
    if (this.#unanswered !== undefined || areEqual(names, acknowledged)) return;
    const id = String(++this.#lastId);
    // Events of type `trace` are subscribed to by hashes, all others by addresses.
    const types = [
      ...(names.accounts.size > 0 ? ['transactions', 'actions'] : []),
      ...(names.traces.size > 0 ? ['trace'] : []),
    ];
    // A subscription cannot be empty.
    const message =
      sizeOf(names) > 0
        ? { operation: 'subscribe', id, types, ...listsOf(names), min_finality: 'pending' }
        : { operation: 'unsubscribe', id, ...listsOf(acknowledged) };
    if (!send(message)) return;
    this.#unanswered = { id, names };
    // From now on the server may omit events of names that are not in the message.
    watches.acknowledge({
      accounts: acknowledged.accounts.intersection(names.accounts),
      traces: acknowledged.traces.intersection(names.traces),
    });
  }
}

function listsOf({ accounts, traces }: StreamNames) {
  return { addresses: [...accounts], trace_external_hash_norms: [...traces] };
}

function sizeOf({ accounts, traces }: StreamNames): number {
  return accounts.size + traces.size;
}

function areEqual(one: StreamNames, other: StreamNames): boolean {
  return (
    one.accounts.symmetricDifference(other.accounts).size === 0 &&
    one.traces.symmetricDifference(other.traces).size === 0
  );
}
