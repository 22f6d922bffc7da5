interface Violation {
  times: number;
  /** The shortest example so far. */
  reproduction: string;
}

const LONGEST_REPRODUCTION = 2000;

/** The counts and violations of an attack. */
export class Tally {
  readonly #counts = new Map<string, number>();
  readonly #violations = new Map<string, Violation>();

  count(what: string, times = 1): void {
    this.#counts.set(what, this.of(what) + times);
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  /** Records a violation: its kind in one word, and how it was caused. */
  violation(kind: string, reproduction: string): void {
    const known = this.#violations.get(kind);
    if (known === undefined) this.#violations.set(kind, { times: 1, reproduction });
    else {
      known.times++;
      if (reproduction.length < known.reproduction.length) known.reproduction = reproduction;
    }
  }

  get violations(): number {
    return [...this.#violations.values()].reduce((sum, { times }) => sum + times, 0);
  }

  /** The counts in one line. */
  get summary(): string {
    return [...this.#counts].map(([what, times]) => `${times} ${what}`).join(', ');
  }

  /** Each kind of violation with its shortest reproduction. */
  get report(): string {
    return [...this.#violations]
      .map(
        ([kind, { times, reproduction }]) =>
          `${kind} (${times} times):\n${reproduction.slice(0, LONGEST_REPRODUCTION)}`,
      )
      .join('\n\n');
  }
}
