/** An account (`0:UPPERCASE HEX`); every other name is a normalized hash (padded base64). */
export function isAccount(name: string): boolean {
  return name.includes(':');
}

/** Who watches which names. */
export class WatchedNames<W> {
  readonly #watchersByName = new Map<string, Set<W>>();
  readonly #namesByWatcher = new Map<W, ReadonlySet<string>>();
  #accounts = 0;

  /** How many accounts are watched by anyone. */
  get accounts(): number {
    return this.#accounts;
  }

  /** Every name that is watched by anyone. */
  all(): Iterable<string> {
    return this.#watchersByName.keys();
  }

  of(watcher: W): ReadonlySet<string> {
    return this.#namesByWatcher.get(watcher) ?? new Set();
  }

  watchersOf(name: string): Iterable<W> {
    return this.#watchersByName.get(name) ?? [];
  }

  /** Sets the names that a watcher watches; none at all removes the watcher. Returns whether its names have changed. */
  set(watcher: W, names: ReadonlySet<string>): boolean {
    const before = this.of(watcher);
    for (const name of names) if (!before.has(name)) this.#add(name, watcher);
    for (const name of before) if (!names.has(name)) this.#remove(name, watcher);
    if (names.size > 0) this.#namesByWatcher.set(watcher, names);
    else this.#namesByWatcher.delete(watcher);
    return before.symmetricDifference(names).size > 0;
  }

  clear(): void {
    this.#watchersByName.clear();
    this.#namesByWatcher.clear();
    this.#accounts = 0;
  }

  #add(name: string, watcher: W): void {
    const watchers = this.#watchersByName.get(name);
    if (watchers !== undefined) {
      watchers.add(watcher);
      return;
    }
    this.#watchersByName.set(name, new Set([watcher]));
    if (isAccount(name)) this.#accounts++;
  }

  #remove(name: string, watcher: W): void {
    const watchers = this.#watchersByName.get(name);
    if (watchers?.delete(watcher) !== true || watchers.size > 0) return;
    this.#watchersByName.delete(name);
    if (isAccount(name)) this.#accounts--;
  }
}
