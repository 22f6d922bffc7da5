export interface HeldSlotsDependencies {
  /** Frees a slot of an operation. */
  readonly release: (operation: string) => void;
}

export interface HeldSlotsOptions {
  /** For at least so long a slot stays taken after its request was abandoned, in milliseconds: see {@link HeldSlots}. */
  readonly holdMs: number;
}

/**
 * Answers to other requests in this first part of a request's time do not count: those were probably sent long before
 * it.
 */
const EARLY = 0.2;

/** The state of one operation. */
interface Line {
  heardAt: number;
  /** The number of slots held until the indexer answers something. */
  silent: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * The slots of requests that were abandoned or timed out. The indexer still works on them, and replacing each by a new
 * request would pile up its work.
 *
 * - If the indexer answered other requests of the operation in the last four fifths of the request's time, it works:
 *   the slot is freed after `holdMs`.
 * - If it answered none, it may hang: one slot is freed each `holdMs`, and all of them as soon as an answer comes.
 */
export class HeldSlots {
  readonly #dependencies: HeldSlotsDependencies;
  readonly #options: HeldSlotsOptions;
  readonly #lines = new Map<string, Line>();

  constructor(dependencies: HeldSlotsDependencies, options: HeldSlotsOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** To be called when the indexer answered a request of an operation, at that instant (monotonic milliseconds). */
  heard(operation: string, at: number): void {
    const line = this.#line(operation);
    line.heardAt = at;
    if (line.silent === 0) return;
    clearTimeout(line.timer);
    line.timer = undefined;
    for (let held = line.silent; held > 0; held--) this.#free(operation, line);
  }

  /** Holds the slot of a request that was sent at `sentAt` and abandoned at `endedAt` (monotonic milliseconds). */
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
