/** Holds requests until a test lets them through, for tests of what happens while an upstream request is under way. */
export class Gate {
  readonly #waiting: (() => void)[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #opened: () => void;
  #arrivals = 0;
  #open = false;

  /** @param opened Called once, when the gate is opened for all. */
  constructor(opened: () => void = () => {}) {
    this.#opened = opened;
  }

  /** How many requests wait now. */
  get held(): number {
    return this.#waiting.length;
  }

  /** How many requests have come to the gate, including those let through. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** Resolves as soon as that many requests, in all, have come to the gate. */
  arrived(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.#arrivals < count) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Lets the first so many requests through, in order of arrival; without a number all of them, and all later ones. */
  release(count?: number): void {
    for (const goOn of this.#waiting.splice(0, count ?? this.#waiting.length)) goOn();
    if (count !== undefined || this.#open) return;
    this.#open = true;
    this.#opened();
  }

  /** Waits at the gate. */
  pass(): Promise<void> {
    this.#arrivals++;
    const passed = this.#open
      ? Promise.resolve()
      : new Promise<void>((resolve) => {
          this.#waiting.push(resolve);
        });
    for (const look of [...this.#watchers]) look();
    return passed;
  }
}
