import type { ReportStream } from './events.ts';
import type { Frame } from './frame.ts';
import { isAccount } from './names.ts';
import type { Ticks } from './ticks.ts';

export interface SubscriptionDependencies {
  /** What is to be subscribed to now. */
  readonly wanted: () => Iterable<string>;
  /** Sends one operation on a connection that is up. */
  readonly send: (message: object) => void;
  readonly ticks: Ticks;
  /** The server allows so many addresses at most. */
  readonly onLimit: (maxAddresses: number) => void;
  readonly report: ReportStream;
}

/** Changes within this are one message, in milliseconds. */
const GATHER_MS = 50;

/** After a refusal for another reason than a limit, in milliseconds. */
const RETRY_AFTER_MS = 10_000;

const ADDRESS_LIMIT = /^address limit exceeded: .*\bmax (\d{1,9})$/;

/**
 * What the server is subscribed to: each subscription replaces the one before, and counts from its acknowledgement. A
 * refused one leaves the one before as it is.
 */
export class Subscription {
  readonly #dependencies: SubscriptionDependencies;
  /** Since which tick a name is acknowledged, without a gap. */
  readonly #since = new Map<string, number>();
  readonly #unanswered = new Map<string, ReadonlySet<string>>();
  #sent: ReadonlySet<string> = new Set();
  #flush: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(dependencies: SubscriptionDependencies) {
    this.#dependencies = dependencies;
  }

  /** From which tick on every event of a name is sent here; `undefined` while it is not acknowledged. */
  sinceOf(name: string): number | undefined {
    return this.#since.get(name);
  }

  /** What is wanted changed: a message follows, if it still differs by then. */
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
    // One that was sent since may lack some of them.
    for (const name of names) if (this.#sent.has(name) && !this.#since.has(name)) this.#since.set(name, tick);
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
    // From now on the server may leave out what is not in it.
    for (const name of this.#since.keys()) if (!names.has(name)) this.#since.delete(name);
    this.#unanswered.set(id, names);
    this.#sent = names;
  }

  #refused(error: string): void {
    // Of what is on its way none may follow that is like the refused one.
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

/** `trace` goes with hashes, and every other type with addresses. */
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
