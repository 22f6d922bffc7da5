export interface HeldSlotsDependencies {
  /** Frees a slot of an operation. */
  readonly release: (operation: string) => void;
}

export interface HeldSlotsOptions {
  /** How long a slot stays taken after its request was given up, in milliseconds. */
  readonly holdMs: number;
}

/** The part of a request's time, from its sending, in which an answer to another one says nothing: it was sent before. */
const EARLY = 0.2;

/** What is known of one operation. */
interface Line {
  heardAt: number;
  /** Slots that wait for a sign of life. */
  silent: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * The slots of requests that were given up: the indexer is still working on them, and a new request for each would pile
 * up what it has in hand.
 *
 * - The indexer answered others of the operation in the last four fifths of the request's time: that query will end soon,
 *   and its slot is free after `holdMs`.
 * - It answered none: it may be hanging. Slots become free one by one, one each `holdMs`, and all at once as soon as
 *   an answer comes.
 */
export class HeldSlots {
  readonly #dependencies: HeldSlotsDependencies;
  readonly #options: HeldSlotsOptions;
  readonly #lines = new Map<string, Line>();

  constructor(dependencies: HeldSlotsDependencies, options: HeldSlotsOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** Something came from the indexer for an operation at that instant (monotonic milliseconds). */
  heard(operation: string, at: number): void {
    const line = this.#line(operation);
    line.heardAt = at;
    if (line.silent === 0) return;
    clearTimeout(line.timer);
    line.timer = undefined;
    for (let held = line.silent; held > 0; held--) this.#free(operation, line);
  }

  /** Holds the slot of a request that was sent and given up at these instants (monotonic milliseconds). */
  hold(operation: string, { sentAt, endedAt }: { readonly sentAt: number; readonly endedAt: number }): void {
    const { release } = this.#dependencies;
    const { holdMs } = this.#options;
    const line = this.#line(operation);
    if (line.heardAt > sentAt + EARLY * (endedAt - sentAt)) {
      setTimeout(() => release(operation), holdMs).unref();
    } else {
      line.silent++;
      this.#schedule(operation, line);
    }
  }

  #schedule(operation: string, line: Line): void {
    if (line.timer !== undefined || line.silent === 0) return;
    const freeOne = () => {
      line.timer = undefined;
      this.#free(operation, line);
      this.#schedule(operation, line);
    };
    line.timer = setTimeout(freeOne, this.#options.holdMs).unref();
  }

  #free(operation: string, line: Line): void {
    line.silent--;
    this.#dependencies.release(operation);
  }

  #line(operation: string): Line {
    const known = this.#lines.get(operation);
    if (known !== undefined) return known;
    const line: Line = { heardAt: Number.NEGATIVE_INFINITY, silent: 0, timer: undefined };
    this.#lines.set(operation, line);
    return line;
  }
}
