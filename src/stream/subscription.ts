import type { ReportStream } from './events.ts';
import type { Frame } from './frame.ts';
import { isAccount } from './names.ts';
import type { Ticks } from './ticks.ts';

export interface SubscriptionDependencies {
  /** The names to subscribe to now. */
  readonly wanted: () => Iterable<string>;
  /** Sends one operation on a connection that is up. */
  readonly send: (message: object) => void;
  readonly ticks: Ticks;
  /** Called when the server has said how many addresses it allows. */
  readonly onLimit: (maxAddresses: number) => void;
  readonly report: ReportStream;
}

/** Changes within this time are sent as one message, in milliseconds. */
const GATHER_MS = 50;

/** The delay before the next try if the server refused for a reason other than a limit, in milliseconds. */
const RETRY_AFTER_MS = 10_000;

const ADDRESS_LIMIT = /^address limit exceeded: .*\bmax (\d{1,9})$/;

/**
 * The subscription at the server. Each one replaces the one before, and counts from its acknowledgement on. If it is
 * refused, the one before stays.
 */
export class Subscription {
  readonly #dependencies: SubscriptionDependencies;
  /** The tick since which each name has been subscribed to without a gap. */
  readonly #since = new Map<string, number>();
  /** By the id of a message: its names that all later messages hold too. */
  readonly #unanswered = new Map<string, ReadonlySet<string>>();
  #sent: ReadonlySet<string> = new Set();
  #flush: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(dependencies: SubscriptionDependencies) {
    this.#dependencies = dependencies;
  }

  /** The tick from which on the server has sent every event of a name; `undefined` if the name is not acknowledged. */
  sinceOf(name: string): number | undefined {
    return this.#since.get(name);
  }

  /** The wanted names have changed. A message follows, unless they have changed back by then. */
  changed(): void {
    this.#flush ??= setTimeout(() => this.#send(), GATHER_MS).unref();
  }

  /** Takes the server's answer to a subscription. */
  take({ id, ...frame }: Extract<Frame, { kind: 'reply' | 'error' }>): void {
    if (frame.kind === 'error') {
      this.#dependencies.report({ name: 'stream-refused', error: frame.error });
      if (id !== undefined && this.#unanswered.delete(id)) this.#refused(frame.error);
      return;
    }
    const names = id === undefined ? undefined : this.#unanswered.get(id);
    if (id === undefined || names === undefined) return;
    this.#unanswered.delete(id);
    const tick = this.#dependencies.ticks.next();
    for (const name of names) if (!this.#since.has(name)) this.#since.set(name, tick);
    this.#dependencies.report({ name: 'stream-subscribed' });
  }

  /** The connection is lost, and with it all that was subscribed to. */
  reset(): void {
    clearTimeout(this.#flush);
    this.#flush = undefined;
    this.#since.clear();
    this.#unanswered.clear();
    this.#sent = new Set();
  }

  #send(): void {
    this.#flush = undefined;
    const names = new Set(this.#dependencies.wanted());
    if (names.symmetricDifference(this.#sent).size === 0) return;
    const id = String(++this.#lastId);
    // A subscription cannot be empty.
    if (names.size === 0) this.#dependencies.send({ operation: 'unsubscribe', id, ...listsOf(this.#sent) });
    else
      this.#dependencies.send({
        operation: 'subscribe',
        id,
        ...typesFor(names),
        ...listsOf(names),
        min_finality: 'pending',
      });
    // From now on the server may leave out events of names that are not in the message, even if an earlier message that
    // names them is answered after this.
    for (const name of this.#since.keys()) if (!names.has(name)) this.#since.delete(name);
    for (const [earlier, its] of this.#unanswered) this.#unanswered.set(earlier, its.intersection(names));
    this.#unanswered.set(id, names);
    this.#sent = names;
  }

  #refused(error: string): void {
    // The message on its way is refused as well if it is the same: do not send it again.
    this.#sent = new Set(this.#since.keys());
    const max = ADDRESS_LIMIT.exec(error)?.[1];
    if (max !== undefined) {
      this.#dependencies.onLimit(Number(max));
      this.changed();
    } else {
      clearTimeout(this.#flush);
      this.#flush = setTimeout(() => this.#send(), RETRY_AFTER_MS).unref();
    }
  }
}

/** Events of type `trace` are subscribed to by hashes, all others by addresses. */
function typesFor(names: ReadonlySet<string>): { types: string[] } {
  const { addresses, trace_external_hash_norms: hashes } = listsOf(names);
  return {
    types: [...(addresses.length > 0 ? ['transactions', 'actions'] : []), ...(hashes.length > 0 ? ['trace'] : [])],
  };
}

function listsOf(names: ReadonlySet<string>) {
  return {
    addresses: [...names].filter(isAccount),
    trace_external_hash_norms: [...names].filter((name) => !isAccount(name)),
  };
}
